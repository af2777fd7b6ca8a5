// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Published values are answers of cv::xfeatures2d::TEBLID and BEBLID of OpenCV 4.8.1 and 5.1.0,
// which agree (BEBLID: 4.6.0, too).

#include "features/algo/teblid.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "tests/support/reference_lines.h"

namespace orbserve::algo {
namespace {

constexpr int kWidth = 200;
constexpr int kHeight = 160;

std::vector<uint8_t> BoxImage() {
  std::vector<uint8_t> image;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int value = ((3 * x * x + 5 * y * y + 7 * x * y) >> 6) + 2 * x;
      image.push_back(static_cast<uint8_t>(value));
    }
  }
  return image;
}

// Sums of everything above and left of a place, with `offset` added to each.
class BoxIntegral {
 public:
  explicit BoxIntegral(uint32_t offset = 0)
      : entries_(static_cast<size_t>((kWidth + 1) * (kHeight + 1)), offset) {
    const std::vector<uint8_t> image = BoxImage();
    for (int y = 0; y < kHeight; ++y) {
      uint32_t row = 0;
      for (int x = 0; x < kWidth; ++x) {
        row += image[static_cast<size_t>(y * kWidth + x)];
        entries_[Place(x + 1, y + 1)] = entries_[Place(x + 1, y)] + row;
      }
    }
  }
  uint32_t operator()(int x, int y) const { return entries_.at(Place(x, y)); }

 private:
  static size_t Place(int x, int y) { return static_cast<size_t>(y * (kWidth + 1) + x); }

  std::vector<uint32_t> entries_;
};

struct NamedTestSet {
  absl::string_view name;
  BoxTestSet set;
};
constexpr NamedTestSet kTestSets[] = {{"TEBLID-256", kTeblid256},
                                      {"TEBLID-512", kTeblid512},
                                      {"BEBLID-256", kBeblid256},
                                      {"BEBLID-512", kBeblid512}};

struct BoxKeypoint {
  float x;
  float y;
  float size_px;
  float angle_deg;
};

std::string Describe(const BoxIntegral& integral, const BoxKeypoint& keypoint,
                     const BoxTestSet& set) {
  const PatchPlace place =
      PlacePatch(keypoint.x, keypoint.y, keypoint.size_px, keypoint.angle_deg, kWidth, kHeight);
  std::string descriptor(static_cast<size_t>(set.bytes()), '\0');
  DescribeBoxes(integral, kWidth, kHeight, place, set.tests, set.count, set.thresholds,
                reinterpret_cast<uint8_t*>(descriptor.data()));
  return descriptor;
}

TEST(TeblidTest, EqualsThePublishedDescriptors) {
  struct Published {
    BoxKeypoint keypoint;
    absl::string_view teblid_256;
    absl::string_view beblid_256;
  };
  const Published published[] = {
      {{100, 80, 31, -1},
       "bb4c13d566e9d32ea6fb7d2720217b5bf43a3ea5daf7c28675da9b31a53d7ef9",
       "fdf7f41e55bef33e8a97541c1a435d06f5d0dbfbcadf4c73a8505b214e3754de"},
      {{99.6f, 80.4f, 37.2f, 123.456f},
       "edb8123f6f73c75c8be9d559fea4fbdbfa26dad70cc9f8ca9c662545b9b86af0",
       "bfe4ebddf5ac75e28476952edf9f497e6ff93ea7a02c3b6e99b321cd62e3e1d6"},
      {{60, 70, 64, 270},
       "fd387c61b4f59adca70717f9a724cada7b6a3c6ff42b3cc3f31fd32ef67489bc",
       "ffffe7df81ef7effee51d7837a94d00bf874372b04b3fe490d3e8052828f94f8"},
      // Both are cut by the edges of the image.
      {{5, 6, 31, 200},
       "ffff7f7f23fedfb7ff77f7fd77effdbf6ffe5ef7f7db76fefd9dfbfffdfebff7",
       "fffffffdffff3ffbffde7ffbbc7bf7fffffffbfdfefbfffef9ffb7fe7effffff"},
      {{100, 80, 200, 45},
       "ffaf3319b7fcfdf5a1ffb574aaf7acbbebfada97ebdfd6eed79c9140a7fc7bb3",
       "ffffffbfffbfff81ffe7fd5c3d47fb3fddbeb5df77ac23666e938f5e6a933dc8"},
  };
  const BoxIntegral integral;
  for (const Published& of : published) {
    SCOPED_TRACE(of.keypoint.angle_deg);
    EXPECT_EQ(absl::BytesToHexString(Describe(integral, of.keypoint, kTeblid256)), of.teblid_256);
    EXPECT_EQ(absl::BytesToHexString(Describe(integral, of.keypoint, kBeblid256)), of.beblid_256);
  }
}

