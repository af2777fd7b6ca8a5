// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/bfrost.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "features/algo/arc_middle.h"
#include "features/algo/segment_test.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NamedImage;
using ::orbserve::testing::OracleAnswer;
using ::orbserve::testing::OracleFeature;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::TestImage;

using Ring = uint8_t[kFastRingPixels];

// First index and length of the longest cyclic run of ones.
std::pair<int, int> LongestRun(uint32_t bits) {
  if (bits == 0xffff) return {0, 16};
  std::pair<int, int> longest = {0, 0};
  for (int first = 0; first < 16; ++first) {
    int length = 0;
    while (((bits >> ((first + length) % 16)) & 1) != 0) ++length;
    if (length > longest.second) longest = {first, length};
  }
  return longest;
}

const std::vector<uint8_t>& ArcDirections() {
  static const std::vector<uint8_t> table = [] {
    std::vector<uint8_t> made(kArcDirectionEntries);
    FillArcDirections(made.data());
    return made;
  }();
  return table;
}

// The integral image of `image`, all entries raised by `offset`.
struct Integral {
  std::vector<uint32_t> entries;
  ptrdiff_t pitch;

  Integral(const TestImage& image, uint32_t offset)
      : entries(static_cast<size_t>(image.width_px() + 1) *
                static_cast<size_t>(image.height_px() + 1)),
        pitch(image.width_px() + 1) {
    for (int y = 0; y < image.height_px(); ++y) {
      uint32_t* const above = entries.data() + y * pitch;
      IntegralRow(image.view().Row(y), above, image.width_px(), above + pitch);
    }
    for (uint32_t& entry : entries) entry += offset;
  }
  const uint32_t* At(int x, int y) const { return entries.data() + y * pitch + x; }
};

TEST(SegmentTestTest, ShiftsAndTableFindEveryRun) {
  for (int arc_length = 9; arc_length <= 12; ++arc_length) {
    const std::array<uint32_t, kArcTableWords> table = MakeArcTable(arc_length);
    for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
      const auto [first, length] = LongestRun(bits);
      const bool is_corner = length >= arc_length;
      ASSERT_EQ(HasArc(bits, arc_length), is_corner) << bits;
      ASSERT_EQ(InArcTable(table.data(), bits), is_corner) << bits;
      uint32_t members = 0;
      for (int i = 0; is_corner && i < length; ++i) members |= 1u << ((first + i) % 16);
      ASSERT_EQ(ArcMembers(bits, arc_length), members) << bits;
    }
  }
}

TEST(SegmentTestTest, BitsAreStrictOnBothSides) {
  Ring ring = {};
  ring[0] = 120;
  ring[1] = 121;
  ring[2] = 80;
  ring[3] = 79;
  for (int i = 4; i < 16; ++i) ring[i] = 100;
  const SegmentBits bits = SegmentBitsOf(ring, 100, 20);
  EXPECT_EQ(bits.brighter, 1u << 1);
  EXPECT_EQ(bits.darker, 1u << 3);
}

TEST(SegmentTestTest, SearchFindsTheLargestThreshold) {
  constexpr uint32_t kSeed = 20;
  std::mt19937 random(kSeed);
  int corners = 0;
  for (int arc_length = 9; arc_length <= 12; ++arc_length) {
    const std::array<uint32_t, kArcTableWords> table = MakeArcTable(arc_length);
    for (int n = 0; n < 20000; ++n) {
      // Runs of one polarity are rare in noise: draw a level per half of the ring.
      const int base = static_cast<int>(random() % 256);
      const int spread = 1 + static_cast<int>(random() % 100);
      Ring ring;
      std::array<int, 16> wide;
      for (size_t i = 0; i < 16; ++i) {
        const int grey = base + static_cast<int>(random() % static_cast<uint32_t>(spread));
        ring[i] = static_cast<uint8_t>(Clamp(i < 12 ? grey : grey - 60, 0, 255));
        wide[i] = ring[i];
      }
      const int centre = static_cast<int>(random() % 256);
      const int expected = testing::LargestThreshold(wide, centre, arc_length);
      ASSERT_EQ(Max(FastScore(ring, centre, arc_length), -1), expected) << "seed " << kSeed;
      if (expected < 1) continue;
      ++corners;
      for (const int threshold : {1, (1 + expected) / 2, expected}) {
        ASSERT_EQ(LargestThresholdBySearch(ring, centre, threshold, table.data()), expected)
            << "seed " << kSeed;
      }
    }
  }
  EXPECT_GT(corners, 10000);
}

