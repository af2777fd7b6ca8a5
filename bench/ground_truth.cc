// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/ground_truth.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <opencv2/calib3d.hpp>
#include <opencv2/core/quaternion.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "features/errors.h"

namespace orbserve::bench {
namespace {

// Longest gap between two poses that are interpolated.
constexpr double kLongestGapS = 0.1;

struct Camera {
  cv::Matx33d matrix;
  std::vector<double> distortion;
};

// A rotation and a place at a time.
struct TimedPose {
  double time_s;
  cv::Quatd rotation;
  cv::Vec3d place;
};

cv::Matx33d CameraMatrix(const std::vector<double>& fx_fy_cx_cy) {
  return {fx_fy_cx_cy[0], 0, fx_fy_cx_cy[2], 0, fx_fy_cx_cy[1], fx_fy_cx_cy[3], 0, 0, 1};
}

// Numbers of each line, separated by spaces or commas. Leaves out empty lines, comments and `label`
// at the beginning of a line.
absl::StatusOr<std::vector<std::vector<double>>> ReadNumbers(const std::string& file,
                                                             size_t least_a_line,
                                                             absl::string_view label = "") {
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  std::vector<std::vector<double>> lines;
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    absl::string_view line = text;
    line = line.substr(0, line.find('#'));
    if (!absl::ConsumePrefix(&line, label)) continue;
    std::vector<double> values;
    for (const absl::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(" ,\t\r"), absl::SkipEmpty())) {
      double value = 0;
      if (!absl::SimpleAtod(word, &value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(file, ":", number, ": \"", word, "\" is no number"));
      }
      values.push_back(value);
    }
    if (values.empty()) continue;
    if (values.size() < least_a_line) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", values.size(),
                                                     " numbers; at least ", least_a_line,
                                                     " are expected"));
    }
    lines.push_back(std::move(values));
  }
  if (lines.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has no line of numbers"));
  }
  return lines;
}

// The time or number in a file's name.
absl::StatusOr<double> NameAsNumber(const std::string& frame) {
  double number = 0;
  const std::string stem = std::filesystem::path(frame).stem().string();
  if (!absl::SimpleAtod(stem, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(frame, ": the name of a frame must be its time or number"));
  }
  return number;
}

absl::StatusOr<cv::Affine3d> PoseAt(const std::vector<TimedPose>& poses, double time_s) {
  const auto after =
      std::lower_bound(poses.begin(), poses.end(), time_s,
                       [](const TimedPose& pose, double time) { return pose.time_s < time; });
  if (after != poses.end() && after->time_s == time_s) {
    return cv::Affine3d(after->rotation.toRotMat3x3(), after->place);
  }
  if (after == poses.begin() || after == poses.end() ||
      after->time_s - (after - 1)->time_s > kLongestGapS) {
    return absl::InvalidArgumentError(
        absl::StrCat("no two poses within ", kLongestGapS, " s of each other around its time"));
  }
  const TimedPose& before = *(after - 1);
  const double part = (time_s - before.time_s) / (after->time_s - before.time_s);
  const cv::Quatd rotation =
      cv::Quatd::slerp(before.rotation, after->rotation, part, cv::QUAT_ASSUME_UNIT);
  return cv::Affine3d(rotation.toRotMat3x3(cv::QUAT_ASSUME_UNIT),
                      before.place + part * (after->place - before.place));
}

absl::StatusOr<std::vector<cv::Affine3d>> PosesAt(std::vector<TimedPose> poses,
                                                  const std::vector<std::string>& frames,
                                                  double second) {
  std::sort(poses.begin(), poses.end(),
            [](const TimedPose& a, const TimedPose& b) { return a.time_s < b.time_s; });
  std::vector<cv::Affine3d> at;
  for (const std::string& frame : frames) {
    ORBSERVE_ASSIGN_OR_RETURN(const double time, NameAsNumber(frame));
    absl::StatusOr<cv::Affine3d> pose = PoseAt(poses, time / second);
    if (!pose.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(frame, ": ", pose.status().message()));
    }
    at.push_back(*pose);
  }
  return at;
}

absl::StatusOr<Camera> ReadEurocCamera(const std::string& file, cv::Affine3d* camera_on_body) {
  const cv::FileStorage yaml(file, cv::FileStorage::READ);
  if (!yaml.isOpened()) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  std::vector<double> intrinsics;
  std::vector<double> on_body;
  Camera camera;
  yaml["intrinsics"] >> intrinsics;
  yaml["distortion_coefficients"] >> camera.distortion;
  yaml["T_BS"]["data"] >> on_body;
  if (intrinsics.size() != 4 || camera.distortion.size() != 4 || on_body.size() != 16) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": 4 intrinsics, 4 distortion_coefficients and 16 values of T_BS are expected; got ",
        intrinsics.size(), ", ", camera.distortion.size(), " and ", on_body.size()));
  }
  camera.matrix = CameraMatrix(intrinsics);
  *camera_on_body = cv::Affine3d(cv::Matx44d(on_body.data()));
  return camera;
}

}  // namespace

