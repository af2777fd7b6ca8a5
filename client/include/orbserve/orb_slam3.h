// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Extractor with the members that a frame of ORB-SLAM3 uses. An orbserve server computes the
// features (preset "orb-slam3"): keypoints, descriptors and their order are those of ORB-SLAM3.
//
//   using ORBextractor = orbserve::client::OrbSlam3Extractor;
//
// Header only. It needs OpenCV's core and imgproc, without which the client library is built.

#ifndef ORBSERVE_ORB_SLAM3_H_
#define ORBSERVE_ORB_SLAM3_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orbserve/client.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::client {

// Two objects may be called from two threads at the same time, one object from one thread.
class OrbSlam3Extractor {
 public:
  // The first five parameters are nFeatures, scaleFactor, nLevels, iniThFAST and minThFAST of
  // ORB-SLAM3. `client` must outlive the extractor. `keeps_levels`: calls fill `mvImagePyramid`,
  // which only rectified stereo reads.
  OrbSlam3Extractor(int features, float scale_factor, int levels, int threshold, int threshold_low,
                    Client* client, bool keeps_levels = true)
      : client_(client), keeps_levels_(keeps_levels), factor_(scale_factor) {
    v1::Pipeline& pipeline = *request_.mutable_pipeline();
    pipeline.set_preset("orb-slam3");
    pipeline.mutable_pyramid()->set_scale_factor(scale_factor);
    pipeline.mutable_pyramid()->set_levels(static_cast<uint32_t>(std::max(levels, 0)));
    pipeline.mutable_select()->set_max_features(static_cast<uint32_t>(std::max(features, 0)));
    pipeline.mutable_detect()->set_fast_threshold(static_cast<uint32_t>(std::max(threshold, 0)));
    // A second threshold that is not below the first finds nothing more: 0 = off.
    pipeline.mutable_detect()->set_fast_threshold_low(
        static_cast<uint32_t>(threshold_low < threshold ? std::max(threshold_low, 0) : 0));
    float scale = 1.0f;
    for (int l = 0; l < levels; ++l) {
      if (l > 0) {
        scale = static_cast<float>(static_cast<double>(scale) * static_cast<double>(scale_factor));
      }
      scales_.push_back(scale);
      inverse_scales_.push_back(1.0f / scale);
      sigma_squares_.push_back(scale * scale);
      inverse_sigma_squares_.push_back(1.0f / sigma_squares_.back());
    }
  }

  // Features of an 8-bit grey image. `lapping`: first and last column of the lapping area; those in
  // it end the answer. Returns the number of features before them; -1, and nothing changes, for an
  // empty image. Rows of `descriptors` are 32 bytes; without features they are released. Throws
  // cv::Exception with the status of the call: for a mask, for sizes of which ORB-SLAM3 has no
  // answer, and where the server cannot be reached.
  int operator()(cv::InputArray image, cv::InputArray mask, std::vector<cv::KeyPoint>& keypoints,
                 cv::OutputArray descriptors, const std::vector<int>& lapping) {
    const cv::Mat grey = image.getMat();
    if (grey.empty()) return -1;
    CV_Assert(grey.type() == CV_8UC1);
    if (!mask.empty()) CV_Error(cv::Error::StsBadArg, "orb-slam3 takes no mask");
    v1::Frame& frame = *request_.mutable_frame();
    frame.set_format(v1::PIXEL_FORMAT_GRAY8);
    frame.set_width_px(static_cast<uint32_t>(grey.cols));
    frame.set_height_px(static_cast<uint32_t>(grey.rows));
    std::string& pixels = *frame.mutable_pixels();
    pixels.resize(grey.total());
    for (int y = 0; y < grey.rows; ++y) {
      std::memcpy(pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(grey.cols),
                  grey.ptr(y), static_cast<size_t>(grey.cols));
    }
    const int begin = lapping.empty() ? 0 : lapping[0];
    const int end = lapping.size() < 2 ? 0 : lapping[1];
    frame.mutable_parameters()->set_lapping_begin_px(ColumnOf(begin));
    frame.mutable_parameters()->set_lapping_end_px(ColumnOf(end));
    const absl::StatusOr<v1::ExtractResponse> response = client_->Extract(request_);
    if (!response.ok()) CV_Error(cv::Error::StsError, response.status().ToString());

    const v1::FeatureSet& features = response->features();
    keypoints.clear();
    int first_lapping = 0;
    for (int i = 0; i < features.x_size(); ++i) {
      keypoints.emplace_back(features.x(i), features.y(i), features.size(i), features.angle(i),
                             features.response(i), features.octave(i));
      const bool laps =
          features.x(i) >= static_cast<float>(begin) && features.x(i) <= static_cast<float>(end);
      if (!laps) ++first_lapping;
    }
    if (keypoints.empty()) {
      descriptors.release();
    } else {
      descriptors.create(features.x_size(), static_cast<int>(features.descriptor_bytes()), CV_8U);
      std::memcpy(descriptors.getMat().data, features.descriptors().data(),
                  features.descriptors().size());
    }
    if (keeps_levels_) MakeLevels(grey);
    return first_lapping;
  }

  // The factors of level l are scale[l], 1 / scale[l], scale[l]^2 and 1 / scale[l]^2.
  int GetLevels() const { return static_cast<int>(scales_.size()); }
  float GetScaleFactor() const { return factor_; }
  std::vector<float> GetScaleFactors() const { return scales_; }
  std::vector<float> GetInverseScaleFactors() const { return inverse_scales_; }
  std::vector<float> GetScaleSigmaSquares() const { return sigma_squares_; }
  std::vector<float> GetInverseScaleSigmaSquares() const { return inverse_sigma_squares_; }

  // Levels of the last call, unsmoothed and without a frame of mirrored pixels. cv::resize makes
  // the pixels that the features were found in. Its name is that which callers use.
  std::vector<cv::Mat> mvImagePyramid;  // NOLINT(readability-identifier-naming)

 private:
  // No feature is left of column 0, or as far right as the largest column of the wire.
  static uint32_t ColumnOf(int column) {
    return static_cast<uint32_t>(std::clamp(column, 0, 1'000'000));
  }

  void MakeLevels(const cv::Mat& grey) {
    mvImagePyramid.resize(scales_.size());
    for (size_t l = 0; l < scales_.size(); ++l) {
      if (l == 0) {
        mvImagePyramid[0] = grey.clone();  // the caller's pixels may change
        continue;
      }
      const auto side = [&](int pixels) {
        return static_cast<int>(std::nearbyint(static_cast<float>(pixels) * inverse_scales_[l]));
      };
      cv::Mat level;  // not the memory of the last call, which the caller may hold
      cv::resize(mvImagePyramid[l - 1], level, cv::Size(side(grey.cols), side(grey.rows)), 0, 0,
                 cv::INTER_LINEAR);
      mvImagePyramid[l] = std::move(level);
    }
  }

  Client* const client_;
  const bool keeps_levels_;
  const float factor_;
  v1::ExtractRequest request_;
  std::vector<float> scales_;
  std::vector<float> inverse_scales_;
  std::vector<float> sigma_squares_;
  std::vector<float> inverse_sigma_squares_;
};

}  // namespace orbserve::client

#endif  // ORBSERVE_ORB_SLAM3_H_
