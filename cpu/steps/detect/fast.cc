// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/fast.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/kernels/corner_responses.h"
#include "cpu/kernels/selection.h"
#include "cpu/steps/detect/harris.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/algo/window_maximum.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

class Fast final : public Step {
 public:
  explicit Fast(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        keyed_(CornerListOf(setup.pipeline.spec.pipeline) == CornerList::kKeyed),
        radius_px_(WindowRadiusPx(setup.pipeline.spec.pipeline)),
        find_corners_(FastKernelFor(setup.target)),
        responses_(setup.pipeline.spec.pipeline, setup.target) {}

  absl::string_view name() const override { return "fast"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      if (!level.region.empty()) {
        layout->AddScratch(static_cast<size_t>(FastScratchBytes(level.region, radius_px_)));
      }
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const Region region = strips.Of(pipeline_.level(level).region, task);
    Corner* const corners = frame.At(frame.lists.corners, level) + task * strips.capacity;
    const int threshold_grey = frame.job.parameters.detection_threshold_grey();
    int count =
        find_corners_(frame.Image(level), region, pipeline_.spec.pipeline.detect.fast_arc_length,
                      threshold_grey, radius_px_, frame.Scratch<uint8_t>(), corners);
    if (frame.masked()) count = KeepUnmasked(frame.Mask(level), corners, count);
    frame.At(frame.lists.strip_corners, level)[task] = count;
    if (!keyed_) return;
    uint64_t* const keys = frame.At(frame.lists.keys, level) + task * strips.capacity;
    float responses[kBlock];
    for (int block = 0; block < count; block += kBlock) {
      const int number = std::min(kBlock, count - block);
      responses_.Of(frame.Image(level), corners + block, number, threshold_grey, responses);
      for (int i = 0; i < number; ++i) {
        const Corner& corner = corners[block + i];
        keys[block + i] = algo::RankKey(responses[i], corner.x, corner.y);
      }
    }
  }

 private:
  // Responses computed at a time, on the stack.
  static constexpr int kBlock = 128;

  const CompiledPipeline& pipeline_;
  const bool keyed_;
  const int radius_px_;
  const FastKernel find_corners_;
  const CornerResponses responses_;
};

}  // namespace

// The rows of scores of a window are kept, each with `radius_px` columns more on either side: the
// row just computed is the lowest neighbour of the one that is suppressed next. Entries are 0 where
// the ring does not fit into the image.
int ReferenceFast(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                  int radius_px, uint8_t* scratch, Corner* out) {
  if (region.empty()) return 0;
  const int pitch = region.width() + 2 * radius_px;
  const int rows = 2 * radius_px + 1;
  const int x_left = region.x_begin - radius_px;  // of the first column
  const int x_first = std::max(x_left, algo::kFastRadiusPx);
  const int x_last = std::min(region.x_end + radius_px, image.width_px - algo::kFastRadiusPx);
  std::memset(scratch, 0, static_cast<size_t>(rows * pitch));
  int count = 0;
  for (int y = region.y_begin - radius_px; y < region.y_end + radius_px; ++y) {
    std::memmove(scratch, scratch + pitch, static_cast<size_t>((rows - 1) * pitch));
    uint8_t* const lowest = scratch + (rows - 1) * pitch;
    std::memset(lowest, 0, static_cast<size_t>(pitch));
    if (y >= algo::kFastRadiusPx && y < image.height_px - algo::kFastRadiusPx) {
      for (int x = x_first; x < x_last; ++x) {
        const uint8_t* const centre = image.Row(y) + x;
        uint8_t ring[algo::kFastRingPixels];
        algo::LoadFastRing(centre, image.pitch_bytes, ring);
        lowest[x - x_left] =
            static_cast<uint8_t>(algo::FastResponse(ring, *centre, arc_length, threshold_grey));
      }
    }
    const int y_here = y - radius_px;
    if (y_here < region.y_begin) continue;
    for (int x = radius_px; x < pitch - radius_px; ++x) {
      if (!algo::IsWindowMaximum(scratch, pitch, pitch, rows, x, radius_px, radius_px)) continue;
      out[count++] = {static_cast<int16_t>(x_left + x), static_cast<int16_t>(y_here),
                      static_cast<int16_t>(scratch[radius_px * pitch + x])};
    }
  }
  return count;
}

int ReferenceStrongFast(const ImageView& image, const Region& region, int arc_length,
                        int threshold_grey, int /*least_sum*/, uint8_t* scratch, Corner* out) {
  return ReferenceFast(image, region, arc_length, threshold_grey, /*radius_px=*/0, scratch, out);
}

std::unique_ptr<Step> MakeFast(const StepSetup& setup) { return std::make_unique<Fast>(setup); }

}  // namespace orbserve::cpu
