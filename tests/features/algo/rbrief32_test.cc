// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/rbrief32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NamedImage;
using ::orbserve::testing::OracleAnswer;
using ::orbserve::testing::OracleFeature;
using ::orbserve::testing::TestImage;

std::vector<uint8_t> BytesOf(uint32_t bits) {
  std::vector<uint8_t> bytes;
  for (int k = 0; k < kRBrief32Bytes; ++k) bytes.push_back(RBrief32Byte(bits, k));
  return bytes;
}

TEST(RBrief32PatternTest, StaysInItsDiscAndInReachAtEveryAngle) {
  for (const RBriefPair& pair : kRBrief32Pattern) {
    EXPECT_LE(pair.x1 * pair.x1 + pair.y1 * pair.y1, 20);
    EXPECT_LE(pair.x2 * pair.x2 + pair.y2 * pair.y2, 20);
    EXPECT_FALSE(pair.x1 == pair.x2 && pair.y1 == pair.y2);
    for (int step = 0; step < 3600; ++step) {
      const SinCos turn = SinCosOf(RadiansOfDegrees(static_cast<float>(step) / 10));
      for (const RBriefOffset& point :
           {TurnPoint(pair.x1, pair.y1, turn), TurnPoint(pair.x2, pair.y2, turn)}) {
        ASSERT_LE(Max(std::abs(point.x), std::abs(point.y)), kRBrief32RadiusPx);
      }
    }
  }
}

TEST(PatchMomentsTest, FlatPatchesHaveNone) {
  TestImage image(21, 21);
  for (int y = 0; y < 21; ++y) {
    for (int x = 0; x < 21; ++x) image.At(x, y) = 255;
  }
  const Moments moments = PatchMoments(image.view().Row(10) + 10, image.view().pitch_bytes);
  EXPECT_EQ(moments.x, 0);
  EXPECT_EQ(moments.y, 0);
}

TEST(PatchMomentsTest, ExtremesAndOrientation) {
  TestImage image(21, 21);
  for (int y = 0; y < 21; ++y) {
    for (int x = 11; x < 21; ++x) image.At(x, y) = 255;  // right of the middle
  }
  const Moments moments = PatchMoments(image.view().Row(10) + 10, image.view().pitch_bytes);
  EXPECT_EQ(moments.x, 63750);
  EXPECT_EQ(moments.y, 0);
  EXPECT_EQ(CentroidAngleDegrees(moments), 0.0f);
}

TEST(PatchMomentsTest, ReadsThePatchAndNothingElse) {
  TestImage image(21, 21);
  int inside = 0;
  for (int y = 0; y < 21; ++y) {
    for (int x = 0; x < 21; ++x) {
      image.At(x, y) = 1;
      const Moments moments = PatchMoments(image.view().Row(10) + 10, image.view().pitch_bytes);
      const bool counts = moments.x != 0 || moments.y != 0;  // weights are odd, never 0
      EXPECT_EQ(counts, x >= 6 && x <= 15 && y >= 5 && y <= 14) << x << "," << y;
      inside += counts ? 1 : 0;
      image.At(x, y) = 0;
    }
  }
  EXPECT_EQ(inside, kPatchSidePx * kPatchSidePx);
}

TEST(DescribeRBrief32Test, BitSaysThatTheSecondPointIsBrighter) {
  TestImage image(21, 21);
  for (int y = 0; y < 21; ++y) {
    for (int x = 0; x < 21; ++x) image.At(x, y) = static_cast<uint8_t>(10 * y);
  }
  const uint32_t bits =
      DescribeRBrief32(image.view().Row(10) + 10, image.view().pitch_bytes, 0.0f, kRBrief32Pattern);
  for (int i = 0; i < kRBrief32Pairs; ++i) {
    EXPECT_EQ(((bits >> i) & 1) != 0, kRBrief32Pattern[i].y1 < kRBrief32Pattern[i].y2) << i;
  }
}

// No reference value depends on how an angle is rounded: any angle, at any place.
TEST(DescribeRBrief32Test, EveryAngleGivesTheOraclesBits) {
  constexpr uint32_t kSeed = 31;
  const TestImage image = testing::NoiseImage(64, 48, kSeed);
  const GreyPlane plane = testing::PlaneOf(image.view());
  std::mt19937 random(kSeed);
  for (int n = 0; n < 50000; ++n) {
    const int x = 10 + static_cast<int>(random() % 44);
    const int y = 10 + static_cast<int>(random() % 28);
    const uint8_t* const centre = image.view().Row(y) + x;
    // Half of the angles are multiples of 1/8 degree, where points fall on halves of pixels.
    const float angle = n % 2 == 0 ? static_cast<float>(random() % 2880) / 8.0f
                                   : static_cast<float>(random() % 360000) / 1000.0f;
    ASSERT_EQ(BytesOf(DescribeRBrief32(centre, image.view().pitch_bytes, angle, kRBrief32Pattern)),
              testing::DescribeRBrief32(plane, x, y, angle))
        << angle << " seed " << kSeed;
    ASSERT_EQ(CentroidAngleDegrees(PatchMoments(centre, image.view().pitch_bytes)),
              testing::PatchAngle(plane, x, y))
        << "seed " << kSeed;
  }
}

int CompareKeypoints(const NamedImage& named) {
  const TestImage& image = named.image;
  const OracleAnswer answer =
      testing::OracleExtract(testing::PlaneOf(image.view()), nullptr, testing::OracleOrb32());
  for (const OracleFeature& feature : answer.features) {
    const uint8_t* const centre = image.view().Row(feature.y) + feature.x;
    const float angle = CentroidAngleDegrees(PatchMoments(centre, image.view().pitch_bytes));
    EXPECT_EQ(angle, feature.angle_deg) << named.name;
    EXPECT_EQ(BytesOf(DescribeRBrief32(centre, image.view().pitch_bytes, angle, kRBrief32Pattern)),
              feature.descriptor)
        << named.name << " " << feature.x << "," << feature.y;
    if (::testing::Test::HasFailure()) break;
  }
  return static_cast<int>(answer.features.size());
}

TEST(RBrief32Test, KeypointsOfSyntheticImagesAreTheOracles) {
  int compared = 0;
  for (const NamedImage& named : testing::SyntheticImages()) compared += CompareKeypoints(named);
  EXPECT_GT(compared, 400);
}

TEST(RBrief32Test, KeypointsOfRealImagesAreTheOracles) {
  const std::vector<NamedImage> images = testing::RealImages(ORBSERVE_TEST_DATA_DIR);
  if (images.empty()) {
    GTEST_SKIP() << "no reference image; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
  }
  for (const NamedImage& named : images) EXPECT_EQ(CompareKeypoints(named), 128) << named.name;
}

}  // namespace
}  // namespace orbserve::algo
