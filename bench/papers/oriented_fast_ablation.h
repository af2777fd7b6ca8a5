// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Paper 1 kernel by kernel: each step of its ablation beside the one before it.

#ifndef ORBSERVE_BENCH_PAPERS_ORIENTED_FAST_ABLATION_H_
#define ORBSERVE_BENCH_PAPERS_ORIENTED_FAST_ABLATION_H_

#include <vector>

#include "absl/status/status.h"
#include "bench/frame_latency.h"
#include "bench/papers/ablation.h"

namespace orbserve::bench {

// Measures FAST alone and FAST with Harris responses, at 1 and 4 levels of 2.0, on the images and
// on the five ring patterns; detection as OpenCV's CUDA module does it; energy of a frame of the
// last image. Every variant's answers are compared with the host's before it is timed.
absl::Status RunOrientedFastAblation(const std::vector<GreyImage>& images, AblationRun& results);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PAPERS_ORIENTED_FAST_ABLATION_H_
