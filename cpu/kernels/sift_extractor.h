// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT of one frame: the features of cv::SIFT of OpenCV 4.6.0 on a processor with AVX2 and FMA, in
// its order. Any number of threads find and describe them.

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

// Holds what one thread finds. It grows, and is then kept.
struct SiftFound {
  std::vector<SiftCandidate> candidates;  // of an octave
  std::vector<SiftOriented> oriented;     // those of a batch
  std::vector<SiftDirectionTask> direction_tasks;
  std::vector<algo::SiftFeature> keypoints;

  size_t HeldBytes() const;
};

// Lists of one frame; they grow, and are then kept. Features are in level-0 pixels.
struct SiftMemory {
  // Packed as OpenCV's KeyPoint::octave, with octaves that count from 0.
  std::vector<algo::SiftFeature> keypoints;
  int64_t found = 0;                      // features before the cut
  SiftBands bands;                        // of the image that is being made
  std::vector<SiftCandidate> candidates;  // of the octave that is ready
  std::vector<SiftDescribeTask> tasks;    // one for each feature, in an order of their own
  std::vector<uint8_t> descriptors;       // [keypoint][kSiftDescriptorBytes]
  std::vector<SiftScratch> scratch;       // [thread], at least one
  std::vector<SiftFound> found_by;        // [thread]

  size_t HeldBytes() const;
};

// Octaves that threads make together. Each is four times as large as the next.
inline constexpr int kSiftSharedOctaves = 3;

// Tables for frames of one size. Immutable once made: frames may use it at the same time, each with
// images and lists of its own.
class SiftExtractor {
 public:
  // `width_px`, `height_px` in [1, 8192]; `options` are valid. Only with `overlaps` may an octave
  // be made while features of the one before are found; a frame then needs a tenth more memory.
  SiftExtractor(int width_px, int height_px, const SiftOptions& options, const SiftKernels& kernels,
                algo::SiftNorm norm = algo::SiftNorm::kL2, bool overlaps = false);

  // Floats of the images that a frame needs.
  size_t image_floats() const { return image_floats_; }

  // Finds the features of a frame of that size, keeps about the best `max_features` (0 = all; ties
  // with the last one stay), and puts them in cv::SIFT's order. Where `mask` is not null, features
  // at its zeros are left out after that. All by this thread, the first. Returns early, with lists
  // of no use, once `cancelled`, which may be null, is true.
  void Detect(const ImageView& grey, const ImageView* mask, int max_features,
              const std::atomic<bool>* cancelled, float* images, SiftMemory* memory) const;

  // These do the same in parts. Each begins when those before it have ended. Threads have numbers
  // below the size of `scratch`.
  //
  // Begin(), and MakeFirstImage() by any number of threads up to `bands.count()`, of `threads`.
  void Begin(int threads, SiftMemory* memory) const;
  void MakeFirstImage(const ImageView& grey, float* images, SiftMemory* memory, int thread) const;
  // The octaves from 0 on, of which all but the first kSiftSharedOctaves are small: BeginOctave(),
  // and MakeOctave() by any number of threads up to `bands.count()`.
  int octaves() const { return static_cast<int>(octaves_.size()); }
  void BeginOctave(int octave, int threads, float* images, SiftMemory* memory) const;
  void MakeOctave(int octave, float* images, SiftMemory* memory, int thread) const;
  // Its features, while the next octave may be made if octaves overlap: GatherCandidates(), then
  // OrientCandidates() of all `candidates`, by any number of threads.
  void GatherCandidates(SiftMemory* memory) const;
  void OrientCandidates(int octave, int begin, int end, float* images, SiftMemory* memory,
                        int thread) const;
  // The octaves from `octave` on with their features, likewise.
  void MakeOctavesFrom(int octave, const std::atomic<bool>* cancelled, float* images,
                       SiftMemory* memory, int thread) const;
  // The order and the cut.
  void OrderFeatures(const ImageView* mask, int max_features, SiftMemory* memory) const;

  // Fills in `tasks` of the features that were found in `images`, with room for the
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

  // The image `image` of an octave. Those that no feature lies in share their memory: octaves 0 and
  // 2, all others.
  float* Image(float* images, int octave, int image) const;
  SiftOctaveTask TaskOf(float* images, int octave) const;
  void SetBands(int rows, int threads, SiftMemory* memory) const;
  void MakeHalf(int octave, float* images) const;
  void FindFeatures(int octave, const SiftCandidate* candidates, int count, float* images,
                    SiftScratch* scratch, SiftFound* found) const;
  void OrientFeatures(int octave, SiftScratch* scratch, SiftFound* found) const;

  const SiftOptions options_;
  const SiftKernels& kernels_;
  const algo::SiftNorm norm_;
  std::vector<Octave> octaves_;
  size_t image_floats_ = 0;
  size_t odd_offset_ = 0;  // of the images that odd octaves share
  int least_rows_ = 0;     // of a band
  SiftBlur first_blur_;
  SiftBlur blurs_[algo::kSiftMaxLayers + algo::kSiftExtraImages];
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_
