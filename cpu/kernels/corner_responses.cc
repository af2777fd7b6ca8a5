// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/corner_responses.h"

namespace orbserve::cpu {

CornerResponses::CornerResponses(const PipelineOptions& options, const KernelTarget& target)
    : score_(options.detect.score),
      arc_length_(options.detect.fast_arc_length),
      drops_edges_(score_ == Score::kHarris && options.suppress.compare == Compare::kScore),
      harris_(DenseHarrisKernelFor(target)),
      sad_arc_(SadArcKernelFor(target)),
      sad_circle_(SadCircleKernelFor(target)) {}

void CornerResponses::Of(const ImageView& image, const Corner* corners, int count,
                         int threshold_grey, float* responses) const {
  switch (score_) {
    case Score::kFast:
      for (int i = 0; i < count; ++i) responses[i] = corners[i].score;
      return;
    case Score::kHarris:
      return harris_(image, corners, count, responses);
    case Score::kSadCircle:
      return sad_circle_(image, corners, count, responses);
    case Score::kSadArc:
      return sad_arc_(image, corners, count, arc_length_, threshold_grey, responses);
  }
}

int CornerResponses::Keep(const ImageView& image, Corner* corners, int count, int threshold_grey,
                          float* responses) const {
  Of(image, corners, count, threshold_grey, responses);
  if (!drops_edges_) return count;
  int kept = 0;
  for (int i = 0; i < count; ++i) {  // without a branch: half of them are edges
    const float response = responses[i];
    corners[kept] = corners[i];
    responses[kept] = response;
    kept += response > 0.0f ? 1 : 0;
  }
  return kept;
}

}  // namespace orbserve::cpu
