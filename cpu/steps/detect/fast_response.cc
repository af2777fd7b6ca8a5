// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/fast_response.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/kernels/corner_responses.h"
#include "cpu/kernels/selection.h"
#include "cpu/kernels/window_maximum.h"
#include "cpu/steps/detect/fast.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

// Rows that are tested before those above them are suppressed. More of them would leave the cache.
constexpr int kBlockRows = 8;

// The region of a strip, and the pixels around it that take part in its windows.
Region TestedRegion(const Region& strip, const LevelGeometry& level, int radius_px, int reach_px) {
  return {std::max(strip.x_begin - radius_px, reach_px),
          std::max(strip.y_begin - radius_px, reach_px),
          std::min(strip.x_end + radius_px, level.width_px - reach_px),
          std::min(strip.y_end + radius_px, level.height_px - reach_px)};
}

// Places of the parts of a task's scratch memory, in bytes, for a tested region of some width.
struct ScratchLayout {
  int64_t fast = 0;   // of the FAST kernel
  int64_t corners;    // Corner[]: those of the rows that the map covers
  int64_t responses;  // float[]: theirs
  int64_t map;        // float[rows][pitch], with the margins
  int64_t bytes;
  int rows;
  ptrdiff_t pitch;

  ScratchLayout(int width_px, int radius_px)
      : rows(kBlockRows + 2 * radius_px),
        pitch(RoundUp<ptrdiff_t>(width_px + 2 * kResponseMargin, kResponseMargin)) {
    const int64_t most = static_cast<int64_t>(width_px) * rows + kCornerSlack;
    corners = End(fast, FastScratchBytes({0, 0, width_px, kBlockRows}, 0));
    responses = End(corners, most * static_cast<int64_t>(sizeof(Corner)));
    map = End(responses, most * static_cast<int64_t>(sizeof(float)));
    bytes = End(map, MapEntries() * static_cast<int64_t>(sizeof(float)));
  }

  int64_t MapEntries() const { return (rows + 2 * kResponseMarginRows) * pitch; }

 private:
  static int64_t End(int64_t begin, int64_t part_bytes) {
    return begin + RoundUp<int64_t>(part_bytes, 64);
  }
};

class FastResponse final : public Step {
 public:
  FastResponse(const StepSetup& setup, int level_begin, int level_end)
      : pipeline_(setup.pipeline),
        level_begin_(level_begin),
        level_end_(level_end),
        is_bounded_(FrameLists::BoundsLevelZero(setup.pipeline) && level_begin == 0),
        radius_px_(WindowRadiusPx(setup.pipeline.spec.pipeline)),
        find_corners_(StrongFastKernelFor(setup.target)),
        responses_(setup.pipeline.spec.pipeline, setup.target),
        keep_maxima_(WindowMaximumKernelFor(setup.target)) {}

  absl::string_view name() const override { return "fast_response"; }
  StageSet stages() const override { return {Stage::kDetect, Stage::kSuppress}; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      // This is the width of a task. A wider one can need less, as its bands have fewer rows.
      const Region tested = TestedRegion(level.region, level, radius_px_, responses_.reach_px());
      if (level.region.empty() || tested.empty()) continue;
      layout->AddScratch(static_cast<size_t>(ScratchLayout(tested.width(), radius_px_).bytes));
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    if (level < level_begin_ || level >= level_end_) return 0;
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const Region strip = strips.Of(pipeline_.level(level).region, task);
    uint64_t* const keys = frame.At(frame.lists.keys, level) + task * strips.capacity;
    int count = Keys(frame, level, strip, keys);
    if (frame.masked()) count = KeepUnmasked(frame.Mask(level), keys, count);
    frame.At(frame.lists.strip_corners, level)[task] = count;
  }

