// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// OpenCV's own ORB in the words of features/.

#ifndef ORBSERVE_TESTS_CPU_OPENCV_ORB_H_
#define ORBSERVE_TESTS_CPU_OPENCV_ORB_H_

#include <cstddef>
#include <cstring>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>

#include "features/image_view.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve::testing {

// These options differ between the comparisons; the rest is at cv::ORB's defaults, which are ours.
struct OrbSettings {
  int max_features = 500;
  int levels = 8;
  float scale_factor = 1.2f;
  Score score = Score::kHarris;
};

inline cv::Ptr<cv::ORB> OrbOf(const OrbSettings& settings) {
  return cv::ORB::create(
      settings.max_features, settings.scale_factor, settings.levels, 31, 0, 2,
      settings.score == Score::kHarris ? cv::ORB::HARRIS_SCORE : cv::ORB::FAST_SCORE, 31, 20);
}

inline PipelineOptions PipelineOf(const OrbSettings& settings) {
  PipelineOptions pipeline;
  pipeline.pyramid.levels = settings.levels;
  pipeline.pyramid.scale_factor = settings.scale_factor;
  pipeline.detect.score = settings.score;
  return pipeline;
}

// Both borrow the pixels.
inline ImageView ViewOf(const cv::Mat& mat) {
  return {mat.data, mat.cols, mat.rows, static_cast<ptrdiff_t>(mat.step)};
}
inline cv::Mat MatOf(const ImageView& view) {
  return cv::Mat(view.height_px, view.width_px, CV_8UC1, const_cast<uint8_t*>(view.data),
                 static_cast<size_t>(view.pitch_bytes));
}

// Rows in OpenCV's order.
inline Features FeaturesOf(const std::vector<cv::KeyPoint>& keypoints, const cv::Mat& descriptors) {
  Features features;
  features.descriptor_bytes = 32;
  features.Resize(keypoints.size());
  for (size_t i = 0; i < keypoints.size(); ++i) {
    features.x[i] = keypoints[i].pt.x;
    features.y[i] = keypoints[i].pt.y;
    features.size[i] = keypoints[i].size;
    features.angle_deg[i] = keypoints[i].angle;
    features.response[i] = keypoints[i].response;
    features.octave[i] = keypoints[i].octave;
    std::memcpy(features.descriptors.data() + 32 * i, descriptors.ptr(static_cast<int>(i)), 32);
  }
  return features;
}

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CPU_OPENCV_ORB_H_
