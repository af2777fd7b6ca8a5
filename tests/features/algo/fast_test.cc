// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/fast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/support/image_makers.h"
#include "tests/support/oracles.h"

namespace orbserve::algo {
namespace {

using Ring = uint8_t[kFastRingPixels];

// `bright` neighbouring pixels from `start` on are `grey`, the others `rest`.
void FillRing(Ring& ring, int start, int bright, uint8_t grey, uint8_t rest) {
  std::fill(ring, ring + kFastRingPixels, rest);
  for (int i = 0; i < bright; ++i) ring[(start + i) % kFastRingPixels] = grey;
}

TEST(FastResponseTest, NinePixelArcIsCornerWhereverItStarts) {
  for (int start = 0; start < kFastRingPixels; ++start) {
    Ring ring;
    FillRing(ring, start, 9, 150, 100);
    EXPECT_EQ(FastResponse(ring, 100, 9, 20), 49) << "start " << start;
  }
}

TEST(FastResponseTest, EightPixelArcIsNoCornerForArcLengthNine) {
  for (int start = 0; start < kFastRingPixels; ++start) {
    Ring ring;
    FillRing(ring, start, 8, 150, 100);
    EXPECT_EQ(FastResponse(ring, 100, 9, 20), 0) << "start " << start;
  }
}

TEST(FastResponseTest, TheThresholdIsStrict) {
  Ring ring;
  FillRing(ring, 3, 12, 120, 100);
  EXPECT_EQ(FastResponse(ring, 100, 9, 20), 0);   // 120 is not > 100 + 20
  EXPECT_EQ(FastResponse(ring, 100, 9, 19), 19);  // and is > 100 + 19
}

TEST(FastResponseTest, DarkArcsCountAsBrightOnesDo) {
  Ring ring;
  FillRing(ring, 14, 10, 10, 200);
  EXPECT_EQ(FastResponse(ring, 200, 10, 20), 189);
  EXPECT_EQ(FastResponse(ring, 200, 11, 20), 0);
}

TEST(FastResponseTest, ExtremesStayInRange) {
  Ring ring;
  FillRing(ring, 0, 16, 255, 255);
  EXPECT_EQ(FastScore(ring, 0, 9), 254);
  EXPECT_EQ(FastScore(ring, 255, 9), -1);
  FillRing(ring, 0, 16, 0, 0);
  EXPECT_EQ(FastScore(ring, 255, 12), 254);
}

TEST(FastScoreTest, IsTheLargestThresholdThatPassesForEveryArcLength) {
  std::mt19937 random(20261);
  for (int round = 0; round < 3000; ++round) {
    Ring ring;
    std::array<int, 16> values = {};
    // Few distinct levels, so that arcs of all lengths occur.
    for (int i = 0; i < kFastRingPixels; ++i) {
      ring[i] = static_cast<uint8_t>((random() % 4) * 40 + random() % 3);
      values[static_cast<size_t>(i)] = ring[i];
    }
    const int centre = static_cast<int>(random() % 160);
    for (int arc_length = 9; arc_length <= 12; ++arc_length) {
      const int expected = testing::OracleScore(values, centre, arc_length);
      const int actual = FastScore(ring, centre, arc_length);
      if (expected >= 0) {
        ASSERT_EQ(actual, expected) << "round " << round << " arc " << arc_length;
      } else {
        ASSERT_LT(actual, 0) << "round " << round << " arc " << arc_length;
      }
    }
  }
}

// All comparison bits, by looking for an arc at every start.
template <int kArcLength>
void ExpectArcsFound() {
  static uint32_t table[kFastBitTableWords];
  FillFastBitTable<kArcLength>(table);
  for (uint32_t bits = 0; bits < 1u << kFastRingPixels; ++bits) {
    bool expected = false;
    for (int start = 0; start < kFastRingPixels && !expected; ++start) {
      int length = 0;
      while (length < kArcLength && ((bits >> ((start + length) % kFastRingPixels)) & 1) != 0) {
        ++length;
      }
      expected = length == kArcLength;
    }
    ASSERT_EQ(HoldsArc<kArcLength>(bits), expected) << bits;
    ASSERT_EQ(((table[bits / 32] >> (bits % 32)) & 1) != 0, expected) << bits;
  }
}

TEST(HoldsArcTest, FindsAnArcAtEveryStartInEveryBitPattern) {
  ExpectArcsFound<9>();
  ExpectArcsFound<10>();
  ExpectArcsFound<11>();
  ExpectArcsFound<12>();
}

TEST(FastRingTest, FollowsTheCircleFromBelowTheCentreThroughTheRight) {
  const testing::TestImage image = testing::NoiseImage(16, 16, 7);
  Ring ring;
  LoadFastRing(image.view().Row(8) + 8, image.view().pitch_bytes, ring);
  const std::array<int, 16> expected = testing::OracleRing(image.view(), 8, 8);
  for (int i = 0; i < kFastRingPixels; ++i) {
    EXPECT_EQ(ring[i], expected[static_cast<size_t>(i)]) << "ring pixel " << i;
  }
}

}  // namespace
}  // namespace orbserve::algo
