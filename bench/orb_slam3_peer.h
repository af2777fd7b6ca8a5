// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The method of the preset `orb-slam3` from OpenCV's primitives: cv::resize, cv::FAST once or twice
// for each zone, cv::GaussianBlur, cv::fastAtan2; tree and descriptors are plain C++.

#ifndef ORBSERVE_BENCH_ORB_SLAM3_PEER_H_
#define ORBSERVE_BENCH_ORB_SLAM3_PEER_H_

#include <cstdint>
#include <opencv2/core.hpp>
#include <vector>

#include "features/options.h"

namespace orbserve::bench {

class OrbSlam3Peer {
 public:
  OrbSlam3Peer(const PipelineOptions& pipeline, const FrameParameters& parameters);

  // Keypoints and descriptors of an 8-bit grey frame, without a lapping area.
  void Extract(const cv::Mat& frame, std::vector<cv::KeyPoint>* keypoints,
               cv::Mat* descriptors) const;

 private:
  std::vector<float> scales_;
  std::vector<int32_t> quotas_;
  int threshold_;
  int threshold_low_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_ORB_SLAM3_PEER_H_