TEST(ArcMiddleTest, TableHasTheMiddleOfEveryRun) {
  for (uint32_t bits = 0; bits < kArcDirectionEntries; ++bits) {
    ASSERT_EQ(ArcDirections()[bits], testing::ArcSteps(bits)) << bits;
  }
}

TEST(ArcMiddleTest, DirectionsWorkedOutByHand) {
  EXPECT_EQ(ArcDirectionOf(0x01ff), 0);   // 0..8: middle 4, on +x
  EXPECT_EQ(ArcDirectionOf(0x03ff), 31);  // 0..9: half a step on, towards -y
  EXPECT_EQ(ArcDirectionOf(0xf01f), 8);   // 12..4: middle 0, on +y (90 degrees)
  EXPECT_EQ(ArcDirectionOf(0xffff), 0);
  EXPECT_EQ(ArcDirectionOf(0x00ff), kNoArcDirection);
  EXPECT_EQ(ArcDirectionAngle(31), 348.75f);
}

TEST(BFrostTest, SamplesAreThoseOfTheirFormula) {
  constexpr double kPi = 3.14159265358979323846;
  const std::array<BFrostSample, kBFrostSamples> samples = MakeBFrostSamples();
  int farthest = 0;
  for (int i = 0; i < kBFrostSamples; ++i) {
    const double radius = 4 << (i % 4);
    const double turn = 2 * kPi * (i / 4) / 16;
    const BFrostSample& sample = samples[static_cast<size_t>(i)];
    EXPECT_EQ(sample.x, std::nearbyint(radius * std::cos(turn))) << i;
    EXPECT_EQ(sample.y, std::nearbyint(radius * std::sin(turn))) << i;
    EXPECT_EQ(sample.half_side, static_cast<int>(kPi * radius / 8)) << i;
    EXPECT_EQ(BFrostArea(i % 4), (2 * sample.half_side + 1) * (2 * sample.half_side + 1));
    farthest = Max(farthest, Max<int>(sample.x, sample.y) + sample.half_side);
  }
  EXPECT_EQ(farthest, kBFrostRadiusPx);
}

TEST(BFrostTest, PairsAreDifferentAndNoSampleMeetsItself) {
  std::set<std::pair<int, int>> pairs;
  for (int i = 0; i < kBFrostSamples; ++i) {
    for (int j = 0; j < kBFrostTestsPerSample; ++j) {
      const int partner = BFrostPartner(i, j);
      EXPECT_NE(partner, i);
      pairs.insert({i, partner});
      EXPECT_EQ(partner % 4, j < 3 ? i % 4 : 3 - i % 4);
    }
  }
  EXPECT_EQ(pairs.size(), 256u);
}

TEST(BFrostTest, DirectionsOfAngles) {
  for (int d = 0; d < kArcDirections; ++d) {
    EXPECT_EQ(BFrostDirectionOf(ArcDirectionAngle(d)), d / 2) << d;
  }
  EXPECT_EQ(BFrostDirectionOf(-1.0f), 0);
  EXPECT_EQ(BFrostDirectionOf(11.250001f), 1);
  EXPECT_EQ(BFrostDirectionOf(348.75f), 15);
  EXPECT_EQ(BFrostDirectionOf(348.75003f), 0);
  EXPECT_EQ(BFrostDirectionOf(-720.0f), 0);
  EXPECT_EQ(BFrostDirectionOf(720.0f), 0);
  constexpr uint32_t kSeed = 21;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 100000; ++n) {
    const float angle = static_cast<float>(random() % 1440001) / 1000.0f - 720.0f;
    ASSERT_EQ(BFrostDirectionOf(angle), testing::TauOf(angle)) << angle << " seed " << kSeed;
  }
}

