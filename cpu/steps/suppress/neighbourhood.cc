// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/neighbourhood.h"

#include <algorithm>
#include <cstddef>

#include "features/algo/order.h"
#include "features/algo/window_maximum.h"
#include "features/pipeline/detection.h"

namespace orbserve::cpu {
namespace {

class Neighbourhood final : public Step {
 public:
  explicit Neighbourhood(const StepSetup& setup)
      : pipeline_(setup.pipeline),
        radius_px_(WindowRadiusPx(setup.pipeline.spec.pipeline)),
        find_peaks_(PeaksKernelFor(setup.target)) {}

  absl::string_view name() const override { return "neighbourhood"; }
  StageSet stages() const override { return Stage::kSuppress; }

  void Declare(WorkspaceLayout* layout) override {
    for (const LevelGeometry& level : pipeline_.pyramid.levels) {
      layout->AddScratch(static_cast<size_t>(level.width_px + kMapRowSlack) * sizeof(uint16_t));
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.lists.strips[static_cast<size_t>(level)].count;
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const LevelGeometry& geometry = pipeline_.level(level);
    const Strips& strips = frame.lists.strips[static_cast<size_t>(level)];
    const Region strip = strips.Of(geometry.region, task);
    const ptrdiff_t pitch = frame.lists.response_pitch[static_cast<size_t>(level)];
    const uint32_t* const map = frame.At(frame.lists.responses, level);
    const uint32_t threshold = *frame.At(frame.lists.candidate_threshold);
    uint64_t* const keys = frame.At(frame.lists.keys, level) + task * strips.capacity;
    uint16_t* const peaks = frame.Scratch<uint16_t>();
    int kept = 0;
    for (int y = strip.y_begin; y < strip.y_end; ++y) {
      // The map reaches as far beyond the region as the window.
      const uint32_t* const row = map + y * pitch + strip.x_begin;
      const int count = find_peaks_(row - pitch, row, row + pitch, strip.width(), threshold, peaks);
      for (int i = 0; i < count; ++i) {
        const int x = strip.x_begin + peaks[i];
        if (!algo::IsWindowMaximum(map, pitch, geometry.width_px, geometry.height_px, x, y,
                                   radius_px_)) {
          continue;
        }
        keys[kept++] = algo::RankKey(algo::ValueOfOrderedBits(row[peaks[i]]), x, y);
      }
    }
    frame.At(frame.lists.strip_corners, level)[task] = kept;
  }

 private:
  const CompiledPipeline& pipeline_;
  const int radius_px_;
  const PeaksKernel find_peaks_;
};

// True if no entry beside row[x] in the columns [0, count) of the three rows is above it.
bool IsPeak(const uint32_t* above, const uint32_t* row, const uint32_t* below, int count, int x) {
  for (int u = std::max(x - 1, 0); u <= std::min(x + 1, count - 1); ++u) {
    if (row[x] < above[u] || row[x] < row[u] || row[x] < below[u]) return false;
  }
  return true;
}

}  // namespace

int ReferencePeaks(const uint32_t* above, const uint32_t* row, const uint32_t* below, int count,
                   uint32_t threshold, uint16_t* peaks) {
  int number = 0;
  for (int x = 0; x < count; ++x) {
    if (row[x] > threshold && IsPeak(above, row, below, count, x)) {
      peaks[number++] = static_cast<uint16_t>(x);
    }
  }
  return number;
}

int ReferencePeaksOfPart(const uint32_t* map, ptrdiff_t pitch, const Region& region,
                         const Region& part, uint32_t threshold, MapPlace* peaks) {
  int number = 0;
  for (int y = part.y_begin; y < part.y_end; ++y) {
    const uint32_t* const row = map + y * pitch + region.x_begin;
    const uint32_t* const above = y > region.y_begin ? row - pitch : row;
    const uint32_t* const below = y + 1 < region.y_end ? row + pitch : row;
    for (int x = part.x_begin; x < part.x_end; ++x) {
      const int column = x - region.x_begin;
      if (row[column] > threshold && IsPeak(above, row, below, region.width(), column)) {
        peaks[number++] = {static_cast<int16_t>(x), static_cast<int16_t>(y)};
      }
    }
  }
  return number;
}

std::unique_ptr<Step> MakeNeighbourhood(const StepSetup& setup) {
  return std::make_unique<Neighbourhood>(setup);
}

}  // namespace orbserve::cpu
