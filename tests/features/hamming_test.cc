// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/hamming.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

TEST(HammingDistanceTest, EqualDescriptorsAreAtDistanceZero) {
  std::array<uint8_t, 32> a;
  a.fill(0x5A);
  EXPECT_EQ(HammingDistance(a.data(), a.data(), 32), 0);
  EXPECT_EQ(HammingDistance(a.data(), a.data(), 4), 0);
}

TEST(HammingDistanceTest, OppositeDescriptorsDifferInEveryBit) {
  std::array<uint8_t, 32> a;
  std::array<uint8_t, 32> b;
  a.fill(0x35);
  b.fill(0xCA);
  EXPECT_EQ(HammingDistance(a.data(), b.data(), 32), 256);
  EXPECT_EQ(HammingDistance(a.data(), b.data(), 4), 32);
}

TEST(HammingDistanceTest, EverySingleBitCountsOnce) {
  const std::array<uint8_t, 32> zero = {};
  for (int bit = 0; bit < 256; ++bit) {
    std::array<uint8_t, 32> one = {};
    one[static_cast<size_t>(bit / 8)] = static_cast<uint8_t>(1 << (bit % 8));
    EXPECT_EQ(HammingDistance(zero.data(), one.data(), 32), 1) << "bit " << bit;
    EXPECT_EQ(HammingDistance(zero.data(), one.data(), 4), bit < 32 ? 1 : 0) << "bit " << bit;
  }
}

TEST(HammingDistanceTest, NeedsNoAlignment) {
  std::mt19937 random(7);
  std::array<uint8_t, 72> bytes;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t offset = 0; offset < 8; ++offset) {
    int expected = 0;
    for (size_t i = 0; i < 32; ++i) {
      const auto difference = static_cast<unsigned>(bytes[offset + i] ^ bytes[offset + 33 + i]);
      expected += static_cast<int>(std::bitset<8>(difference).count());
    }
    EXPECT_EQ(HammingDistance(&bytes[offset], &bytes[offset + 33], 32), expected);
  }
}

TEST(PassesRatioTestTest, EqualityDoesNotPass) {
  EXPECT_FALSE(PassesRatioTest(40, 50, 0.8f));  // 0.8f * 50 rounds to 40
  EXPECT_TRUE(PassesRatioTest(39, 50, 0.8f));
  EXPECT_FALSE(PassesRatioTest(50, 50, 1.0f));
  EXPECT_TRUE(PassesRatioTest(49, 50, 1.0f));
}

TEST(PassesRatioTestTest, TwoPerfectMatchesAreAmbiguous) {
  EXPECT_FALSE(PassesRatioTest(0, 0, 0.8f));
  EXPECT_TRUE(PassesRatioTest(0, 1, 0.8f));
}

TEST(PassesRatioTestTest, ComparesInSinglePrecision) {
  // 0.6f is 0.600000024...: in double 0.6f * 5 is above 3; the f32 product is exactly 3.
  EXPECT_GT(static_cast<double>(0.6f) * 5.0, 3.0);
  EXPECT_FALSE(PassesRatioTest(3, 5, 0.6f));
}

}  // namespace
}  // namespace orbserve
