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

// Least rows of a band: at its upper and lower edge work for about 20 rows each is done twice.
constexpr int kLeastBandRows = 96;

template <typename T>
size_t BytesOf(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);
}

SiftBlur BlurOf(double sigma) {
  SiftBlur blur;
  blur.radius = algo::SiftBlurRadius(sigma);
  algo::MakeSiftTaps(sigma, blur.taps);
  return blur;
}

}  // namespace

size_t SiftFound::HeldBytes() const {
  return BytesOf(candidates) + BytesOf(oriented) + BytesOf(direction_tasks) + BytesOf(keypoints);
}

size_t SiftMemory::HeldBytes() const {
  size_t held = BytesOf(keypoints) + BytesOf(candidates) + BytesOf(tasks) + BytesOf(descriptors) +
                BytesOf(scratch) + BytesOf(found_by);
  for (const SiftScratch& one : scratch) held += one.HeldBytes();
  for (const SiftFound& one : found_by) held += one.HeldBytes();
  return held;
}

SiftExtractor::SiftExtractor(int width_px, int height_px, const SiftOptions& options,
                             const SiftKernels& kernels, algo::SiftNorm norm, bool overlaps)
    : options_(options), kernels_(kernels), norm_(norm) {
  const int layers = options.octave_layers;
  first_blur_ = BlurOf(algo::SiftFirstSigma(options.sigma, options.first_octave));
  int reach = 0;
  for (int i = 1; i < layers + algo::kSiftExtraImages; ++i) {
    blurs_[i] = BlurOf(algo::SiftSigma(options.sigma, layers, i));
    reach += blurs_[i].radius;
  }
  least_rows_ = std::max(kLeastBandRows, 2 * reach);
  const int scale = options.first_octave < 0 ? 2 : 1;
  int width = scale * width_px;
  int height = scale * height_px;
  const int count = algo::SiftOctaves(width, height, options.first_octave);
  size_t end = 0;
  for (int i = 0; i < count; ++i) {
    Octave octave = {width, height, SiftPitch(width), 0};
    const size_t plane = static_cast<size_t>(octave.pitch) * height;
    // The images of the first octave that are not kept, and those of the second if they have memory
    // of their own, come before all that are.
    if (i == 0) end = algo::kSiftExtraImages * plane;
    if (i == 0 && count > 1 && overlaps) {
      odd_offset_ = end;
      end += algo::kSiftExtraImages * static_cast<size_t>(SiftPitch(width / 2)) * (height / 2);
    }
    octave.offset = end;
    end += layers * plane;
    octaves_.push_back(octave);
    width /= 2;
    height /= 2;
  }
  // Vectors of samples reach beyond the last row.
  image_floats_ = end + 64;
}

float* SiftExtractor::Image(float* images, int octave, int image) const {
  const Octave& of = octaves_[static_cast<size_t>(octave)];
  const size_t plane = static_cast<size_t>(of.pitch) * of.height_px;
  const int layers = options_.octave_layers;
  if (image >= 1 && image <= layers) {
    return images + of.offset + static_cast<size_t>(image - 1) * plane;
  }
  const bool is_even = octave < kSiftSharedOctaves && octave % 2 == 0;
  return images + (is_even ? 0 : odd_offset_) +
         static_cast<size_t>(image == 0 ? 0 : image - layers) * plane;
}

SiftOctaveTask SiftExtractor::TaskOf(float* images, int octave) const {
  SiftOctaveTask task;
  for (int i = 0; i < options_.octave_layers + algo::kSiftExtraImages; ++i) {
    task.images[i] = Image(images, octave, i);
  }
  const Octave& of = octaves_[static_cast<size_t>(octave)];
  task.pitch = of.pitch;
  task.width_px = of.width_px;
  task.height_px = of.height_px;
  task.layers = options_.octave_layers;
  task.blurs = blurs_;
  task.least_difference =
      algo::SiftLeastDifference(options_.contrast_threshold, options_.octave_layers);
  return task;
}

void SiftExtractor::Begin(int threads, SiftMemory* memory) const {
  memory->keypoints.clear();
  memory->found_by.resize(memory->scratch.size());
  for (SiftFound& found : memory->found_by) {
    found.candidates.clear();
    found.keypoints.clear();
  }
  if (!octaves_.empty()) SetBands(octaves_[0].height_px, threads, memory);
}

void SiftExtractor::MakeFirstImage(const ImageView& grey, float* images, SiftMemory* memory,
                                   int thread) const {
  if (octaves_.empty()) return;
  kernels_.first_image(grey, options_.first_octave < 0, first_blur_, Image(images, 0, 0),
                       octaves_[0].pitch, &memory->bands,
                       &memory->scratch[static_cast<size_t>(thread)]);
}

// The first image of an octave but the first.
void SiftExtractor::MakeHalf(int octave, float* images) const {
  const Octave& of = octaves_[static_cast<size_t>(octave)];
  kernels_.halve(Image(images, octave - 1, options_.octave_layers),
                 octaves_[static_cast<size_t>(octave - 1)].pitch, of.width_px, of.height_px,
                 Image(images, octave, 0), of.pitch);
}

void SiftExtractor::SetBands(int rows, int threads, SiftMemory* memory) const {
  memory->bands.Reset(rows, threads == 1 ? rows : least_rows_);
}

void SiftExtractor::BeginOctave(int octave, int threads, float* images, SiftMemory* memory) const {
  if (octave > 0) MakeHalf(octave, images);
  SetBands(octaves_[static_cast<size_t>(octave)].height_px, threads, memory);
}

