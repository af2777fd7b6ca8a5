// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/sift_extractor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace orbserve::cpu {
namespace {

// Extrema whose samples a cache of 1 MiB holds at once.
constexpr size_t kOrientedAtOnce = 32;

SiftBlur BlurOf(double sigma) {
  SiftBlur blur;
  blur.radius = algo::SiftBlurRadius(sigma);
  algo::MakeSiftTaps(sigma, blur.taps);
  return blur;
}

}  // namespace

SiftExtractor::SiftExtractor(int width_px, int height_px, const SiftOptions& options,
                             const SiftKernels& kernels, algo::SiftNorm norm)
    : options_(options), kernels_(kernels), norm_(norm) {
  const int layers = options.octave_layers;
  first_blur_ = BlurOf(algo::SiftFirstSigma(options.sigma, options.first_octave));
  for (int i = 1; i < layers + algo::kSiftExtraImages; ++i) {
    blurs_[i] = BlurOf(algo::SiftSigma(options.sigma, layers, i));
  }
  const int scale = options.first_octave < 0 ? 2 : 1;
  int width = scale * width_px;
  int height = scale * height_px;
  const int count = algo::SiftOctaves(width, height, options.first_octave);
  size_t end = 0;
  for (int i = 0; i < count; ++i) {
    Octave octave = {width, height, SiftPitch(width), 0};
    const size_t plane = static_cast<size_t>(octave.pitch) * height;
    // The first octave's images that are not kept come before all others.
    if (i == 0) end = algo::kSiftExtraImages * plane;
    octave.offset = end;
    end += layers * plane;
    octaves_.push_back(octave);
    width /= 2;
    height /= 2;
  }
  // Vectors of samples reach beyond the last row.
  image_floats_ = end + 64;
}

float* SiftExtractor::Image(float* images, const Octave& octave, int image) const {
  const size_t plane = static_cast<size_t>(octave.pitch) * octave.height_px;
  const int layers = options_.octave_layers;
  if (image >= 1 && image <= layers) {
    return images + octave.offset + static_cast<size_t>(image - 1) * plane;
  }
  return images + static_cast<size_t>(image == 0 ? 0 : image - layers) * plane;
}

SiftOctaveTask SiftExtractor::TaskOf(float* images, const Octave& octave) const {
  SiftOctaveTask task;
  for (int i = 0; i < options_.octave_layers + algo::kSiftExtraImages; ++i) {
    task.images[i] = Image(images, octave, i);
  }
  task.pitch = octave.pitch;
  task.width_px = octave.width_px;
  task.height_px = octave.height_px;
  task.layers = options_.octave_layers;
  task.blurs = blurs_;
  task.least_difference =
      algo::SiftLeastDifference(options_.contrast_threshold, options_.octave_layers);
  return task;
}

void SiftExtractor::FindFeatures(int octave, float* images, SiftMemory* memory) const {
  const SiftOctaveTask task = TaskOf(images, octaves_[octave]);
  memory->candidates.clear();
  kernels_.octave(task, &memory->scratch[0], &memory->candidates);

  algo::SiftOctaveView view;
  std::copy(std::begin(task.images), std::end(task.images), std::begin(view.images));
  view.pitch = task.pitch;
  view.width_px = task.width_px;
  view.height_px = task.height_px;
  const algo::SiftThresholds thresholds = {task.layers,
                                           static_cast<float>(options_.contrast_threshold),
                                           static_cast<float>(options_.edge_threshold)};
  memory->oriented.clear();
  memory->direction_tasks.clear();
  for (const SiftCandidate& candidate : memory->candidates) {
    algo::SiftExtremum extremum = {candidate.x, candidate.y, candidate.layer};
    if (!kernels_.refine(view, thresholds, &extremum)) continue;
    const float scale = algo::SiftScale(extremum, task.layers, static_cast<float>(options_.sigma));
    memory->oriented.push_back({extremum, scale});
    memory->direction_tasks.push_back(
        {task.images[extremum.layer], task.pitch,
         algo::SiftOrientationWindowOf(extremum.x, extremum.y, scale, task.width_px,
                                       task.height_px)});
    if (memory->oriented.size() == kOrientedAtOnce) OrientFeatures(octave, memory);
  }
  OrientFeatures(octave, memory);
}

