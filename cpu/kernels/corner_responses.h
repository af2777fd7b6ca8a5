// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Responses of FAST corners by any score (features/algo/corner_score.h), for lists of corners.

#ifndef ORBSERVE_CPU_KERNELS_CORNER_RESPONSES_H_
#define ORBSERVE_CPU_KERNELS_CORNER_RESPONSES_H_

#include <cstdint>

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "features/algo/corner_score.h"
#include "features/image_view.h"
#include "features/options.h"

namespace orbserve::cpu {

// The test that found corners.
struct SegmentTest {
  int arc_length;      // 9..12
  int threshold_grey;  // 1..254
};

// Writes the responses of `count` corners, which keep the score's reach to the sides of the image.
using ResponseKernel = void (*)(const ImageView& image, const Corner* corners, int count,
                                const SegmentTest& test, float* responses);
template <Score kScore>
void ReferenceResponses(const ImageView& image, const Corner* corners, int count,
                        const SegmentTest& test, float* responses) {
  using S = algo::CornerScore<kScore>;
  for (int i = 0; i < count; ++i) {
    const uint8_t* const centre = image.Row(corners[i].y) + corners[i].x;
    if constexpr (S::kSource == algo::ScoreSource::kTest) {
      responses[i] = corners[i].score;
    } else if constexpr (S::kSource == algo::ScoreSource::kRing) {
      uint8_t ring[algo::kFastRingPixels];
      algo::LoadFastRing(centre, image.pitch_bytes, ring);
      responses[i] = static_cast<float>(
          algo::ScoreOfRing<S>(ring, *centre, test.arc_length, test.threshold_grey));
    } else {
      responses[i] = S::Of(centre, image.pitch_bytes);
    }
  }
}

// The kernel of a score: its twin in cpu/simd/, declared below, or the plain loop where it has
// none.
template <Score kScore>
ResponseKernel ResponseKernelOf(const KernelTarget& /*target*/) {
  return &ReferenceResponses<kScore>;
}
template <>
ResponseKernel ResponseKernelOf<Score::kHarris>(const KernelTarget& target);
template <>
ResponseKernel ResponseKernelOf<Score::kSadCircle>(const KernelTarget& target);
template <>
ResponseKernel ResponseKernelOf<Score::kSadArc>(const KernelTarget& target);

ResponseKernel ResponseKernelFor(Score score, const KernelTarget& target);

// The responses of FAST corners by the score of a pipeline. Immutable.
class CornerResponses {
 public:
  CornerResponses(const PipelineOptions& options, const KernelTarget& target);

  // Pixels that a corner keeps to the border of its level.
  int reach_px() const { return facts_.reach_px; }

  // Writes the responses of `count` corners found at `threshold_grey`.
  void Of(const ImageView& image, const Corner* corners, int count, int threshold_grey,
          float* responses) const {
    respond_(image, corners, count, {arc_length_, threshold_grey}, responses);
  }

  // Computes the responses of `count` corners and drops the corners that are none by their
  // response: with suppress.compare SCORE those of responses <= 0. The rest keeps its order; its
  // number is returned.
  int Keep(const ImageView& image, Corner* corners, int count, int threshold_grey,
           float* responses) const;

 private:
  const algo::ScoreFacts facts_;
  const int arc_length_;
  const bool drops_edges_;
  const ResponseKernel respond_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_CORNER_RESPONSES_H_