absl::StatusOr<GroundTruth> GroundTruth::Read(const std::string& folder,
                                              const std::vector<std::string>& frames) {
  const auto file = [&folder](const char* name) { return folder + "/" + name; };
  GroundTruth truth;
  if (std::filesystem::exists(file("groundtruth_body.csv"))) {
    cv::Affine3d camera_on_body;
    ORBSERVE_ASSIGN_OR_RETURN(const Camera camera,
                              ReadEurocCamera(file("cam0.yaml"), &camera_on_body));
    truth.camera_ = camera.matrix;
    truth.distortion_ = camera.distortion;
    ORBSERVE_ASSIGN_OR_RETURN(const auto lines, ReadNumbers(file("groundtruth_body.csv"), 8));
    std::vector<TimedPose> poses;
    for (const std::vector<double>& v : lines) {
      poses.push_back(
          {v[0] / 1e9, cv::Quatd(v[4], v[5], v[6], v[7]).normalize(), {v[1], v[2], v[3]}});
    }
    ORBSERVE_ASSIGN_OR_RETURN(truth.poses_, PosesAt(std::move(poses), frames, 1e9));
    for (cv::Affine3d& pose : truth.poses_) pose = pose * camera_on_body;
  } else if (std::filesystem::exists(file("groundtruth.txt"))) {
    ORBSERVE_ASSIGN_OR_RETURN(const auto calibration, ReadNumbers(file("calib.txt"), 4));
    truth.camera_ = CameraMatrix(calibration[0]);
    if (calibration.size() > 1) truth.distortion_ = calibration[1];
    ORBSERVE_ASSIGN_OR_RETURN(const auto lines, ReadNumbers(file("groundtruth.txt"), 8));
    std::vector<TimedPose> poses;
    for (const std::vector<double>& v : lines) {
      poses.push_back({v[0], cv::Quatd(v[7], v[4], v[5], v[6]).normalize(), {v[1], v[2], v[3]}});
    }
    ORBSERVE_ASSIGN_OR_RETURN(truth.poses_, PosesAt(std::move(poses), frames, 1));
  } else {
    ORBSERVE_ASSIGN_OR_RETURN(const auto calibration, ReadNumbers(file("calib.txt"), 12, "P0:"));
    truth.camera_ =
        CameraMatrix({calibration[0][0], calibration[0][5], calibration[0][2], calibration[0][6]});
    ORBSERVE_ASSIGN_OR_RETURN(const auto lines, ReadNumbers(file("poses.txt"), 12));
    for (const std::string& frame : frames) {
      ORBSERVE_ASSIGN_OR_RETURN(const double number, NameAsNumber(frame));
      if (number < 0 || number >= static_cast<double>(lines.size())) {
        return absl::InvalidArgumentError(
            absl::StrCat(frame, ": ", file("poses.txt"), " has ", lines.size(), " poses"));
      }
      const std::vector<double>& v = lines[static_cast<size_t>(number)];
      truth.poses_.emplace_back(cv::Matx33d(v[0], v[1], v[2], v[4], v[5], v[6], v[8], v[9], v[10]),
                                cv::Vec3d(v[3], v[7], v[11]));
    }
  }
  return truth;
}

double GroundTruth::Baseline(size_t from, size_t to) const {
  return cv::norm(poses_[to].translation() - poses_[from].translation());
}

std::vector<float> GroundTruth::OffEpipolar(size_t from,
                                            const std::vector<cv::Point2f>& from_places, size_t to,
                                            const std::vector<cv::Point2f>& to_places) const {
  if (from_places.empty()) return {};
  const cv::Affine3d motion = poses_[to].inv() * poses_[from];
  const cv::Vec3d t = motion.translation();
  const cv::Matx33d across(0, -t[2], t[1], t[2], 0, -t[0], -t[1], t[0], 0);
  const cv::Matx33d inverse = camera_.inv();
  const cv::Matx33d fundamental = inverse.t() * across * motion.rotation() * inverse;
  std::vector<cv::Point2f> a;
  std::vector<cv::Point2f> b;
  cv::undistortPoints(from_places, a, camera_, distortion_, cv::noArray(), camera_);
  cv::undistortPoints(to_places, b, camera_, distortion_, cv::noArray(), camera_);
  std::vector<float> off;
  for (size_t i = 0; i < a.size(); ++i) {
    const cv::Vec3d p(static_cast<double>(a[i].x), static_cast<double>(a[i].y), 1);
    const cv::Vec3d q(static_cast<double>(b[i].x), static_cast<double>(b[i].y), 1);
    const cv::Vec3d line_of_p = fundamental * p;
    const cv::Vec3d line_of_q = fundamental.t() * q;
    const double shorter =
        std::min(std::hypot(line_of_p[0], line_of_p[1]), std::hypot(line_of_q[0], line_of_q[1]));
    off.push_back(static_cast<float>(std::abs(q.dot(line_of_p)) / shorter));
  }
  return off;
}

}  // namespace orbserve::bench
