// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Settings at which a corner map gives a wanted number of corners, as experiments ask for.

#ifndef ORBSERVE_BENCH_QUALITY_LEVEL_H_
#define ORBSERVE_BENCH_QUALITY_LEVEL_H_

#include <cstddef>
#include <opencv2/core.hpp>

#include "features/options.h"

namespace orbserve::bench {

// Corners of a frame, all of them, after `max_passes` passes of the minimum distance; 0 = to the
// end.
size_t CountCorners(const cv::Mat& frame, PipelineOptions pipeline, float quality_level,
                    int max_passes);

// The quality level at which about `wanted` corners come out. A lower level gives no fewer corners
// but for the odd one, so that halving an interval finds it.
float QualityLevelFor(const cv::Mat& frame, const PipelineOptions& pipeline, size_t wanted);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_QUALITY_LEVEL_H_
