// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/corner_map.h"

#include <algorithm>

#include "features/algo/corner_map.h"
#include "features/algo/order.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

// Pixels round the region whose responses suppression looks at: windows reach over the border of
// the keypoints, distances do not.
int MarginPx(const PipelineOptions& options) {
  return options.suppress.suppression == Suppression::kMinimumDistance ? 0
                                                                       : WindowRadiusPx(options);
}

class CornerMap final : public Step {
 public:
  explicit CornerMap(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        margin_px_(MarginPx(setup.pipeline.spec.pipeline)),
        respond_(CornerMapKernelFor(setup.pipeline.spec.pipeline.detect.detector, setup.target)) {}

  absl::string_view name() const override { return "corner_map"; }
  StageSet stages() const override { return Stage::kDetect; }

  void Declare(WorkspaceLayout* layout) override { layout->AddScratch(kCornerMapScratchBytes); }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const LevelGeometry& geometry = pipeline_.level(level);
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    CornerMapTask work;
    work.image = frame.Image(level);
    if (frame.masked()) work.mask = frame.Mask(level);
    work.counted = strips.Of(geometry.region, task);
    work.map = frame.At(frame.lists.responses, level);
    work.pitch = frame.lists.response_pitch[static_cast<size_t>(level)];

    // The first and the last strip have the margin above and below the region, too.
    Region rows = work.counted;
    rows.x_begin -= margin_px_;
    rows.x_end += margin_px_;
    if (task == 0) rows.y_begin -= margin_px_;
    if (task + 1 == strips.count) rows.y_end += margin_px_;
    // Pixels near the sides of the level have no response.
    work.part = {std::max(rows.x_begin, algo::kCornerMapReachPx),
                 std::max(rows.y_begin, algo::kCornerMapReachPx),
                 std::min(rows.x_end, geometry.width_px - algo::kCornerMapReachPx),
                 std::min(rows.y_end, geometry.height_px - algo::kCornerMapReachPx)};
    ClearAround(rows, work);
    frame.At(frame.lists.strip_tops, level)[task] = respond_(work, frame.Scratch<uint8_t>());
  }

 private:
  // Clears the pixels of `rows` that have no response.
  static void ClearAround(const Region& rows, const CornerMapTask& work) {
    for (int y = rows.y_begin; y < rows.y_end; ++y) {
      uint32_t* const row = work.map + y * work.pitch;
      const bool has_responses = y >= work.part.y_begin && y < work.part.y_end;
      std::fill(row + rows.x_begin, row + (has_responses ? work.part.x_begin : rows.x_end), 0u);
      if (has_responses) std::fill(row + work.part.x_end, row + rows.x_end, 0u);
    }
  }

  const CompiledPipeline& pipeline_;
  const int margin_px_;
  const CornerMapKernel respond_;
};

template <typename Response>
uint32_t ReferenceMap(const CornerMapTask& task, Response response) {
  uint32_t top = 0;
  for (int y = task.part.y_begin; y < task.part.y_end; ++y) {
    for (int x = task.part.x_begin; x < task.part.x_end; ++x) {
      const float value = response(algo::SumPrewitt(task.image.Row(y) + x, task.image.pitch_bytes));
      const bool masked = !task.mask.empty() && task.mask.Row(y)[x] == 0;
      const uint32_t order = value > 0.0f && !masked ? algo::OrderedBits(value) : 0;
      task.map[y * task.pitch + x] = order;
      if (task.counted.Holds(x, y)) top = std::max(top, order);
    }
  }
  return top;
}

}  // namespace

uint32_t ReferenceHarrisMap(const CornerMapTask& task, uint8_t* /*scratch*/) {
  return ReferenceMap(task, algo::HarrisMapResponse);
}

uint32_t ReferenceShiTomasiMap(const CornerMapTask& task, uint8_t* /*scratch*/) {
  return ReferenceMap(task, algo::ShiTomasiMapResponse);
}

std::unique_ptr<Step> MakeCornerMap(const StepSetup& setup) {
  return std::make_unique<CornerMap>(setup);
}

}  // namespace orbserve::cpu
