// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Grey frames of a wanted size, made of photographs that the command line names.

#ifndef ORBSERVE_BENCH_PHOTOGRAPHS_H_
#define ORBSERVE_BENCH_PHOTOGRAPHS_H_

#include <opencv2/core.hpp>
#include <string>
#include <vector>

namespace orbserve::bench {

// The photographs as 8-bit grey images. Prints to stderr and leaves out what cannot be read.
std::vector<cv::Mat> LoadGrey(const std::vector<std::string>& files);

// Each photograph scaled by one factor until it just covers the size (area-averaging when it
// shrinks), then its middle.
std::vector<cv::Mat> FramesOf(const std::vector<cv::Mat>& photographs, cv::Size size);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PHOTOGRAPHS_H_
