// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/tracking/follow_points.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include "features/host_device.h"
#include "features/track_job.h"
#include "oneapi/tbb/blocked_range.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/partitioner.h"
#include "oneapi/tbb/task_arena.h"

namespace orbserve::cpu {
namespace {

// Points of a task. A point takes some 5 to 20 microseconds, far above the cost of a task.
constexpr int kPointsPerTask = 8;

constexpr int kMaxOuterPx = algo::kFineTrackPatchPx + 2;

// The plain loops (features/algo/lucas_kanade.h says what each function does).
class ReferenceLoops {
 public:
  ReferenceLoops(const TrackFrames& frames, const PointPatches& patches)
      : frames_(frames), patches_(patches) {}

  void TakeTemplate(int level, int side, int32_t x, int32_t y) {
    const int values = algo::TrackPatchSamples(side);
    const int offset = algo::TrackPatchOffset(level, frames_.parameters.coarse_patch_px);
    if (patches_.given != nullptr) {
      std::copy_n(patches_.given + offset, values, samples_);
      return;
    }
    const algo::TrackSampler sampler = algo::TrackSamplerAt(x, y);
    const ImageView& image = frames_.from[static_cast<size_t>(level)];
    const int outer = side + 2;
    for (int j = 0; j < outer; ++j) {
      for (int i = 0; i < outer; ++i) {
        samples_[j * outer + i] =
            static_cast<int16_t>(SampleAt(image, sampler, i - side / 2 - 1, j - side / 2 - 1));
      }
    }
    if (patches_.answered != nullptr) std::copy_n(samples_, values, patches_.answered + offset);
  }

  void PassTemplate(int level, int side) {
    if (patches_.answered == nullptr) return;
    const int offset = algo::TrackPatchOffset(level, frames_.parameters.coarse_patch_px);
    std::fill_n(patches_.answered + offset, algo::TrackPatchSamples(side), int16_t{0});
  }

  int TemplateSum(int side) const {
    int sum = 0;
    ForEachPixel(side, [&](int i, int j) { sum += Sample(side, i, j); });
    return sum;
  }

  algo::TrackTemplateSums<int64_t> SumTemplate(int side, int mean) {
    algo::TrackTemplateSums<int64_t> sums;
    mean_ = mean;
    ForEachPixel(side, [&](int i, int j) {
      const auto row_difference = [&](int v) {
        return Sample(side, i + 1, v) - Sample(side, i - 1, v);
      };
      const auto column_difference = [&](int u) {
        return Sample(side, u, j + 1) - Sample(side, u, j - 1);
      };
      Pixel& pixel = pixels_[j * side + i];
      pixel.gx =
          algo::TrackGradient(row_difference(j - 1), row_difference(j), row_difference(j + 1));
      pixel.gy = algo::TrackGradient(column_difference(i - 1), column_difference(i),
                                     column_difference(i + 1));
      pixel.c = Sample(side, i, j) - mean;
      sums.AddPixel(pixel.gx, pixel.gy, pixel.c);
    });
    return sums;
  }

  algo::TrackResidualSums SumResiduals(int level, int side, const algo::TrackSampler& sampler,
                                       int rounded_gain, int rounded_offset) const {
    algo::TrackResidualSums sums;
    ForEachPixel(side, [&](int i, int j) {
      const Pixel& pixel = pixels_[j * side + i];
      sums.AddPixel(pixel.gx, pixel.gy, pixel.c,
                    Residual(level, side, sampler, i, j, rounded_gain, rounded_offset));
    });
    return sums;
  }

  int SumAbsoluteResiduals(const algo::TrackSampler& sampler, int rounded_gain,
                           int rounded_offset) const {
    int sum = 0;
    ForEachPixel(algo::kFineTrackPatchPx, [&](int i, int j) {
      sum += std::abs(
          Residual(0, algo::kFineTrackPatchPx, sampler, i, j, rounded_gain, rounded_offset));
    });
    return sum;
  }

 private:
  struct Pixel {
    int gx;
    int gy;
    int c;
  };

  template <typename Visit>
  static void ForEachPixel(int side, const Visit& visit) {
    for (int j = 0; j < side; ++j) {
      for (int i = 0; i < side; ++i) visit(i, j);
    }
  }

