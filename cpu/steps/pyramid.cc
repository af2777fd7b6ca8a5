// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/pyramid.h"

#include <algorithm>

#include "features/algo/linear_resize.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

// Resampling is short beside the work on the levels that exist already; it is divided
// only where many threads wait for it.
constexpr int kDivideThreads = 4;
constexpr int kPixelsPerTask = 32 * 1024;

class Pyramid final : public Step {
 public:
  explicit Pyramid(const StepSetup& setup)
      : resize_(ResizesLinearly(setup.pipeline.spec.pipeline) ? LinearResizeKernelFor(setup.target)
                                                              : ResizeKernelFor(setup.target)) {
    for (int l = 0; l < setup.pipeline.pyramid.levels_to_make(); ++l) {
      const LevelGeometry& level = setup.pipeline.pyramid.LevelToMake(l);
      x_axes_.push_back(level.x_taps.empty() ? ResizeAxis() : ResizeAxis::Of(level.x_taps));
      widest_px_ = std::max(widest_px_, level.width_px);
    }
  }

  absl::string_view name() const override { return "pyramid"; }
  StageSet stages() const override { return Stage::kPyramid; }

  void Declare(WorkspaceLayout* layout) override {
    layout->AddScratch(ResizeScratchBytes(widest_px_));
  }

  size_t table_bytes() const override {
    size_t entries = 0;
    for (const ResizeAxis& axis : x_axes_) {
      entries += axis.padded_weight.capacity() + axis.padded_first_weight.capacity() +
                 axis.offset_in_8.capacity() + axis.offset_in_32.capacity();
    }
    return x_axes_.capacity() * sizeof(ResizeAxis) + entries * sizeof(uint16_t);
  }

  int Begin(FrameContext& frame, int level) const override {
    const LevelGeometry& geometry = frame.pipeline.pyramid.LevelToMake(level);
    if (frame.threads() < kDivideThreads) return 1;
    return DivUp(geometry.height_px, RowsPerTask(geometry));
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const LevelGeometry& geometry = frame.pipeline.pyramid.LevelToMake(level);
    const int tasks = Begin(frame, level);
    const Part rows = FrameContext::EvenPart(geometry.height_px, tasks, task);
    const int source = geometry.source_level;
    const ResizeAxis& x_axis = x_axes_[static_cast<size_t>(level)];
    auto* const scratch = frame.Scratch<uint16_t>();
    resize_(frame.Image(source), frame.LevelImage(level), x_axis, geometry.y_taps, rows.begin,
            rows.end, scratch);
    if (!frame.masked(level)) return;
    const MutableImageView mask = frame.Mask(level);
    resize_(frame.Mask(source), mask, x_axis, geometry.y_taps, rows.begin, rows.end, scratch);
    for (int y = rows.begin; y < rows.end; ++y) {
      uint8_t* const row = mask.Row(y);
      for (int x = 0; x < geometry.width_px; ++x) row[x] = algo::LevelMask(row[x]);
    }
  }

 private:
  static int RowsPerTask(const LevelGeometry& level) {
    return std::max(1, kPixelsPerTask / level.width_px);
  }

  const ResizeKernel resize_;
  std::vector<ResizeAxis> x_axes_;  // [level], empty for level 0
  int widest_px_ = 0;
};

}  // namespace

ResizeAxis ResizeAxis::Of(absl::Span<const algo::ResizeTap> column_taps) {
  ResizeAxis axis;
  axis.taps = column_taps;
  const size_t padded = RoundUp(column_taps.size(), size_t{64});
  axis.padded_weight.resize(padded);
  axis.padded_first_weight.resize(padded);
  axis.offset_in_8.resize(padded);
  axis.offset_in_32.resize(padded);
  // Beyond the end the last tap is repeated; groups there begin at the last tap, too.
  const auto tap = [column_taps](size_t i) {
    return column_taps[std::min(i, column_taps.size() - 1)];
  };
  for (size_t i = 0; i < padded; ++i) {
    axis.padded_weight[i] = static_cast<uint16_t>(tap(i).weight);
    axis.padded_first_weight[i] = static_cast<uint16_t>(tap(i).first_weight);
    axis.offset_in_8[i] = static_cast<uint16_t>(tap(i).first - tap(i / 8 * 8).first);
    axis.offset_in_32[i] = static_cast<uint16_t>(tap(i).first - tap(i / 32 * 32).first);
  }
  return axis;
}

size_t ResizeScratchBytes(int width_px) {
  return static_cast<size_t>(2 * RoundUp(width_px, 64) + 64) * sizeof(uint16_t);
}

void ReferenceResize(const ImageView& src, const MutableImageView& dst, const ResizeAxis& x_axis,
                     absl::Span<const algo::ResizeTap> y_taps, int row_begin, int row_end,
                     uint16_t* /*scratch*/) {
  for (int y = row_begin; y < row_end; ++y) {
    const algo::ResizeTap row = y_taps[static_cast<size_t>(y)];
    const uint8_t* const top = src.Row(row.first);
    const uint8_t* const bottom = src.Row(std::min(row.first + 1, src.height_px - 1));
    uint8_t* const out = dst.Row(y);
    for (int x = 0; x < dst.width_px; ++x) {
      const algo::ResizeTap column = x_axis.taps[static_cast<size_t>(x)];
      const int left = column.first;
      const int right = std::min(left + 1, src.width_px - 1);
      const auto weight = static_cast<uint32_t>(column.weight);
      out[x] = algo::ResizeColumn(algo::ResizeRow(top[left], top[right], weight),
                                  algo::ResizeRow(bottom[left], bottom[right], weight),
                                  static_cast<uint32_t>(row.weight));
    }
  }
}

void ReferenceLinearResize(const ImageView& src, const MutableImageView& dst,
                           const ResizeAxis& x_axis, absl::Span<const algo::ResizeTap> y_taps,
                           int row_begin, int row_end, uint16_t* /*scratch*/) {
  for (int y = row_begin; y < row_end; ++y) {
    const algo::ResizeTap row = y_taps[static_cast<size_t>(y)];
    const uint8_t* const top = src.Row(row.first);
    const uint8_t* const bottom = src.Row(std::min(row.first + 1, src.height_px - 1));
    uint8_t* const out = dst.Row(y);
    for (int x = 0; x < dst.width_px; ++x) {
      const algo::ResizeTap column = x_axis.taps[static_cast<size_t>(x)];
      const int left = column.first;
      const int right = std::min(left + 1, src.width_px - 1);
      const auto left_weight = static_cast<uint32_t>(column.first_weight);
      const auto right_weight = static_cast<uint32_t>(column.weight);
      out[x] = algo::LinearColumn(
          algo::LinearRow(top[left], top[right], left_weight, right_weight),
          algo::LinearRow(bottom[left], bottom[right], left_weight, right_weight),
          static_cast<uint32_t>(row.first_weight), static_cast<uint32_t>(row.weight));
    }
  }
}

std::unique_ptr<Step> MakePyramid(const StepSetup& setup) {
  return std::make_unique<Pyramid>(setup);
}

}  // namespace orbserve::cpu
