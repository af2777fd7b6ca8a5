// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/fast.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/selection.h"
#include "cpu/steps/harris.h"
#include "features/algo/fast.h"
#include "features/algo/nms.h"
#include "features/algo/order.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

class Fast final : public Step {
 public:
  explicit Fast(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        keyed_(CornerListOf(setup.pipeline.spec.pipeline) == CornerList::kKeyed),
        find_corners_(FastKernelFor(setup.target)),
        respond_(setup.pipeline.spec.pipeline.detect.score == Score::kHarris
                     ? HarrisKernelFor(setup.target)
                     : nullptr) {}

  absl::string_view name() const override { return "fast"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      if (!level.region.empty()) {
        layout->AddScratch(static_cast<size_t>(FastScratchBytes(level.region)));
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
    int count = find_corners_(
        frame.Image(level), region, pipeline_.spec.pipeline.detect.fast_arc_length,
        frame.job.parameters.detection_threshold_grey(), frame.Scratch<uint8_t>(), corners);
    if (frame.masked()) count = KeepUnmasked(frame.Mask(level), corners, count);
    frame.At(frame.lists.strip_corners, level)[task] = count;
    if (!keyed_) return;
    uint64_t* const keys = frame.At(frame.lists.keys, level) + task * strips.capacity;
    for (int i = 0; i < count; ++i) {
      float response = corners[i].score;
      if (respond_ != nullptr) respond_(frame.Image(level), corners + i, 1, &response);
      keys[i] = algo::RankKey(response, corners[i].x, corners[i].y);
    }
  }

 private:
  const CompiledPipeline& pipeline_;
  const bool keyed_;
  const FastKernel find_corners_;
  const HarrisKernel respond_;  // null where the FAST score is the response
};

}  // namespace

// Three rows of scores are kept: the row just computed is the lower neighbour of the one that is
// suppressed next. Columns and rows one pixel outside the region take part; 0 where the ring does
// not fit into the image.
int ReferenceFast(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                  uint8_t* scratch, Corner* out) {
  if (region.empty()) return 0;
  const int width = region.width();
  const int pitch = width + 2;
  uint8_t* rows[3] = {scratch, scratch + pitch, scratch + 2 * pitch};
  const int x_first = std::max(region.x_begin - 1, algo::kFastRadiusPx);
  const int x_last = std::min(region.x_end + 1, image.width_px - algo::kFastRadiusPx);
  int count = 0;
  for (int y = region.y_begin - 1; y <= region.y_end; ++y) {
    uint8_t* const below = rows[2];
    std::memset(below, 0, static_cast<size_t>(pitch));
    if (y >= algo::kFastRadiusPx && y < image.height_px - algo::kFastRadiusPx) {
      for (int x = x_first; x < x_last; ++x) {
        const uint8_t* const centre = image.Row(y) + x;
        uint8_t ring[algo::kFastRingPixels];
        algo::LoadFastRing(centre, image.pitch_bytes, ring);
        below[x - (region.x_begin - 1)] =
            static_cast<uint8_t>(algo::FastResponse(ring, *centre, arc_length, threshold_grey));
      }
    }
    if (y > region.y_begin) {
      for (int x = 1; x <= width; ++x) {
        const int score = rows[1][x];
        if (score == 0) continue;
        uint8_t window[9];
        for (int i = 0; i < 3; ++i) std::memcpy(window + 3 * i, rows[i] + x - 1, 3);
        if (!algo::IsLocalMaximum3x3(window + 4, 3)) continue;
        out[count++] = {static_cast<int16_t>(region.x_begin + x - 1), static_cast<int16_t>(y - 1),
                        static_cast<int16_t>(score)};
      }
    }
    std::rotate(rows, rows + 1, rows + 3);
  }
  return count;
}

std::unique_ptr<Step> MakeFast(const StepSetup& setup) { return std::make_unique<Fast>(setup); }

}  // namespace orbserve::cpu
