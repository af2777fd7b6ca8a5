// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/integral.h"

#include <algorithm>
#include <cstring>

#include "cpu/steps/describe/bfrost256.h"
#include "features/algo/bfrost.h"
#include "features/host_device.h"

namespace orbserve::cpu {
namespace {

class IntegralColumns final : public Step {
 public:
  explicit IntegralColumns(const StepSetup& setup) : sum_(ColumnSumsKernelFor(setup.target)) {}

  absl::string_view name() const override { return "integral"; }
  StageSet stages() const override { return Stage::kDescribe; }

  // Nobody begins with the sums of the last strip.
  int Begin(FrameContext& frame, int level) const override {
    if (SumsPixels(frame, level)) return 0;
    return std::max(frame.lists.integral_strips[static_cast<size_t>(level)].count - 1, 0);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const IntegralStrips& strips = frame.lists.integral_strips[static_cast<size_t>(level)];
    const ImageView image = frame.Image(level);
    sum_(image, task * strips.rows, (task + 1) * strips.rows,
         frame.At(frame.lists.column_sums, level) + task * strips.sums);
  }

 private:
  const ColumnSumsKernel sum_;
};

class Integral final : public Step {
 public:
  explicit Integral(const StepSetup& setup)
      : pipeline_(setup.pipeline), integrate_(IntegralKernelFor(setup.target)) {}

  absl::string_view name() const override { return "integral"; }
  StageSet stages() const override { return Stage::kDescribe; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      layout->AddScratch(static_cast<size_t>(IntegralRowEntries(level.width_px)) *
                         sizeof(uint32_t));
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    if (SumsPixels(frame, level)) return 0;
    return frame.lists.integral_strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const IntegralStrips& strips = frame.lists.integral_strips[static_cast<size_t>(level)];
    const ImageView image = frame.Image(level);
    const IntegralView integral = frame.Integral(level);
    const int row_begin = task * strips.rows;
    const int row_end = std::min(row_begin + strips.rows, image.height_px);
    uint32_t* const above = frame.Scratch<uint32_t>() + kIntegralLead;
    RowAbove(frame.At(frame.lists.column_sums, level), strips, task, image.width_px, above);
    // The row that a later strip begins with is the last one of the strip before it.
    if (task == 0) {
      std::memcpy(integral.Row(0), above,
                  (static_cast<size_t>(image.width_px) + 1) * sizeof(uint32_t));
    }
    integrate_(image, row_begin, row_end, above, integral.Row(row_begin + 1), integral.pitch);
  }

 private:
  // Integral of all strips before `strip`.
  static void RowAbove(const uint32_t* sums, const IntegralStrips& strips, int strip, int width_px,
                       uint32_t* above) {
    std::memset(above, 0,
                static_cast<size_t>(IntegralRowEntries(width_px) - kIntegralLead) * sizeof(*above));
    for (int s = 0; s < strip; ++s) {
      const uint32_t* const of_strip = sums + s * strips.sums;
      for (int x = 0; x < width_px; ++x) above[x + 1] += of_strip[x];
    }
    if (strip == 0) return;
    for (int x = 0; x < width_px; ++x) above[x + 1] += above[x];
  }

  const CompiledPipeline& pipeline_;
  const IntegralKernel integrate_;
};

}  // namespace

void ReferenceIntegral(const ImageView& image, int row_begin, int row_end, const uint32_t* above,
                       uint32_t* rows, ptrdiff_t pitch) {
  for (int y = row_begin; y < row_end; ++y) {
    algo::IntegralRow(image.Row(y), above, image.width_px, rows);
    above = rows;
    rows += pitch;
  }
}

void ReferenceColumnSums(const ImageView& image, int row_begin, int row_end, uint32_t* sums) {
  std::fill_n(sums, image.width_px, 0u);
  for (int y = row_begin; y < row_end; ++y) {
    const uint8_t* const row = image.Row(y);
    for (int x = 0; x < image.width_px; ++x) sums[x] += row[x];
  }
}

std::unique_ptr<Step> MakeIntegralColumns(const StepSetup& setup) {
  return std::make_unique<IntegralColumns>(setup);
}

std::unique_ptr<Step> MakeIntegral(const StepSetup& setup) {
  return std::make_unique<Integral>(setup);
}

}  // namespace orbserve::cpu