  // Sample (i, j) of the patch of `image` at `sampler`.
  static int SampleAt(const ImageView& image, const algo::TrackSampler& sampler, int i, int j) {
    const int x0 = Clamp(sampler.x + i, 0, image.width_px - 1);
    const int x1 = Clamp(sampler.x + i + 1, 0, image.width_px - 1);
    const uint8_t* const row = image.Row(Clamp(sampler.y + j, 0, image.height_px - 1));
    const uint8_t* const below = image.Row(Clamp(sampler.y + j + 1, 0, image.height_px - 1));
    return sampler.Sample(row[x0], row[x1], below[x0], below[x1]);
  }

  // Sample (i, j) of the template, from -1 on.
  int Sample(int side, int i, int j) const { return samples_[(j + 1) * (side + 2) + i + 1]; }

  int Residual(int level, int side, const algo::TrackSampler& sampler, int i, int j,
               int rounded_gain, int rounded_offset) const {
    const int c = pixels_[j * side + i].c;
    return algo::TrackResidual(
        SampleAt(frames_.to[static_cast<size_t>(level)], sampler, i - side / 2, j - side / 2),
        c + mean_, c, rounded_gain, rounded_offset);
  }

  const TrackFrames& frames_;
  const PointPatches& patches_;
  int16_t samples_[kMaxOuterPx * kMaxOuterPx];
  Pixel pixels_[algo::kFineTrackPatchPx * algo::kFineTrackPatchPx];
  int mean_ = 0;
};

}  // namespace

TrackFrames TrackFrames::Of(const FramePyramid& from, const FramePyramid& to,
                            const TrackOptions& options) {
  TrackFrames frames;
  frames.parameters = algo::TrackParameters::Of(options, to.levels());
  for (int level = 0; level < frames.parameters.levels; ++level) {
    const auto l = static_cast<size_t>(level);
    frames.from[l] = from.Image(level);
    frames.to[l] = to.Image(level);
    frames.sizes[l] = {frames.to[l].width_px, frames.to[l].height_px};
  }
  return frames;
}

algo::TrackResult ReferenceFollow(const TrackFrames& frames, const algo::TrackStart& start,
                                  const PointPatches& patches) {
  ReferenceLoops loops(frames, patches);
  return algo::FollowPoint(frames.parameters, frames.sizes.data(), start, loops);
}

bool FollowPoints(FollowKernel follow, const FramePyramid& from, const FramePyramid& to,
                  const TrackPoints& points, const TrackOptions& options,
                  const std::atomic<bool>* cancelled, TrackedPoints* tracked) {
  const auto is_cancelled = [cancelled] {
    return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  };
  if (is_cancelled()) return false;
  const TrackFrames frames = TrackFrames::Of(from, to, options);
  const size_t count = points.count();
  const auto row_values = static_cast<size_t>(
      algo::TrackPatchValues(frames.parameters.levels, frames.parameters.coarse_patch_px));
  // Rows of answered patches before each point.
  std::vector<uint32_t> row_of;
  uint32_t rows = 0;
  row_of.reserve(points.patch_row.size());
  for (const int32_t row : points.patch_row) {
    row_of.push_back(rows);
    rows += row < 0 ? 1 : 0;
  }
  ResizeColumns(count, tracked);
  tracked->patches.resize(rows * row_values);

  const auto follow_one = [&](size_t i) {
    PointPatches patches;
    if (!row_of.empty()) {
      const int32_t row = points.patch_row[i];
      if (row < 0) {
        patches.answered = tracked->patches.data() + row_of[i] * row_values;
      } else {
        patches.given = points.patches.data() + static_cast<size_t>(row) * row_values;
      }
    }
    const algo::TrackResult result = follow(frames, algo::TrackStartOf(points, i), patches);
    tracked->status[i] = result.status;
    tracked->x[i] = result.x;
    tracked->y[i] = result.y;
    tracked->gain[i] = result.gain;
    tracked->offset[i] = result.offset;
    tracked->residual[i] = result.residual;
  };
  std::atomic<bool> ended_early = false;
  // Isolated: while it waits here, this thread must not begin a frame that the points would have to
  // wait for.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<size_t>(0, count, kPointsPerTask),
        [&](const tbb::blocked_range<size_t>& range) {
          for (size_t i = range.begin(); i < range.end(); ++i) {
            if (is_cancelled()) {
              ended_early.store(true, std::memory_order_relaxed);
              return;
            }
            follow_one(i);
          }
        },
        tbb::simple_partitioner());
  });
  return !ended_early.load(std::memory_order_relaxed);
}

}  // namespace orbserve::cpu