// Makes features of the extrema that are ready.
void SiftExtractor::OrientFeatures(int octave, SiftMemory* memory) const {
  std::vector<SiftDirectionTask>& tasks = memory->direction_tasks;
  kernels_.directions(tasks.data(), static_cast<int>(tasks.size()), &memory->scratch[0]);
  // Pixels of level 0 per pixel of the octave: a power of two, so products with it are exact.
  const float pixel = std::ldexp(1.0f, octave + options_.first_octave);
  for (size_t n = 0; n < tasks.size(); ++n) {
    const auto& [extremum, scale] = memory->oriented[n];
    float smoothed[algo::kSiftDirections];
    float most = 0.0f;
    for (int i = 0; i < algo::kSiftDirections; ++i) {
      smoothed[i] = algo::SmoothedSiftDirection(tasks[n].histogram, i);
      most = std::max(most, smoothed[i]);
    }
    for (int i = 0; i < algo::kSiftDirections; ++i) {
      const float angle = algo::SiftPeakAngle(smoothed, i, most * algo::kSiftPeakShare);
      if (angle < 0.0f) continue;
      memory->keypoints.push_back({(static_cast<float>(extremum.x) + extremum.offset_x) * pixel,
                                   (static_cast<float>(extremum.y) + extremum.offset_y) * pixel,
                                   scale * pixel * 2.0f, angle, extremum.response,
                                   algo::PackSiftOctave(octave, extremum)});
    }
  }
  memory->oriented.clear();
  tasks.clear();
}

void SiftExtractor::Detect(const ImageView& grey, const ImageView* mask, int max_features,
                           const std::atomic<bool>* cancelled, float* images,
                           SiftMemory* memory) const {
  std::vector<algo::SiftFeature>& keypoints = memory->keypoints;
  keypoints.clear();
  for (size_t i = 0; i < octaves_.size(); ++i) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return;
    const Octave& octave = octaves_[i];
    float* const first = Image(images, octave, 0);
    if (i == 0) {
      kernels_.first_image(grey, options_.first_octave < 0, first_blur_, first, octave.pitch,
                           &memory->scratch[0]);
    } else {
      const Octave& before = octaves_[i - 1];
      kernels_.halve(Image(images, before, options_.octave_layers), before.pitch, octave.width_px,
                     octave.height_px, first, octave.pitch);
    }
    FindFeatures(static_cast<int>(i), images, memory);
  }
  std::sort(keypoints.begin(), keypoints.end(), algo::SiftPrecedes);
  keypoints.erase(std::unique(keypoints.begin(), keypoints.end(), algo::IsSiftDuplicate),
                  keypoints.end());
  memory->found = static_cast<int64_t>(keypoints.size());
  keypoints.resize(static_cast<size_t>(algo::KeepBestSiftFeatures(
      keypoints.data(), static_cast<int>(keypoints.size()), max_features)));
  if (mask == nullptr) return;
  keypoints.erase(
      std::remove_if(keypoints.begin(), keypoints.end(),
                     [&](const algo::SiftFeature& feature) {
                       return mask->Row(static_cast<int>(
                                  feature.y + 0.5f))[static_cast<int>(feature.x + 0.5f)] == 0;
                     }),
      keypoints.end());
}

void SiftExtractor::PrepareDescriptors(float* images, SiftMemory* memory) const {
  const std::vector<algo::SiftFeature>& keypoints = memory->keypoints;
  memory->descriptors.resize(keypoints.size() * algo::kSiftDescriptorBytes);
  std::vector<SiftDescribeTask>& tasks = memory->tasks;
  tasks.clear();
  for (size_t i = 0; i < keypoints.size(); ++i) {
    const algo::SiftFeature& feature = keypoints[i];
    const int index = feature.octave & 0xFF;
    const Octave& octave = octaves_[index];
    const float* const image = Image(images, octave, feature.octave >> 8 & 0xFF);
    const float scale = std::ldexp(1.0f, -(index + options_.first_octave));
    tasks.push_back(
        {image, octave.pitch, octave.width_px, octave.height_px,
         algo::SiftPatchOf(feature.x * scale, feature.y * scale, feature.size * scale * 0.5f,
                           feature.angle_deg, octave.width_px, octave.height_px),
         memory->descriptors.data() + i * algo::kSiftDescriptorBytes, norm_});
  }
  // Neighbours in an image follow each other, while its rows are in the cache.
  std::sort(tasks.begin(), tasks.end(), [](const SiftDescribeTask& a, const SiftDescribeTask& b) {
    if (a.image != b.image) return std::less<>()(a.image, b.image);
    return a.patch.y != b.patch.y ? a.patch.y < b.patch.y : a.patch.x < b.patch.x;
  });
}

}  // namespace orbserve::cpu
