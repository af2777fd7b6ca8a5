// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The CPU backend with keypoints that the caller gives.

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_makers.h"
#include "tests/support/match_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleMatch;
using ::orbserve::testing::RunFrame;
using ::orbserve::testing::RunMatches;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::HasSubstr;

GivenKeypoints OneKeypoint(float x, float y, float angle_deg, int octave) {
  return {{x}, {y}, {31.0f}, {angle_deg}, {0.5f}, {octave}};
}

absl::StatusOr<std::shared_ptr<const Features>> DescribeGiven(
    FeatureBackend& backend, const TestImage& image, const GivenKeypoints& given,
    const PipelineOptions& pipeline = {}) {
  return RunFrame(
      backend, pipeline,
      {.image = image.view(), .given_keypoints = std::make_shared<const GivenKeypoints>(given)});
}

// Rows `order` of `features` as keypoints to be described.
GivenKeypoints KeypointsOf(const Features& features, const std::vector<size_t>& order) {
  GivenKeypoints given;
  for (const size_t i : order) {
    given.x.push_back(features.x[i]);
    given.y.push_back(features.y[i]);
    given.size.push_back(features.size[i]);
    given.angle_deg.push_back(features.angle_deg[i]);
    given.response.push_back(features.response[i]);
    given.octave.push_back(features.octave[i]);
  }
  return given;
}

