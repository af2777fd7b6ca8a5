// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/grey_rows.h"

#include <hwy/targets.h>

#include <cstdint>
#include <random>
#include <vector>

#include "features/algo/grey.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

constexpr uint32_t kSeed = 20240611;

// Every Highway target of this processor, one after the other.
class GreyRowsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, GreyRowsTest, ::testing::ValuesIn(Targets()),
                         [](const ::testing::TestParamInfo<int64_t>& target) {
                           return std::string(hwy::TargetName(target.param));
                         });

TEST(GreyTest, WorkedExamples) {
  // By hand: 9798 * 255 + 16384 = 2514874, / 32768 = 76.7; and so on.
  EXPECT_EQ(GreyFromRgb(255, 0, 0), 76);
  EXPECT_EQ(GreyFromRgb(0, 255, 0), 150);
  EXPECT_EQ(GreyFromRgb(0, 0, 255), 29);
  EXPECT_EQ(GreyFromRgb(255, 255, 255), 255);
  EXPECT_EQ(GreyFromRgb(10, 20, 30), 18);  // (97980 + 384700 + 112050 + 16384) / 32768 = 18.65
}

TEST(GreyTest, GreyPixelsKeepTheirLevel) {
  for (int level = 0; level < 256; ++level) {
    const auto v = static_cast<uint8_t>(level);
    EXPECT_EQ(GreyFromRgb(v, v, v), v);
  }
}

TEST_P(GreyRowsTest, AllColoursEqualTheFormula) {
  std::vector<uint8_t> rgb(3 << 16);
  std::vector<uint8_t> grey(1 << 16);
  for (int red = 0; red < 256; ++red) {
    for (int i = 0; i < 1 << 16; ++i) {
      rgb[3 * i] = static_cast<uint8_t>(red);
      rgb[3 * i + 1] = static_cast<uint8_t>(i >> 8);
      rgb[3 * i + 2] = static_cast<uint8_t>(i);
    }
    GreyRowFromRgb(rgb.data(), 1 << 16, grey.data());
    for (int i = 0; i < 1 << 16; ++i) {
      ASSERT_EQ(grey[i], GreyFromRgb(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]))
          << "red " << red << " green " << (i >> 8) << " blue " << (i & 255);
    }
  }
}

// Source and destination end exactly where the row ends (heap blocks, so that a sanitizer sees a
// byte too much), and start at odd addresses.
TEST_P(GreyRowsTest, EveryWidthWritesItsPixelsAndNothingElse) {
  std::mt19937 random(kSeed);
  for (int width = 1; width <= 300; ++width) {
    std::vector<uint8_t> source(static_cast<size_t>(4 * width));
    for (uint8_t& byte : source) byte = static_cast<uint8_t>(random());
    const auto check = [&](const char* what, int bytes, auto convert, auto expected) {
      const std::vector<uint8_t> row(source.begin(), source.begin() + bytes * width);
      std::vector<uint8_t> grey(static_cast<size_t>(width) + 2, 0xA5);
      convert(row.data(), width, grey.data() + 1);
      for (int i = 0; i < width; ++i) {
        ASSERT_EQ(grey[i + 1], expected(&row[bytes * i])) << what << " width " << width << " " << i;
      }
      ASSERT_EQ(grey.front(), 0xA5) << what << " width " << width;
      ASSERT_EQ(grey.back(), 0xA5) << what << " width " << width;
    };
    check("rgb", 3, GreyRowFromRgb, [](const uint8_t* p) { return GreyFromRgb(p[0], p[1], p[2]); });
    check("bgr", 3, GreyRowFromBgr, [](const uint8_t* p) { return GreyFromRgb(p[2], p[1], p[0]); });
    check("bgra", 4, GreyRowFromBgra,
          [](const uint8_t* p) { return GreyFromRgb(p[2], p[1], p[0]); });
    check("yuyv", 2, GreyRowFromYuyv, [](const uint8_t* p) { return p[0]; });
  }
}

}  // namespace
}  // namespace orbserve