TEST(BFrostTest, IntegralImagesMayOverflow) {
  const TestImage image = testing::NoiseImage(89, 89, 22);
  const GreyPlane plane = testing::PlaneOf(image.view());
  for (const uint32_t offset : {0u, 0xffff0000u, 0xffffffffu}) {
    const Integral integral(image, offset);
    for (int tau = 0; tau < kBFrostDirections; ++tau) {
      std::vector<uint8_t> descriptor(kBFrostBytes);
      DescribeBFrost256(integral.At(44, 44), integral.pitch, tau, descriptor.data());
      EXPECT_EQ(descriptor, testing::DescribeBFrost(plane, 44, 44, tau)) << offset << " " << tau;
    }
  }
}

TEST(BFrostTest, LargestSumsAreExact) {
  TestImage image(89, 89);
  for (int y = 0; y < 89; ++y) {
    for (int x = 0; x < 89; ++x) image.At(x, y) = 255;
  }
  const Integral white(image, 0);
  EXPECT_EQ(BFrostSum(white.At(44, 44), white.pitch, BFrostSampleOf(3)), 625u * 255);
  std::vector<uint8_t> descriptor(kBFrostBytes);
  DescribeBFrost256(white.At(44, 44), white.pitch, 0, descriptor.data());
  EXPECT_EQ(descriptor, std::vector<uint8_t>(kBFrostBytes, 0));  // equal means set no bit
  // One grey level less in one pixel of the largest square must show against its smallest partner.
  image.At(44 + 32 + 12, 44) = 254;
  const Integral nearly_white(image, 0);
  DescribeBFrost256(nearly_white.At(44, 44), nearly_white.pitch, 0, descriptor.data());
  EXPECT_EQ(descriptor[1] & 0xf0, 0xf0);  // sample 3 is darker than its four partners
}

// Compares response, angle and descriptor of every keypoint that the oracle answers.
int CompareKeypoints(const NamedImage& named, const OracleOptions& options) {
  const TestImage& image = named.image;
  const GreyPlane plane = testing::PlaneOf(image.view());
  const OracleAnswer answer = testing::OracleExtract(plane, nullptr, options);
  const Integral integral(image, 0);
  const std::array<uint32_t, kArcTableWords> table = MakeArcTable(options.arc_length);
  for (const OracleFeature& feature : answer.features) {
    Ring ring;
    const uint8_t* const centre = image.view().Row(feature.y) + feature.x;
    LoadFastRing(centre, image.view().pitch_bytes, ring);
    const int score = LargestThresholdBySearch(ring, *centre, options.threshold, table.data());
    EXPECT_EQ(static_cast<float>(score), feature.response) << named.name;
    const int direction = ArcDirection(ring, *centre, score, ArcDirections().data());
    EXPECT_EQ(ArcDirectionAngle(direction), feature.angle_deg) << named.name;
    std::vector<uint8_t> descriptor(kBFrostBytes);
    DescribeBFrost256(integral.At(feature.x, feature.y), integral.pitch, direction / 2,
                      descriptor.data());
    EXPECT_EQ(descriptor, feature.descriptor) << named.name << " " << feature.x << "," << feature.y;
    if (::testing::Test::HasFailure()) break;
  }
  return static_cast<int>(answer.features.size());
}

TEST(BFrostTest, KeypointsOfSyntheticImagesAreTheOracles) {
  int compared = 0;
  for (const NamedImage& named : testing::SyntheticImages()) {
    for (int arc_length = 9; arc_length <= 12; ++arc_length) {
      OracleOptions options = testing::OracleBFrost();
      options.arc_length = arc_length;
      compared += CompareKeypoints(named, options);
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(BFrostTest, KeypointsOfRealImagesAreTheOracles) {
  const std::vector<NamedImage> images = testing::RealImages(ORBSERVE_TEST_DATA_DIR);
  if (images.empty()) {
    GTEST_SKIP() << "no reference image; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
  }
  for (const NamedImage& named : images) {
    EXPECT_EQ(CompareKeypoints(named, testing::OracleBFrost()), 500) << named.name;
  }
}

}  // namespace
}  // namespace orbserve::algo
