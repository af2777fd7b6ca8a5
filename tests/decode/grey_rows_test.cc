// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/grey_rows.h"

#include <hwy/targets.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
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

TEST(GreyTest, WindowsOf16Bits) {
  EXPECT_EQ(GreyFrom16Bits(0, {}), 0);
  EXPECT_EQ(GreyFrom16Bits(128, {}), 0);  // 0.498
  EXPECT_EQ(GreyFrom16Bits(129, {}), 1);  // 0.502
  EXPECT_EQ(GreyFrom16Bits(65535, {}), 255);
  EXPECT_EQ(GreyFrom16Bits(99, {100, 610}), 0);
  EXPECT_EQ(GreyFrom16Bits(100, {100, 610}), 0);
  EXPECT_EQ(GreyFrom16Bits(101, {100, 610}), 1);  // 0.5 is rounded up
  EXPECT_EQ(GreyFrom16Bits(102, {100, 610}), 1);
  EXPECT_EQ(GreyFrom16Bits(608, {100, 610}), 254);
  EXPECT_EQ(GreyFrom16Bits(609, {100, 610}), 255);
  EXPECT_EQ(GreyFrom16Bits(611, {100, 610}), 255);
  EXPECT_EQ(GreyFrom16Bits(7, {7, 8}), 0);
  EXPECT_EQ(GreyFrom16Bits(8, {7, 8}), 255);
  for (uint32_t level = 0; level < 256; ++level) {  // 8 bits in 16
    EXPECT_EQ(GreyFrom16Bits(static_cast<uint16_t>(257 * level), {}), level);
    EXPECT_EQ(GreyFrom16Bits(static_cast<uint16_t>(level), {0, 255}), level);
  }
}

TEST(GreyTest, MosaicsByHand) {
  // R G
  // G B
  const uint8_t top[] = {100, 40};
  const uint8_t bottom[] = {60, 200};
  // At the red pixel, left and right are the 40, above and below the 60, all corners the 200.
  EXPECT_EQ(GreyFromBayer({bottom, top, bottom}, {.green_first = false, .red = true}, 0, 2),
            GreyFromRgb(100, 50, 200));
  EXPECT_EQ(GreyFromBayer({bottom, top, bottom}, {.green_first = false, .red = true}, 1, 2),
            GreyFromRgb(100, 40, 200));
  EXPECT_EQ(GreyFromBayer({top, bottom, top}, {.green_first = true, .red = false}, 0, 2),
            GreyFromRgb(100, 60, 200));
  EXPECT_EQ(GreyFromBayer({top, bottom, top}, {.green_first = true, .red = false}, 1, 2),
            GreyFromRgb(100, 50, 200));
  // In the middle of three rows: means of different samples, with their rounding.
  const uint8_t rows[3][3] = {{10, 1, 21}, {2, 0, 5}, {31, 7, 44}};
  EXPECT_EQ(GreyFromBayer({rows[0], rows[1], rows[2]}, {.green_first = true, .red = false}, 1, 3),
            GreyFromRgb(27, 4, 0));  // 26.5 and 3.75
  EXPECT_EQ(GreyFromBayer({rows[0], rows[1], rows[2]}, {.green_first = false, .red = true}, 1, 3),
            GreyFromRgb(4, 0, 4));  // 3.5 and 4
}

TEST(GreyTest, FiltersAlternateFromRowToRow) {
  const BayerFilters filters = {.green_first = false, .red = true};
  EXPECT_TRUE(filters.OfRow(1).green_first);
  EXPECT_FALSE(filters.OfRow(1).red);
  EXPECT_FALSE(filters.OfRow(2).green_first);
  EXPECT_TRUE(filters.OfRow(2).red);
}

TEST_P(GreyRowsTest, All16BitValuesEqualTheFormula) {
  std::vector<uint8_t> values(2 << 16);
  for (int value = 0; value < 1 << 16; ++value) {
    values[2 * value] = static_cast<uint8_t>(value);
    values[2 * value + 1] = static_cast<uint8_t>(value >> 8);
  }
  std::vector<uint8_t> grey(1 << 16);
  std::mt19937 random(kSeed);
  std::vector<GreyWindow> windows = {{}, {0, 1}, {65534, 65535}, {0, 255}, {0, 510}, {1, 65535}};
  while (windows.size() < 300) {
    // Widths of all sizes: narrow windows have most of the halves that are rounded up.
    const uint32_t range = 1 + (random() & 0xFFFF) % ((1u << (1 + random() % 16)) - 1);
    const uint32_t low = random() % (65536 - range);
    windows.push_back({static_cast<uint16_t>(low), static_cast<uint16_t>(low + range)});
  }
  for (const GreyWindow window : windows) {
    GreyRowFrom16Bits(values.data(), window, 1 << 16, grey.data());
    for (int value = 0; value < 1 << 16; ++value) {
      ASSERT_EQ(grey[value], GreyFrom16Bits(static_cast<uint16_t>(value), window))
          << value << " in " << window.low << " to " << window.high;
    }
  }
}

// The two rows next to a row may be the same one. Rows are heap blocks of their exact size.
TEST_P(GreyRowsTest, MosaicsOfEveryWidthEqualTheFormula) {
  std::mt19937 random(kSeed);
  for (int width = 2; width <= 300; ++width) {
    std::array<std::vector<uint8_t>, 3> rows;
    for (std::vector<uint8_t>& row : rows) {
      row.resize(static_cast<size_t>(width));
      // Extremes among random values.
      for (uint8_t& byte : row) {
        const uint32_t value = random() % 320;
        byte = static_cast<uint8_t>(value < 256 ? value : value % 2 * 255);
      }
    }
    const BayerRows bayer = {rows[0].data(), rows[1].data(),
                             rows[random() % 3 != 0 ? 2 : 0].data()};
    for (const bool green_first : {false, true}) {
      for (const bool red : {false, true}) {
        std::vector<uint8_t> grey(static_cast<size_t>(width) + 2, 0xA5);
        GreyRowFromBayer(bayer, {green_first, red}, width, grey.data() + 1);
        for (int x = 0; x < width; ++x) {
          ASSERT_EQ(grey[x + 1], GreyFromBayer(bayer, {green_first, red}, x, width))
              << "width " << width << " green first " << green_first << " red " << red << " " << x;
        }
        ASSERT_EQ(grey.front(), 0xA5) << width;
        ASSERT_EQ(grey.back(), 0xA5) << width;
      }
    }
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
    check("rgba", 4, GreyRowFromRgba,
          [](const uint8_t* p) { return GreyFromRgb(p[0], p[1], p[2]); });
    check("yuyv", 2, GreyRowFromYuyv, [](const uint8_t* p) { return p[0]; });
    check("uyvy", 2, GreyRowFromUyvy, [](const uint8_t* p) { return p[1]; });
    const GreyWindow window = {20'000, 50'000};
    check(
        "16 bits", 2,
        [&](const uint8_t* row, int pixels, uint8_t* grey) {
          GreyRowFrom16Bits(row, window, pixels, grey);
        },
        [&](const uint8_t* p) {
          return GreyFrom16Bits(static_cast<uint16_t>(p[0] | p[1] << 8), window);
        });
  }
}

}  // namespace
}  // namespace orbserve
