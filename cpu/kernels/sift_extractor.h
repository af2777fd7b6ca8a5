// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT of one frame: the features of cv::SIFT of OpenCV 4.6.0 on a processor with AVX2 and FMA, in
// its order. One thread finds them; any number of threads describe them.

#ifndef ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_
#define ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/kernel_target.h"
#include "cpu/kernels/sift_kernels.h"
#include "features/algo/sift_order.h"
#include "features/image_view.h"
#include "features/options.h"

namespace orbserve::cpu {

// A refined extremum that gets its directions.
struct SiftOriented {
  algo::SiftExtremum extremum;
  float scale = 0.0f;
};

// Lists of one frame; they grow, and are then kept. Features are in level-0 pixels.
struct SiftMemory {
  // Packed as OpenCV's KeyPoint::octave, with octaves that count from 0.
  std::vector<algo::SiftFeature> keypoints;
  int64_t found = 0;  // features before the cut
  std::vector<SiftCandidate> candidates;
  std::vector<SiftOriented> oriented;  // those of a batch
  std::vector<SiftDirectionTask> direction_tasks;
  std::vector<SiftDescribeTask> tasks;  // one for each feature, in an order of their own
  std::vector<uint8_t> descriptors;     // [keypoint][kSiftDescriptorBytes]
  std::vector<SiftScratch> scratch;     // [thread], at least one

  size_t HeldBytes() const {
    const auto bytes = [](const auto& list) { return list.capacity() * sizeof(*list.data()); };
    size_t held = bytes(keypoints) + bytes(candidates) + bytes(oriented) + bytes(direction_tasks) +
                  bytes(tasks) + bytes(descriptors) + bytes(scratch);
    for (const SiftScratch& one : scratch) held += one.HeldBytes();
    return held;
  }
};

// Tables for frames of one size. Immutable once made: frames may use it at the same time, each with
// images and lists of its own.
class SiftExtractor {
 public:
  // `width_px`, `height_px` in [1, 8192]; `options` are valid.
  SiftExtractor(int width_px, int height_px, const SiftOptions& options, const SiftKernels& kernels,
                algo::SiftNorm norm = algo::SiftNorm::kL2);

  // Floats of the images that a frame needs.
  size_t image_floats() const { return image_floats_; }

  // Finds the features of a frame of that size, keeps about the best `max_features` (0 = all; ties
  // with the last one stay), and puts them in cv::SIFT's order. Where `mask` is not null, features
  // at its zeros are left out after that. Returns early, with lists of no use, once `cancelled`,
  // which may be null, is true.
  void Detect(const ImageView& grey, const ImageView* mask, int max_features,
              const std::atomic<bool>* cancelled, float* images, SiftMemory* memory) const;
  // Fills in `tasks` of the features that Detect() has found in `images`, with room for the
  // descriptors.
  void PrepareDescriptors(float* images, SiftMemory* memory) const;
  // Makes the descriptors of some of the tasks.
  void Describe(const SiftDescribeTask* tasks, int count, SiftScratch* scratch) const {
    kernels_.describe(tasks, count, scratch);
  }

  // KeyPoint::octave of OpenCV for the packed octave of a feature.
  int32_t PackedOctave(int32_t octave) const {
    return (octave & ~0xFF) | ((octave + options_.first_octave) & 0xFF);
  }
  const SiftOptions& options() const { return options_; }

 private:
  struct Octave {
    int width_px = 0;
    int height_px = 0;
    ptrdiff_t pitch = 0;
    size_t offset = 0;  // of the images of its layers, which are kept
  };

  // The image `image` of an octave. Those that no feature lies in share their memory with the
  // other octaves.
  float* Image(float* images, const Octave& octave, int image) const;
  SiftOctaveTask TaskOf(float* images, const Octave& octave) const;
  void FindFeatures(int octave, float* images, SiftMemory* memory) const;
  void OrientFeatures(int octave, SiftMemory* memory) const;

  const SiftOptions options_;
  const SiftKernels& kernels_;
  const algo::SiftNorm norm_;
  std::vector<Octave> octaves_;
  size_t image_floats_ = 0;
  SiftBlur first_blur_;
  SiftBlur blurs_[algo::kSiftMaxLayers + algo::kSiftExtraImages];
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_
