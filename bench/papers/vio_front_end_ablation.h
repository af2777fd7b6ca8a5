// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Paper 2 kernel by kernel: each step of its ablation beside the one before it.

#ifndef ORBSERVE_BENCH_PAPERS_VIO_FRONT_END_ABLATION_H_
#define ORBSERVE_BENCH_PAPERS_VIO_FRONT_END_ABLATION_H_

#include <vector>

#include "absl/status/status.h"
#include "bench/frame_latency.h"
#include "bench/papers/ablation.h"

namespace orbserve::bench {

// Measures suppression at four windows, and segment tests by tables of bytes and of bits. The
// variants' answers are compared with each other before they are timed.
absl::Status RunVioFrontEndAblation(const std::vector<GreyImage>& images, AblationRun& results);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PAPERS_VIO_FRONT_END_ABLATION_H_
