// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The inner loops of SIFT (features/algo/sift_*.h): the octaves of the scale space with their
// extrema, histograms of directions, descriptors. See cpu/kernels/kernel_target.h.

#ifndef ORBSERVE_CPU_KERNELS_SIFT_KERNELS_H_
#define ORBSERVE_CPU_KERNELS_SIFT_KERNELS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/kernel_target.h"
#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_extremum.h"
#include "features/algo/sift_orientation.h"
#include "features/algo/sift_scale_space.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Floats of a row of `width_px` pixels.
constexpr ptrdiff_t SiftPitch(int width_px) {
  // A row more than whole cache lines: rows at a distance of a power of two would share their sets.
  return RoundUp(width_px, 16) + 16;
}

// Taps of one blur, by distance.
struct SiftBlur {
  int radius = 0;
  float taps[algo::kSiftMaxRadius + 1] = {};
};

// The rows of an image in bands, for threads that make it together. A thread that comes to the end
// of a band goes on with the next one at no cost, unless another thread has begun there; to begin
// anywhere else costs the filtered rows above.
class SiftBands {
 public:
  static constexpr int kMax = 16;

  // As many bands as there can be, of at least `least_rows` rows. No thread takes any meanwhile.
  void Reset(int rows, int least_rows) {
    rows_ = rows;
    count_ = std::clamp(rows / least_rows, 1, kMax);
    for (std::atomic<bool>& taken : taken_) taken.store(false, std::memory_order_relaxed);
  }

  int count() const { return count_; }
  int RowOf(int band) const { return rows_ * band / count_; }

  // True for the one caller that gets the band, which may be count().
  bool Take(int band) { return band < count_ && !taken_[static_cast<size_t>(band)].exchange(true); }
  // Takes a band far from those that others will come to, and returns it; -1 if there is none.
  int TakeAny();

 private:
  int rows_ = 0;
  int count_ = 0;
  std::array<std::atomic<bool>, kMax> taken_{};
};

// One octave, all its images with the same pitch. The first is given, or made by the kernel.
struct SiftOctaveTask {
  float* images[algo::kSiftMaxLayers + algo::kSiftExtraImages] = {};
  ptrdiff_t pitch = 0;
  int width_px = 0;
  int height_px = 0;
  int layers = 0;
  const SiftBlur* blurs = nullptr;  // [i] leads to image i
  float least_difference = 0.0f;
  SiftBands* bands = nullptr;  // null: the caller makes all rows
};

// A difference that is no less, or no more, than its neighbours.
struct SiftCandidate {
  int16_t layer = 0;
  int16_t y = 0;
  int16_t x = 0;
};

// Samples of a descriptor.
struct SiftSampleMemory {
  std::vector<float> samples;
  std::vector<algo::SiftSpan> spans;
};

// Descriptors that a thread makes at once.
inline constexpr int kSiftDescriptions = 2;

// Memory that kernels need besides their arguments; grows, and is then kept.
struct SiftScratch {
  std::vector<float> rows;
  std::vector<float> samples;
  SiftSampleMemory descriptions[kSiftDescriptions];

  size_t HeldBytes() const {
    size_t floats = rows.capacity() + samples.capacity();
    size_t spans = 0;
    for (const SiftSampleMemory& one : descriptions) {
      floats += one.samples.capacity();
      spans += one.spans.capacity();
    }
    return floats * sizeof(float) + spans * sizeof(algo::SiftSpan);
  }
};

// A histogram of directions, not yet smoothed, to be made from a Gaussian image.
struct SiftDirectionTask {
  const float* image = nullptr;
  ptrdiff_t pitch = 0;
  algo::SiftOrientationWindow window;
  float histogram[algo::kSiftDirections] = {};
};

// A descriptor to be made from a Gaussian image of that size.
struct SiftDescribeTask {
  const float* image = nullptr;
  ptrdiff_t pitch = 0;
  int width_px = 0;
  int height_px = 0;
  algo::SiftPatch patch;
  uint8_t* descriptor = nullptr;  // kSiftDescriptorBytes
  algo::SiftNorm norm = algo::SiftNorm::kL2;
};

struct SiftKernels {
  // Fills `image`: the doubled or plain grey image, blurred. With `bands` only rows that it gets.
  void (*first_image)(const ImageView& grey, bool doubled, const SiftBlur& blur, float* image,
                      ptrdiff_t pitch, SiftBands* bands, SiftScratch* scratch);
  // Fills an image of that size with every other pixel of another.
  void (*halve)(const float* from, ptrdiff_t from_pitch, int width_px, int height_px, float* to,
                ptrdiff_t to_pitch);
  // Fills the images from 1 on and appends the extrema, in any order: those of all bands when all
  // threads have returned.
  void (*octave)(const SiftOctaveTask& task, SiftScratch* scratch,
                 std::vector<SiftCandidate>* candidates);
  // algo::RefineSiftExtremum().
  bool (*refine)(const algo::SiftOctaveView& octave, const algo::SiftThresholds& thresholds,
                 algo::SiftExtremum* extremum);
  // Fills the histograms of `count` tasks.
  void (*directions)(SiftDirectionTask* tasks, int count, SiftScratch* scratch);
  // Fills `count` descriptors.
  void (*describe)(const SiftDescribeTask* tasks, int count, SiftScratch* scratch);
};

// The plain loops.
const SiftKernels& ReferenceSiftKernels();

// Their twins compiled for a target.
const SiftKernels& SiftKernelsFor(const KernelTarget& target);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_SIFT_KERNELS_H_