 private:
  // Corners wander through a map of a few rows of responses. The map is 0 but for them: what is
  // written into it is cleared again by the list, so that a row without corners costs nothing.
  int Keys(const FrameContext& frame, int level, const Region& strip, uint64_t* keys) const {
    const Region tested =
        TestedRegion(strip, pipeline_.level(level), radius_px_, responses_.reach_px());
    if (tested.empty()) return 0;
    const int threshold_grey = frame.job.parameters.detection_threshold_grey();
    const int arc_length = pipeline_.spec.pipeline.detect.fast_arc_length;
    const float least_response = is_bounded_ ? *frame.At(frame.lists.least_response) : 0.0f;
    const ImageView image = frame.Image(level);
    const ScratchLayout layout(tested.width(), radius_px_);
    uint8_t* const memory = frame.Scratch<uint8_t>();
    Corner* const corners = reinterpret_cast<Corner*>(memory + layout.corners);
    float* const responses = reinterpret_cast<float*>(memory + layout.responses);
    float* const margins = reinterpret_cast<float*>(memory + layout.map);
    std::memset(margins, 0, static_cast<size_t>(layout.MapEntries()) * sizeof(float));
    ResponseRows map = {margins + kResponseMarginRows * layout.pitch + kResponseMargin,
                        layout.pitch,
                        tested.x_begin,
                        tested.y_begin,
                        tested.width(),
                        layout.rows};

    int number = 0;   // corners in the list
    int decided = 0;  // of these, that suppression has seen or that lie above the strip
    int kept = 0;
    for (int y = tested.y_begin; y < tested.y_end; y += kBlockRows) {
      const int y_next = std::min(y + kBlockRows, tested.y_end);
      const int found = find_corners_(image, {tested.x_begin, y, tested.x_end, y_next}, arc_length,
                                      threshold_grey, static_cast<int>(least_response),
                                      memory + layout.fast, corners + number);
      const int first = number;
      number += responses_.Keep(image, corners + number, found, threshold_grey, responses + number);
      if (is_bounded_) {
        // A corner is suppressed by greater responses only, so that those below may go first.
        number = DropBelow(least_response, corners, responses, first, number);
      }
      for (int i = first; i < number; ++i) *map.At(corners[i].x, corners[i].y) = responses[i];

      // Rows whose windows are complete.
      const int y_decided = y_next == tested.y_end ? strip.y_end : y_next - radius_px_;
      decided = FirstOfRow(corners, decided, number, strip.y_begin);
      const int end = FirstOfRow(corners, decided, number, y_decided);
      kept += keep_maxima_(map, {strip.x_begin, strip.x_end}, corners + decided,
                           responses + decided, end - decided, radius_px_, keys + kept);
      if (y_next == tested.y_end) break;

      // The rows that windows still need move to the top.
      const int y_top = std::max(y_next - 2 * radius_px_, tested.y_begin);
      const int top = FirstOfRow(corners, 0, number, y_top);
      for (int i = 0; i < number; ++i) *map.At(corners[i].x, corners[i].y) = 0.0f;
      std::copy(corners + top, corners + number, corners);
      std::copy(responses + top, responses + number, responses);
      number -= top;
      decided = end - top;
      map.y0 = y_top;
      for (int i = 0; i < number; ++i) *map.At(corners[i].x, corners[i].y) = responses[i];
    }
    return kept;
  }

  // Drops the corners [begin, end) whose response is below `least`; returns the new end.
  static int DropBelow(float least, Corner* corners, float* responses, int begin, int end) {
    int kept = begin;
    for (int i = begin; i < end; ++i) {
      const float response = responses[i];
      corners[kept] = corners[i];
      responses[kept] = response;
      kept += response >= least ? 1 : 0;
    }
    return kept;
  }

  // Index of the first corner of a row >= y among [begin, end).
  static int FirstOfRow(const Corner* corners, int begin, int end, int y) {
    const Corner* const first = std::partition_point(
        corners + begin, corners + end, [y](const Corner& corner) { return corner.y < y; });
    return static_cast<int>(first - corners);
  }

  const CompiledPipeline& pipeline_;
  const int level_begin_;  // of the levels that are searched
  const int level_end_;
  const bool is_bounded_;  // by the responses of other levels
  const int radius_px_;
  const StrongFastKernel find_corners_;
  const CornerResponses responses_;
  const WindowMaximumKernel keep_maxima_;
};

}  // namespace

std::unique_ptr<Step> MakeFastResponse(const StepSetup& setup) {
  return std::make_unique<FastResponse>(setup, FrameLists::BoundsLevelZero(setup.pipeline) ? 1 : 0,
                                        kMaxLevels);
}

std::unique_ptr<Step> MakeFastResponseOfLevelZero(const StepSetup& setup) {
  return std::make_unique<FastResponse>(setup, 0, 1);
}

}  // namespace orbserve::cpu
