// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Ground truth of a recorded sequence: the camera that took its frames and where it stood at each.

#ifndef ORBSERVE_BENCH_GROUND_TRUTH_H_
#define ORBSERVE_BENCH_GROUND_TRUTH_H_

#include <opencv2/core.hpp>
#include <opencv2/core/affine.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace orbserve::bench {

class GroundTruth {
 public:
  // Reads calibration and poses of a sequence from `folder`, in one of three layouts:
  //   groundtruth_body.csv, cam0.yaml  EuRoC: poses of the body; T_BS places the camera on it
  //   groundtruth.txt, calib.txt       TUM RGB-D: poses of the camera; two lines of calibration
  //   with
  //                                    fx fy cx cy and k1 k2 p1 p2 k3
  //   poses.txt, calib.txt             KITTI odometry: one pose a frame; P0 of rectified frames
  // The name of a frame's file is its time (EuRoC: nanoseconds, TUM: seconds) or its number
  // (KITTI). The pose at a time is interpolated between the two around it: its place on a line, its
  // rotation on a great circle. An error names the file or frame that does not fit.
  static absl::StatusOr<GroundTruth> Read(const std::string& folder,
                                          const std::vector<std::string>& frames);

  // Returns how far the camera moved between two frames, in metres.
  double Baseline(size_t from, size_t to) const;

  // Returns the distance of each pair of places from the epipolar geometry of two frames, in pixels
  // without distortion: the larger one of two distances, of the place in `to` from the epipolar
  // line of the place in `from` and the other way round.
  std::vector<float> OffEpipolar(size_t from, const std::vector<cv::Point2f>& from_places,
                                 size_t to, const std::vector<cv::Point2f>& to_places) const;

 private:
  GroundTruth() = default;

  cv::Matx33d camera_;
  std::vector<double> distortion_;   // of OpenCV's order; empty when rectified
  std::vector<cv::Affine3d> poses_;  // of each frame: camera to world
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_GROUND_TRUTH_H_
