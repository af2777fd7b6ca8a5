// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/photographs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

namespace orbserve::bench {

std::vector<cv::Mat> LoadGrey(const std::vector<std::string>& files) {
  std::vector<cv::Mat> photographs;
  for (const std::string& file : files) {
    cv::Mat grey = cv::imread(file, cv::IMREAD_GRAYSCALE);
    if (grey.empty()) {
      std::fprintf(stderr, "cannot read %s as an image\n", file.c_str());
      continue;
    }
    photographs.push_back(std::move(grey));
  }
  return photographs;
}

std::vector<cv::Mat> FramesOf(const std::vector<cv::Mat>& photographs, cv::Size size) {
  std::vector<cv::Mat> frames;
  for (const cv::Mat& photograph : photographs) {
    const double factor = std::max(static_cast<double>(size.width) / photograph.cols,
                                   static_cast<double>(size.height) / photograph.rows);
    const cv::Size covering(
        std::max(size.width, static_cast<int>(std::lround(photograph.cols * factor))),
        std::max(size.height, static_cast<int>(std::lround(photograph.rows * factor))));
    cv::Mat scaled;
    cv::resize(photograph, scaled, covering, 0, 0, factor < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
    const cv::Rect middle((covering.width - size.width) / 2, (covering.height - size.height) / 2,
                          size.width, size.height);
    frames.push_back(scaled(middle).clone());
  }
  return frames;
}

}  // namespace orbserve::bench
