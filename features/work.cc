// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/work.h"

#include <algorithm>

#include "features/algo/sift_scale_space.h"
#include "features/pipeline/detection.h"

namespace orbserve {
namespace {

// All measured on a Xeon with AVX-512, rounded. What they are relative to each other matters within
// a plan only: a factor common to all frames of a plan is learnt.
constexpr double kNsPerPixel = 1.5;        // resampling, FAST, suppression, smoothing
constexpr double kNsPerFeature = 1'000.0;  // ranking, angle, descriptor, answer
constexpr double kNsPerFrame = 50'000.0;
constexpr double kNsPerPairByte = 0.025;  // 2048 x 2048 pairs of 32 bytes: 3 ms
constexpr double kNsPerMatch = 20'000.0;
constexpr double kNsPerPointLevel = 2'000.0;
constexpr double kNsPerSearch = 20'000.0;
constexpr double kPlanNsPerPixel = 1.0;  // memory that is cleared, graphs of larger batches
constexpr double kNsPerPlan = 1'000'000.0;

// Pixels of `levels` levels whose sides shrink by `scale_factor`.
double PixelsOf(int width_px, int height_px, int levels, double scale_factor) {
  double pixels = 0.0;
  double level_pixels = static_cast<double>(width_px) * height_px;
  for (int l = 0; l < levels && level_pixels >= 1.0; ++l) {
    pixels += level_pixels;
    level_pixels /= scale_factor * scale_factor;
  }
  return pixels;
}

}  // namespace

double PixelsOf(const PlanSpec& spec) {
  if (HasScaleSpace(spec.pipeline)) {
    const SiftOptions& sift = spec.pipeline.sift;
    const int scale = sift.first_octave < 0 ? 2 : 1;
    const double images = sift.octave_layers + algo::kSiftExtraImages;
    return images * PixelsOf(scale * spec.width_px, scale * spec.height_px, kMaxLevels,
                             /*scale_factor=*/2.0);
  }
  const PyramidOptions& pyramid = spec.pipeline.pyramid;
  // Levels of the pyramid for tracks are half as large as the one before.
  return PixelsOf(spec.width_px, spec.height_px, pyramid.levels, pyramid.scale_factor) +
         PixelsOf(spec.width_px / 2, spec.height_px / 2, spec.track_levels - 1, 2.0);
}

double FrameWork(const PlanSpec& spec, const FrameParameters& parameters) {
  const int features = std::min(parameters.max_features, spec.pipeline.select.capacity);
  return kNsPerFrame + kNsPerPixel * PixelsOf(spec) + kNsPerFeature * features;
}

double PlanWork(const PlanSpec& spec) { return kNsPerPlan + kPlanNsPerPixel * PixelsOf(spec); }

double MatchWork(const MatchJob& job) {
  const double pair_bytes = static_cast<double>(job.pair_count()) * job.query->descriptor_bytes();
  return kNsPerMatch + kNsPerPairByte * pair_bytes * (job.options.cross_check ? 2.0 : 1.0);
}

double TrackWork(const TrackJob& job) {
  return kNsPerSearch + kNsPerPointLevel * static_cast<double>(job.points->count()) *
                            std::max(1, job.from->pyramid_levels());
}

}  // namespace orbserve
