// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_KERNELS_CORNER_RESPONSES_H_
#define ORBSERVE_CPU_KERNELS_CORNER_RESPONSES_H_

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/kernels/sad_score.h"
#include "cpu/steps/detect/harris.h"
#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/image_view.h"
#include "features/options.h"

namespace orbserve::cpu {

// The responses of FAST corners by the score of a pipeline. Immutable.
class CornerResponses {
 public:
  CornerResponses(const PipelineOptions& options, const KernelTarget& target);

  // Pixels that a corner keeps to the border of its level.
  int reach_px() const {
    return score_ == Score::kHarris ? algo::kHarrisRadiusPx : algo::kFastRadiusPx;
  }

  // Writes the responses of `count` corners found at `threshold_grey`.
  void Of(const ImageView& image, const Corner* corners, int count, int threshold_grey,
          float* responses) const;

  // Computes the responses of `count` corners and drops the corners that are none by their
  // response: with suppress.compare SCORE those of responses <= 0. The rest keeps its order; its
  // number is returned.
  int Keep(const ImageView& image, Corner* corners, int count, int threshold_grey,
           float* responses) const;

 private:
  const Score score_;
  const int arc_length_;
  const bool drops_edges_;
  const HarrisKernel harris_;
  const SadArcKernel sad_arc_;
  const SadCircleKernel sad_circle_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_CORNER_RESPONSES_H_