// The presets that describe, each with a descriptor of its own.
class GivenKeypointsOfPresetTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Presets, GivenKeypointsOfPresetTest,
                         ::testing::Values("orb", "bfrost", "orb-32"), [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(GivenKeypointsOfPresetTest, DetectedOnesGetTheSameDescriptorsInTheCallersOrder) {
  const auto backend = Backend();
  const Preset& preset = **FindPreset(GetParam());
  const TestImage image = SceneImage(400, 300, 15);
  const auto detected = Compute(*backend, image, preset.pipeline, preset.frame);
  ASSERT_GT(detected->count(), 100u);
  std::vector<size_t> order(detected->count());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(20263);
  std::shuffle(order.begin(), order.end(), random);
  const auto described =
      *DescribeGiven(*backend, image, KeypointsOf(*detected, order), preset.pipeline);
  ASSERT_EQ(described->count(), order.size());
  ASSERT_EQ(described->descriptor_bytes, detected->descriptor_bytes);
  const auto bytes = static_cast<ptrdiff_t>(detected->descriptor_bytes);
  for (size_t row = 0; row < order.size(); ++row) {
    EXPECT_EQ(described->source_index[row], row);
    EXPECT_EQ(described->x[row], detected->x[order[row]]);
    const auto expected =
        detected->descriptors.begin() + bytes * static_cast<ptrdiff_t>(order[row]);
    EXPECT_TRUE(std::equal(expected, expected + bytes,
                           described->descriptors.begin() + bytes * static_cast<ptrdiff_t>(row)))
        << "row " << row;
  }
}

TEST_P(GivenKeypointsOfPresetTest, MatchInAWindow) {
  const Preset& preset = **FindPreset(GetParam());
  const TestImage image = SceneImage(400, 300, 15);
  const auto detected = Compute(*Backend(), image, preset.pipeline, preset.frame);
  // Every second one, 10 pixels to the right.
  std::vector<size_t> order;
  for (size_t i = 0; i < detected->count(); i += 2) order.push_back(i);
  GivenKeypoints given = KeypointsOf(*detected, order);
  for (float& x : given.x) x += 10.0f;
  MatchOptions options = preset.match;
  options.cross_check = true;
  options.window_px = 3.0f;
  options.offset_x_px = -10.0f;
  for (const auto& backend : AllBackends()) {
    const auto described = *DescribeGiven(*backend, image, given, preset.pipeline);
    ASSERT_GT(described->count(), 40u);
    const Matches expected = OracleMatch(*described, *detected, options, {3.0f, -10.0f, 0.0f});
    EXPECT_GT(expected.count(), described->count() / 2);
    const MatchBatchAnswer answer = RunMatches(
        *backend, {{*backend->ImportState(described), *backend->ImportState(detected), options}});
    ASSERT_TRUE(answer.pairs[0].status.ok()) << answer.pairs[0].status;
    EXPECT_EQ(answer.pairs[0].matches.query_index, expected.query_index);
    EXPECT_EQ(answer.pairs[0].matches.train_index, expected.train_index);
    EXPECT_EQ(answer.pairs[0].matches.distance, expected.distance);
  }
}

TEST(GivenKeypointsTest, AllVariantsAgreeNearEveryBorderOfEveryLevel) {
  const TestImage image = SceneImage(231, 187, 16);
  std::mt19937 random(20264);
  GivenKeypoints given;
  for (int i = 0; i < 600; ++i) {
    given.x.push_back(static_cast<float>(random() % 2310) / 10.0f);
    given.y.push_back(static_cast<float>(random() % 1870) / 10.0f);
    given.size.push_back(1.0f);
    given.angle_deg.push_back(i % 9 == 0 ? -1.0f : static_cast<float>(random() % 36000) / 100.0f);
    given.response.push_back(static_cast<float>(i));
    given.octave.push_back(static_cast<int32_t>(random() % 8));
  }
  const auto backends = AllBackends();
  const auto expected = *DescribeGiven(*backends[0], image, given);
  EXPECT_GT(expected->count(), 200u);
  EXPECT_LT(expected->count(), 600u);
  for (size_t b = 1; b < backends.size(); ++b) {
    EXPECT_EQ(FirstDifference(*expected, **DescribeGiven(*backends[b], image, given)), "")
        << backends[b]->devices()[0].details;
  }
}

TEST(GivenKeypointsTest, ThoseWithinTheBorderAreLeftOut) {
  const auto backend = Backend();
  const TestImage image = SceneImage(100, 100, 17);
  const float kNaN = std::numeric_limits<float>::quiet_NaN();
  const float kInfinity = std::numeric_limits<float>::infinity();
  // 30.5 rounds to 30, 30.6 and 31 are inside; the last column inside is 68.
  const GivenKeypoints given = {{30.5f, 30.6f, 68.4f, 68.6f, kNaN, 50, kInfinity, -1e30f},
                                {50, 50, 50, 50, 50, kNaN, 50, 50},
                                {1, 1, 1, 1, 1, 1, 1, 1},
                                {0, 0, 0, 0, 0, 0, 0, 0},
                                {1, 2, 3, 4, 5, 6, 7, 8},
                                {0, 0, 0, 0, 0, 0, 0, 0}};
  const auto features = *DescribeGiven(*backend, image, given);
  EXPECT_THAT(features->source_index, ::testing::ElementsAre(1u, 2u));
  EXPECT_THAT(features->response, ::testing::ElementsAre(2.0f, 3.0f));
}

TEST(GivenKeypointsTest, AMaskChangesNothing) {
  const auto backend = Backend();
  const TestImage image = SceneImage(300, 200, 15);
  const std::vector<uint8_t> none(300 * 200);
  // Octave 2 lies on a level that is made.
  const auto given = std::make_shared<const GivenKeypoints>(OneKeypoint(150, 100, 30, 2));
  const auto plain = RunFrame(*backend, {}, {.image = image.view(), .given_keypoints = given});
  const auto masked = RunFrame(
      *backend, {},
      {.image = image.view(), .mask = {none.data(), 300, 200, 300}, .given_keypoints = given});
  ASSERT_TRUE(plain.ok() && masked.ok()) << masked.status();
  ASSERT_EQ((*plain)->count(), 1u);
  EXPECT_EQ(FirstDifference(**plain, **masked), "");
}

TEST(GivenKeypointsTest, MinusOneIsUsedAsMinusOneDegree) {
  const auto backend = Backend();
  const TestImage image = NoiseImage(100, 100, 18);
  const auto minus = *DescribeGiven(*backend, image, OneKeypoint(50, 50, -1.0f, 0));
  const auto turned = *DescribeGiven(*backend, image, OneKeypoint(50, 50, 359.0f, 0));
  EXPECT_EQ(minus->descriptors, turned->descriptors);
  EXPECT_EQ(minus->angle_deg[0], -1.0f);
}

TEST(GivenKeypointsTest, ALevelThatDoesNotExistIsRefused) {
  const auto backend = Backend();
  const TestImage image = SceneImage(100, 100, 19);
  for (const int octave : {-1, 8, 1000}) {
    const auto features = DescribeGiven(*backend, image, OneKeypoint(50, 50, 0, octave));
    ASSERT_FALSE(features.ok());
    EXPECT_EQ(ReasonOf(features.status()), ErrorReason::kBadOptions);
    EXPECT_THAT(std::string(features.status().message()), HasSubstr("octave of given keypoint 0"));
  }
}

TEST(GivenKeypointsTest, BadAnglesAndUnequalColumnsAreRefused) {
  const auto backend = Backend();
  const TestImage image = SceneImage(100, 100, 19);
  for (const float angle : {std::numeric_limits<float>::quiet_NaN(), 721.0f, -721.0f}) {
    EXPECT_EQ(ReasonOf(DescribeGiven(*backend, image, OneKeypoint(50, 50, angle, 0)).status()),
              ErrorReason::kBadOptions);
  }
  GivenKeypoints unequal = OneKeypoint(50, 50, 0, 0);
  unequal.size.push_back(1.0f);
  EXPECT_EQ(ReasonOf(DescribeGiven(*backend, image, unequal).status()), ErrorReason::kBadRequest);
}

TEST(GivenKeypointsTest, NoneGiveNone) {
  EXPECT_EQ((*DescribeGiven(*Backend(), SceneImage(100, 100, 19), {}))->count(), 0u);
}

}  // namespace
}  // namespace orbserve::cpu
