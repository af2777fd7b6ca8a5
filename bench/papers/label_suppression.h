// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The suppression of L. Teixeira, W. Celes & M. Gattass, "Accelerated corner-detector algorithms",
// BMVC 2008, section 3, as the paper writes it: the baseline that our minimum distance is compared
// with. One thread, no SIMD.

#ifndef ORBSERVE_BENCH_PAPERS_LABEL_SUPPRESSION_H_
#define ORBSERVE_BENCH_PAPERS_LABEL_SUPPRESSION_H_

#include <opencv2/core.hpp>
#include <vector>

namespace orbserve::bench {

struct LabelOptions {
  int distance_px = 5;  // f of the paper's equation 2, from 2; a window of 2f - 1 pixels
  bool cornerness_compression = false;  // section 3.3
  bool label_compression = false;       // section 3.4
};

// Corners of a map (CV_32F; 0 = no corner), row by row. Every pass labels every pixel of the map at
// most once, from the labels of the pass before; passes end when no pixel is undefined.
std::vector<cv::Point> SuppressByLabels(const cv::Mat& map, const LabelOptions& options);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PAPERS_LABEL_SUPPRESSION_H_