void SiftExtractor::MakeOctave(int octave, float* images, SiftMemory* memory, int thread) const {
  SiftOctaveTask task = TaskOf(images, octave);
  task.bands = &memory->bands;
  const auto place = static_cast<size_t>(thread);
  kernels_.octave(task, &memory->scratch[place], &memory->found_by[place].candidates);
}

void SiftExtractor::GatherCandidates(SiftMemory* memory) const {
  std::vector<SiftCandidate>& all = memory->candidates;
  all.clear();
  for (SiftFound& found : memory->found_by) {
    all.insert(all.end(), found.candidates.begin(), found.candidates.end());
    found.candidates.clear();
  }
}

void SiftExtractor::OrientCandidates(int octave, int begin, int end, float* images,
                                     SiftMemory* memory, int thread) const {
  const auto place = static_cast<size_t>(thread);
  FindFeatures(octave, memory->candidates.data() + begin, end - begin, images,
               &memory->scratch[place], &memory->found_by[place]);
}

void SiftExtractor::MakeOctavesFrom(int octave, const std::atomic<bool>* cancelled, float* images,
                                    SiftMemory* memory, int thread) const {
  SiftScratch& scratch = memory->scratch[static_cast<size_t>(thread)];
  SiftFound& found = memory->found_by[static_cast<size_t>(thread)];
  for (; octave < octaves(); ++octave) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) return;
    if (octave > 0) MakeHalf(octave, images);
    found.candidates.clear();
    kernels_.octave(TaskOf(images, octave), &scratch, &found.candidates);
    FindFeatures(octave, found.candidates.data(), static_cast<int>(found.candidates.size()), images,
                 &scratch, &found);
  }
  found.candidates.clear();
}

void SiftExtractor::FindFeatures(int octave, const SiftCandidate* candidates, int count,
                                 float* images, SiftScratch* scratch, SiftFound* found) const {
  const SiftOctaveTask task = TaskOf(images, octave);
  algo::SiftOctaveView view;
  std::copy(std::begin(task.images), std::end(task.images), std::begin(view.images));
  view.pitch = task.pitch;
  view.width_px = task.width_px;
  view.height_px = task.height_px;
  const algo::SiftThresholds thresholds = {task.layers,
                                           static_cast<float>(options_.contrast_threshold),
                                           static_cast<float>(options_.edge_threshold)};
  found->oriented.clear();
  found->direction_tasks.clear();
  for (int i = 0; i < count; ++i) {
    const SiftCandidate& candidate = candidates[i];
    algo::SiftExtremum extremum = {candidate.x, candidate.y, candidate.layer};
    if (!kernels_.refine(view, thresholds, &extremum)) continue;
    const float scale = algo::SiftScale(extremum, task.layers, static_cast<float>(options_.sigma));
    found->oriented.push_back({extremum, scale});
    found->direction_tasks.push_back(
        {task.images[extremum.layer], task.pitch,
         algo::SiftOrientationWindowOf(extremum.x, extremum.y, scale, task.width_px,
                                       task.height_px)});
    if (found->oriented.size() == kOrientedAtOnce) OrientFeatures(octave, scratch, found);
  }
  OrientFeatures(octave, scratch, found);
}

// Makes features of the extrema that are ready.
void SiftExtractor::OrientFeatures(int octave, SiftScratch* scratch, SiftFound* found) const {
  std::vector<SiftDirectionTask>& tasks = found->direction_tasks;
  kernels_.directions(tasks.data(), static_cast<int>(tasks.size()), scratch);
  // Pixels of level 0 per pixel of the octave: a power of two, so products with it are exact.
  const float pixel = std::ldexp(1.0f, octave + options_.first_octave);
  for (size_t n = 0; n < tasks.size(); ++n) {
    const auto& [extremum, scale] = found->oriented[n];
    float smoothed[algo::kSiftDirections];
    float most = 0.0f;
    for (int i = 0; i < algo::kSiftDirections; ++i) {
      smoothed[i] = algo::SmoothedSiftDirection(tasks[n].histogram, i);
      most = std::max(most, smoothed[i]);
    }
    for (int i = 0; i < algo::kSiftDirections; ++i) {
      const float angle = algo::SiftPeakAngle(smoothed, i, most * algo::kSiftPeakShare);
      if (angle < 0.0f) continue;
      found->keypoints.push_back({(static_cast<float>(extremum.x) + extremum.offset_x) * pixel,
                                  (static_cast<float>(extremum.y) + extremum.offset_y) * pixel,
                                  scale * pixel * 2.0f, angle, extremum.response,
                                  algo::PackSiftOctave(octave, extremum)});
    }
  }
  found->oriented.clear();
  tasks.clear();
}

void SiftExtractor::Detect(const ImageView& grey, const ImageView* mask, int max_features,
                           const std::atomic<bool>* cancelled, float* images,
                           SiftMemory* memory) const {
  Begin(1, memory);
  MakeFirstImage(grey, images, memory, 0);
  MakeOctavesFrom(0, cancelled, images, memory, 0);
  OrderFeatures(mask, max_features, memory);
}

void SiftExtractor::OrderFeatures(const ImageView* mask, int max_features,
                                  SiftMemory* memory) const {
  std::vector<algo::SiftFeature>& keypoints = memory->keypoints;
  keypoints.clear();
  for (const SiftFound& found : memory->found_by) {
    keypoints.insert(keypoints.end(), found.keypoints.begin(), found.keypoints.end());
  }
  // Each thread has room for all of the next such frame.
  for (SiftFound& found : memory->found_by) {
    found.candidates.reserve(memory->candidates.capacity());
    found.keypoints.reserve(keypoints.capacity());
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
    const Octave& octave = octaves_[static_cast<size_t>(index)];
    const float* const image = Image(images, index, feature.octave >> 8 & 0xFF);
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
