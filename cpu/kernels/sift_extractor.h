// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT of one frame on one thread: the features of cv::SIFT of OpenCV 4.6.0 on a processor with
// AVX2 and FMA, in its order.

#ifndef ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_
#define ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/kernels/kernel_target.h"
#include "cpu/kernels/sift_kernels.h"
#include "features/algo/sift_order.h"
#include "features/image_view.h"
#include "features/options.h"

namespace orbserve::cpu {

// Features in level-0 pixels; `octave` is packed as OpenCV's KeyPoint::octave.
struct SiftFeatures {
  std::vector<algo::SiftFeature> keypoints;
  std::vector<uint8_t> descriptors;  // kSiftDescriptorBytes each
};

// Memory and tables for frames of one size. One frame at a time.
class SiftExtractor {
 public:
  // `width_px`, `height_px` in [1, 8192]; `options` are valid.
  SiftExtractor(int width_px, int height_px, const SiftOptions& options,
                const SiftKernels& kernels);

  // Replaces `features` with those of a frame of that size. Where `mask` is not null, features at
  // its zeros are left out after the cut to max_features.
  void Extract(const ImageView& grey, const ImageView* mask, SiftFeatures* features);

  // Bytes of the images.
  size_t image_bytes() const { return sizeof(float) * images_.size(); }

 private:
  struct Octave {
    int width_px = 0;
    int height_px = 0;
    ptrdiff_t pitch = 0;
    size_t offset = 0;  // of the images of its layers, which are kept
  };

  // The image `image` of an octave. Those that no feature lies in share their memory with the
  // other octaves.
  float* Image(const Octave& octave, int image);
  SiftOctaveTask TaskOf(const Octave& octave);
  void FindFeatures(int octave, SiftFeatures* features);
  void Describe(SiftFeatures* features);

  SiftOptions options_;
  const SiftKernels& kernels_;
  std::vector<Octave> octaves_;
  std::vector<float> images_;
  SiftBlur first_blur_;
  SiftBlur blurs_[algo::kSiftMaxLayers + algo::kSiftExtraImages];
  std::vector<SiftCandidate> candidates_;
  std::vector<SiftDescribeTask> tasks_;
  SiftScratch scratch_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_SIFT_EXTRACTOR_H_
