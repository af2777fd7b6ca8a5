// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The extractor with the members of ORB-SLAM3's, against a real server: published features, levels,
// and a caller that matches a rectified pair as a stereo frame does.

#include "orbserve/orb_slam3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/server_fixture.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"
#include "tests/support/orb_slam3_oracle.h"
#include "tests/support/orb_slam3_values.h"
#include "tests/support/reference_lines.h"

namespace orbserve {
namespace {

using ::orbserve::client::OrbSlam3Extractor;
using ::orbserve::testing::TestImage;
using ::testing::HasSubstr;

cv::Mat MatOf(const TestImage& image) {
  cv::Mat mat(image.height_px(), image.width_px(), CV_8U);
  for (int y = 0; y < mat.rows; ++y) {
    for (int x = 0; x < mat.cols; ++x) mat.at<uint8_t>(y, x) = image.At(x, y);
  }
  return mat;
}

struct Answer {
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
  int first_lapping = 0;
};

Answer AnswerOf(OrbSlam3Extractor& extract, const cv::Mat& image, std::vector<int> lapping) {
  Answer answer;
  answer.first_lapping = extract(image, cv::Mat(), answer.keypoints, answer.descriptors, lapping);
  return answer;
}

// 56 bytes a feature, as the values are published.
std::string RecordsOf(const Answer& answer) {
  std::string records;
  for (int i = 0; i < static_cast<int>(answer.keypoints.size()); ++i) {
    const cv::KeyPoint& keypoint = answer.keypoints[static_cast<size_t>(i)];
    for (const float value :
         {keypoint.pt.x, keypoint.pt.y, keypoint.size, keypoint.angle, keypoint.response}) {
      records.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    const int32_t octave = keypoint.octave;
    records.append(reinterpret_cast<const char*>(&octave), sizeof(octave));
    records.append(answer.descriptors.ptr<char>(i), 32);
  }
  return records;
}

std::string Crc(const std::string& bytes) { return absl::StrFormat("%08x", testing::Crc32(bytes)); }

// A stereo frame of a rectified pair, as ORB-SLAM3 fills it: what it asks its extractors for, and
// how it searches the right keypoint of each left one.
class StereoFrame {
 public:
  StereoFrame(const cv::Mat& left, const cv::Mat& right, OrbSlam3Extractor* left_extractor,
              OrbSlam3Extractor* right_extractor)
      : left_extractor_(*left_extractor), right_extractor_(*right_extractor) {
    const std::vector<int> whole = {0, 0};
    left_extractor_(left, cv::Mat(), left_, left_descriptors_, whole);
    right_extractor_(right, cv::Mat(), right_, right_descriptors_, whole);
    scales_ = left_extractor_.GetScaleFactors();
    inverse_scales_ = left_extractor_.GetInverseScaleFactors();
  }

  // Columns between each left keypoint and its right one; below 0 without one.
  std::vector<float> Disparities(float most) const {
    std::vector<std::vector<int>> rows(static_cast<size_t>(left_extractor_.mvImagePyramid[0].rows));
    for (int i = 0; i < static_cast<int>(right_.size()); ++i) {
      const cv::KeyPoint& keypoint = right_[static_cast<size_t>(i)];
      const float reach = 2.0f * scales_[static_cast<size_t>(keypoint.octave)];
      const int end = static_cast<int>(std::ceil(keypoint.pt.y + reach));
      for (int y = static_cast<int>(std::floor(keypoint.pt.y - reach)); y <= end; ++y) {
        rows.at(static_cast<size_t>(y)).push_back(i);
      }
    }
    std::vector<float> disparities;
    for (int i = 0; i < static_cast<int>(left_.size()); ++i) {
      const cv::KeyPoint& keypoint = left_[static_cast<size_t>(i)];
      int best = -1;
      double best_distance = 75;
      for (const int candidate : rows.at(static_cast<size_t>(keypoint.pt.y))) {
        const cv::KeyPoint& other = right_[static_cast<size_t>(candidate)];
        if (std::abs(other.octave - keypoint.octave) > 1 || other.pt.x > keypoint.pt.x ||
            other.pt.x < keypoint.pt.x - most) {
          continue;
        }
        const double distance =
            cv::norm(left_descriptors_.row(i), right_descriptors_.row(candidate), cv::NORM_HAMMING);
        if (distance < best_distance) {
          best = candidate;
          best_distance = distance;
        }
      }
      disparities.push_back(best < 0 ? -1.0f
                                     : Refined(keypoint, right_[static_cast<size_t>(best)]));
    }
    return disparities;
  }

 private:
  // Compares patches of the level; below 0 where the best shift is at an end.
  float Refined(const cv::KeyPoint& left, const cv::KeyPoint& right) const {
    const auto l = static_cast<size_t>(left.octave);
    const cv::Mat& left_level = left_extractor_.mvImagePyramid[l];
    const cv::Mat& right_level = right_extractor_.mvImagePyramid[l];
    const auto at_level = [&](float value) {
      return static_cast<int>(std::round(value * inverse_scales_[l]));
    };
    const cv::Rect patch(at_level(left.pt.x) - 5, at_level(left.pt.y) - 5, 11, 11);
    double sums[11];
    for (int shift = -5; shift <= 5; ++shift) {
      const cv::Rect other(at_level(right.pt.x) + shift - 5, patch.y, 11, 11);
      sums[shift + 5] = cv::norm(left_level(patch), right_level(other), cv::NORM_L1);
    }
    const auto best = static_cast<int>(std::min_element(sums, sums + 11) - sums);
    if (best == 0 || best == 10) return -1.0f;
    const double bend = sums[best - 1] + sums[best + 1] - 2 * sums[best];
    const double part = bend > 0 ? (sums[best - 1] - sums[best + 1]) / (2 * bend) : 0;
    return left.pt.x - scales_[l] * static_cast<float>(at_level(right.pt.x) + best - 5 + part);
  }

  OrbSlam3Extractor& left_extractor_;
  OrbSlam3Extractor& right_extractor_;
  std::vector<cv::KeyPoint> left_;
  std::vector<cv::KeyPoint> right_;
  cv::Mat left_descriptors_;
  cv::Mat right_descriptors_;
  std::vector<float> scales_;
  std::vector<float> inverse_scales_;
};

class OrbSlam3ExtractorTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    auto client = client::Client::Connect(NewChannel(), {});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  std::unique_ptr<client::Client> client_;
};

TEST_F(OrbSlam3ExtractorTest, GivesThePublishedFeatures) {
  int compared = 0;
  for (const testing::Slam3Value& value : testing::Slam3Values()) {
    const auto image = testing::Slam3Image(value, ORBSERVE_TEST_DATA_DIR);
    if (!image.has_value() || (*value.records == '\0' && *value.lines != '\0')) continue;
    const testing::Slam3Settings& of = value.settings;
    // A second threshold above the first is the same as none.
    OrbSlam3Extractor extract(of.max_features, of.scale_factor, of.levels, of.threshold,
                              of.threshold_low == 0 ? 20 : of.threshold_low, client_.get(),
                              /*keeps_levels=*/false);
    const std::vector<int> lapping = {of.lapping_begin, of.lapping_end};
    if (*value.lines == '\0') {
      EXPECT_THROW(AnswerOf(extract, MatOf(*image), lapping), cv::Exception) << NameOf(value);
      continue;
    }
    const Answer answer = AnswerOf(extract, MatOf(*image), lapping);
    EXPECT_EQ(Crc(RecordsOf(answer)), value.records) << NameOf(value);
    EXPECT_EQ(answer.first_lapping, value.first_lapping) << NameOf(value);
    EXPECT_EQ(answer.descriptors.rows, static_cast<int>(answer.keypoints.size()));
    EXPECT_TRUE(extract.mvImagePyramid.empty());
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST_F(OrbSlam3ExtractorTest, HasTheScalesAndThePixelsOfItsLevels) {
  const TestImage image = testing::SceneImage(419, 301, 4);
  OrbSlam3Extractor extract(700, 1.3f, 5, 20, 7, client_.get());
  AnswerOf(extract, MatOf(image), {0, 0});
  testing::OracleOptions options;
  options.max_features = 700;
  options.scale_factor = 1.3f;
  options.levels = 5;
  options.threshold = 20;
  options.threshold_low = 7;
  const testing::Slam3Answer want = testing::Slam3Extract(testing::PlaneOf(image.view()), options);
  ASSERT_EQ(want.levels.size(), 5u);
  ASSERT_EQ(extract.mvImagePyramid.size(), 5u);
  EXPECT_EQ(extract.GetLevels(), 5);
  EXPECT_EQ(extract.GetScaleFactor(), 1.3f);
  for (size_t l = 0; l < 5; ++l) {
    const float scale = want.levels[l].scale;
    EXPECT_EQ(extract.GetScaleFactors()[l], scale);
    EXPECT_EQ(extract.GetInverseScaleFactors()[l], 1.0f / scale);
    EXPECT_EQ(extract.GetScaleSigmaSquares()[l], scale * scale);
    EXPECT_EQ(extract.GetInverseScaleSigmaSquares()[l], 1.0f / (scale * scale));
    const testing::GreyPlane& pixels = want.levels[l].pixels;
    const cv::Mat& level = extract.mvImagePyramid[l];
    ASSERT_EQ(level.size(), cv::Size(pixels.width, pixels.height));
    for (int y = 0; y < level.rows; ++y) {
      for (int x = 0; x < level.cols; ++x) {
        ASSERT_EQ(level.at<uint8_t>(y, x), pixels.At(x, y)) << l << ": " << x << ", " << y;
      }
    }
  }
}

TEST_F(OrbSlam3ExtractorTest, ServesAStereoFrame) {
  constexpr int kShift = 14;
  const cv::Mat wide = MatOf(testing::SceneImage(660, 480, 11));
  const cv::Mat left = wide(cv::Rect(0, 0, 640, 480));  // windows of a larger image
  const cv::Mat right =
      wide(cv::Rect(kShift, 0, 640, 480));  // all points lie 14 columns further left
  OrbSlam3Extractor left_extractor(1000, 1.2f, 8, 20, 7, client_.get());
  OrbSlam3Extractor right_extractor(1000, 1.2f, 8, 20, 7, client_.get());
  const StereoFrame frame(left, right, &left_extractor, &right_extractor);
  int matched = 0;
  int right_ones = 0;
  for (const float disparity : frame.Disparities(100)) {
    if (disparity < 0) continue;
    ++matched;
    if (std::abs(disparity - kShift) < 1.5f) ++right_ones;
  }
  EXPECT_GT(matched, 500);
  EXPECT_GT(right_ones, matched * 9 / 10);
}

TEST_F(OrbSlam3ExtractorTest, LeavesEverythingAsItIsForAnEmptyImageAndRefusesMasks) {
  const cv::Mat image = MatOf(testing::SceneImage(320, 240, 3));
  OrbSlam3Extractor extract(500, 1.2f, 4, 20, 7, client_.get());
  Answer answer = AnswerOf(extract, image, {0, 1000});
  const size_t count = answer.keypoints.size();
  EXPECT_GT(count, 100u);
  EXPECT_EQ(answer.first_lapping, 0);
  EXPECT_EQ(extract(cv::Mat(), cv::Mat(), answer.keypoints, answer.descriptors, {0, 0}), -1);
  EXPECT_EQ(answer.keypoints.size(), count);
  EXPECT_EQ(answer.descriptors.rows, static_cast<int>(count));
  const cv::Mat mask = cv::Mat::ones(image.size(), CV_8U);
  EXPECT_THROW(extract(image, mask, answer.keypoints, answer.descriptors, {0, 0}), cv::Exception);

  const cv::Mat flat(240, 320, CV_8U, cv::Scalar(77));
  EXPECT_EQ(extract(flat, cv::Mat(), answer.keypoints, answer.descriptors, {0, 0}), 0);
  EXPECT_TRUE(answer.keypoints.empty());
  EXPECT_TRUE(answer.descriptors.empty());
  try {
    AnswerOf(extract, cv::Mat(1200, 300, CV_8U, cv::Scalar(0)), {0, 0});
    ADD_FAILURE() << "a level of 300x1200 has no answer";
  } catch (const cv::Exception& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("twice as high as wide"));
  }
}

}  // namespace
}  // namespace orbserve
