// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/fast_map.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/kernels/corner_responses.h"
#include "cpu/kernels/selection.h"
#include "cpu/steps/detect/fast.h"
#include "features/algo/order.h"
#include "features/host_device.h"

namespace orbserve::cpu {
namespace {

// Rows that are tested at a time: their corners stay in the cache.
constexpr int kBlockRows = 8;

// Places of the parts of a task's scratch memory, in bytes.
struct ScratchLayout {
  int64_t fast = 0;  // of the FAST kernel
  int64_t corners;   // Corner[]: those of a block of rows
  int64_t responses;
  int64_t bytes;

  explicit ScratchLayout(int width_px) {
    const int64_t most = static_cast<int64_t>(width_px) * kBlockRows + kCornerSlack;
    corners = RoundUp<int64_t>(FastScratchBytes({0, 0, width_px, kBlockRows}, 0), 64);
    responses = corners + RoundUp<int64_t>(most * static_cast<int64_t>(sizeof(Corner)), 64);
    bytes = responses + most * static_cast<int64_t>(sizeof(float));
  }
};

class FastMap final : public Step {
 public:
  explicit FastMap(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        find_corners_(FastKernelFor(setup.target)),
        responses_(setup.pipeline.spec.pipeline, setup.target) {}

  absl::string_view name() const override { return "fast_map"; }
  StageSet stages() const override { return Stage::kDetect; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      if (level.region.empty()) continue;
      layout->AddScratch(static_cast<size_t>(ScratchLayout(level.region.width()).bytes));
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const LevelGeometry& geometry = pipeline_.level(level);
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const Region strip = strips.Of(geometry.region, task);
    uint32_t* const map = frame.At(frame.lists.responses, level);
    const ptrdiff_t pitch = frame.lists.response_pitch[static_cast<size_t>(level)];
    // The first and the last strip also clear the rows of the border.
    const int y_first = task == 0 ? 0 : strip.y_begin;
    const int y_last = task == strips.count - 1 ? geometry.height_px : strip.y_end;
    std::memset(map + y_first * pitch, 0,
                static_cast<size_t>((y_last - y_first) * pitch) * sizeof(uint32_t));

    const ScratchLayout layout(strip.width());
    uint8_t* const memory = frame.Scratch<uint8_t>();
    Corner* const corners = reinterpret_cast<Corner*>(memory + layout.corners);
    float* const responses = reinterpret_cast<float*>(memory + layout.responses);
    const ImageView image = frame.Image(level);
    const int threshold_grey = frame.job.parameters.detection_threshold_grey();
    for (int y = strip.y_begin; y < strip.y_end; y += kBlockRows) {
      const Region block = {strip.x_begin, y, strip.x_end, std::min(y + kBlockRows, strip.y_end)};
      int count = find_corners_(image, block, pipeline_.spec.pipeline.detect.fast_arc_length,
                                threshold_grey, /*radius_px=*/0, memory + layout.fast, corners);
      if (frame.masked()) count = KeepUnmasked(frame.Mask(level), corners, count);
      count = responses_.Keep(image, corners, count, threshold_grey, responses);
      for (int i = 0; i < count; ++i) {
        map[corners[i].y * pitch + corners[i].x] = algo::OrderedBits(responses[i]);
      }
    }
  }

 private:
  const CompiledPipeline& pipeline_;
  const FastKernel find_corners_;
  const CornerResponses responses_;
};

}  // namespace

std::unique_ptr<Step> MakeFastMap(const StepSetup& setup) {
  return std::make_unique<FastMap>(setup);
}

}  // namespace orbserve::cpu