TEST(TeblidTest, EqualsTheDescriptorsOfAThousandKeypointsInsideAndAtTheEdges) {
  const uint32_t published[][2] = {{0x0d435183, 0x7304bd27},
                                   {0x0b9a3af2, 0xa5ec6b7d},
                                   {0xff70e915, 0xe5488253},
                                   {0x6cee0dbf, 0xd3ba4e20}};
  // Differences of entries do not depend on sums that pass 2^32.
  for (const uint32_t offset : {0u, 0xfff00000u}) {
    const BoxIntegral integral(offset);
    for (size_t s = 0; s < std::size(kTestSets); ++s) {
      for (const int factor : {1, 5}) {
        SCOPED_TRACE(kTestSets[s].name);
        std::string rows;
        for (int i = 0; i < 1000; ++i) {
          const BoxKeypoint keypoint = {
              static_cast<float>((37 * i % 4000) / 20.0),
              static_cast<float>((53 * i % 3200) / 20.0),
              static_cast<float>(factor) * static_cast<float>(20 + (29 * i % 600) / 10.0),
              static_cast<float>((101 * i % 3600) / 10.0)};
          rows += Describe(integral, keypoint, kTestSets[s].set);
        }
        EXPECT_EQ(testing::Crc32(rows), published[s][factor / 5]);
      }
    }
  }
}

TEST(TeblidTest, NegativeAnglesAreUpright) {
  const BoxIntegral integral;
  for (const auto& [name, set] : kTestSets) {
    SCOPED_TRACE(name);
    const std::string upright = Describe(integral, {100, 80, 31, 0}, set);
    EXPECT_EQ(Describe(integral, {100, 80, 31, -1}, set), upright);
    EXPECT_EQ(Describe(integral, {100, 80, 31, -0.5f}, set), upright);
    EXPECT_NE(Describe(integral, {100, 80, 31, 5}, set), upright);
  }
}

// Such a read fails: the entries of BoxIntegral are checked.
TEST(TeblidTest, SquaresOfTheSmallestPatchesStayInTheImage) {
  const BoxIntegral integral;
  const float border = kLeastPatchPx * 0.5f * 1.75f;
  for (int i = 0; i < 3600; ++i) {
    for (const float x : {border, static_cast<float>(kWidth) - border - 0.001f}) {
      for (const float y : {border, static_cast<float>(kHeight) - border - 0.001f}) {
        const PatchPlace place =
            PlacePatch(x, y, kLeastPatchPx, static_cast<float>(i) * 0.1f, kWidth, kHeight);
        ASSERT_TRUE(place.inside);
        for (const BoxTest& test : kTeblid512Tests) {
          const Square square = PlaceSquare(place, test.x1, test.y1, test.radius);
          ASSERT_GE(square.x - square.half_side, 0);
          ASSERT_GE(square.y - square.half_side, 0);
          ASSERT_LT(square.x + square.half_side, kWidth);
          ASSERT_LT(square.y + square.half_side, kHeight);
        }
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
