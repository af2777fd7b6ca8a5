// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/corner_responses.h"

namespace orbserve::cpu {

ResponseKernel ResponseKernelFor(Score score, const KernelTarget& target) {
  return algo::WithScore(
      score, [&target](auto of) { return ResponseKernelOf<decltype(of)::kScore>(target); });
}

CornerResponses::CornerResponses(const PipelineOptions& options, const KernelTarget& target)
    : facts_(algo::FactsOf(options.detect.score)),
      arc_length_(options.detect.fast_arc_length),
      drops_edges_(facts_.source == algo::ScoreSource::kPatch &&
                   options.suppress.compare == Compare::kScore),
      respond_(ResponseKernelFor(options.detect.score, target)) {}

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
