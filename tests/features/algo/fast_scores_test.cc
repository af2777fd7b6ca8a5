// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Scores of FAST corners and their suppression in windows, before any corner is dropped: the
// detection of `vio` and of `oriented-fast`.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "features/algo/corner.h"
#include "features/algo/corner_score.h"
#include "features/algo/fast.h"
#include "features/algo/sad_score.h"
#include "features/algo/segment_test.h"
#include "features/algo/window_maximum.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::CornerPlanes;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NamedImage;
using ::orbserve::testing::OracleCompare;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::TestImage;

using Ring = uint8_t[kFastRingPixels];
using Places = std::vector<std::pair<int, int>>;

TEST(SadScoreTest, RunWorkedOutByHand) {
  Ring ring;
  for (uint8_t& grey : ring) grey = 100;
  for (int i = 13; i < 24; ++i) ring[i % 16] = static_cast<uint8_t>(120 + i);  // 11 pixels
  ring[10] = 200;                                                              // off the run
  int run = 0;
  for (int i = 13; i < 24; ++i) run += 20 + i;
  EXPECT_EQ(SadArcScore(ring, 100, 10, 10), run);
  EXPECT_EQ(SadCircleScore(ring, 100), run + 100);
  EXPECT_EQ(SadArcScore(ring, 100, 12, 10), 0);
}

TEST(SadScoreTest, ExtremesFit) {
  Ring ring;
  for (uint8_t& grey : ring) grey = 255;
  EXPECT_EQ(SadArcScore(ring, 0, 9, 254), kMaxSadScore);
  for (uint8_t& grey : ring) grey = 0;
  EXPECT_EQ(SadCircleScore(ring, 255), kMaxSadScore);
}

TEST(SadScoreTest, RandomRingsAreTheOracles) {
  constexpr uint32_t kSeed = 71;
  std::mt19937 random(kSeed);
  int corners = 0;
  for (int n = 0; n < 200000; ++n) {
    Ring ring;
    std::array<int, 16> wide;
    const int centre = static_cast<int>(random() % 256);
    const uint32_t run_begin = random() % 16;
    const uint32_t run_length = 7 + random() % 10;
    for (uint32_t i = 0; i < 16; ++i) {
      const bool in_run = (i + 16 - run_begin) % 16 < run_length;
      const int offset =
          in_run ? 15 + static_cast<int>(random() % 100) : static_cast<int>(random() % 60) - 30;
      const int grey = Clamp(n % 2 == 0 ? centre + offset : centre - offset, 0, 255);
      ring[i] = static_cast<uint8_t>(grey);
      wide[i] = grey;
    }
    const int arc_length = 9 + n % 4;
    const int threshold = 1 + static_cast<int>(random() % 30);
    const int expected = testing::SadArc(wide, centre, arc_length, threshold);
    ASSERT_EQ(SadArcScore(ring, centre, arc_length, threshold), expected) << "seed " << kSeed;
    if (expected == 0) continue;
    ++corners;
    ASSERT_GE(expected, arc_length * (threshold + 1));
    ASSERT_EQ(SadCircleScore(ring, centre), testing::SadCircle(wide, centre));
  }
  EXPECT_GT(corners, 20000);
}

TEST(SegmentTest, BothStringsInOneWordAreTheTwoStrings) {
  constexpr uint32_t kSeed = 72;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 100000; ++n) {
    const int centre = static_cast<int>(random() % 256);
    const int threshold = 1 + static_cast<int>(random() % 254);
    Ring ring;
    for (uint8_t& grey : ring) {
      // One half lies at the bounds of the comparisons.
      const int offset =
          (random() % 2 == 0 ? threshold : -threshold) + static_cast<int>(random() % 3) - 1;
      grey = static_cast<uint8_t>(n % 2 == 0 ? Clamp(centre + offset, 0, 255)
                                             : static_cast<int>(random() % 256));
    }
    const SegmentBits bits = SegmentBitsOf(ring, centre, threshold);
    ASSERT_EQ(PackedSegmentBits(ring, centre, threshold), bits.darker << 16 | bits.brighter)
        << "centre " << centre << " threshold " << threshold << " seed " << kSeed;
  }
}

// The map of `options.score` over the whole level.
std::vector<float> ScoreMap(const TestImage& image, const OracleOptions& options) {
  const int width = image.width_px();
  const int height = image.height_px();
  const ptrdiff_t pitch = image.view().pitch_bytes;
  const std::array<uint32_t, kArcTableWords> table = MakeArcTable(options.arc_length);
  std::vector<float> map(static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = kFastRadiusPx; y < height - kFastRadiusPx; ++y) {
    for (int x = kFastRadiusPx; x < width - kFastRadiusPx; ++x) {
      const uint8_t* const centre = image.view().Row(y) + x;
      Ring ring;
      LoadFastRing(centre, pitch, ring);
      const SegmentBits bits = SegmentBitsOf(ring, *centre, options.threshold);
      if (!InArcTable(table.data(), bits.brighter) && !InArcTable(table.data(), bits.darker)) {
        continue;
      }
      float value = 0;
      WithScore(options.score, [&](auto of) {
        using S = decltype(of);
        if constexpr (S::kSource == ScoreSource::kTest) {
          value = static_cast<float>(FastScore(ring, *centre, options.arc_length));
        } else if constexpr (S::kSource == ScoreSource::kRing) {
          value = static_cast<float>(
              ScoreOfRing<S>(ring, *centre, options.arc_length, options.threshold));
        } else if (x >= S::kReachPx && y >= S::kReachPx && x < width - S::kReachPx &&
                   y < height - S::kReachPx) {
          value = Max(S::Of(centre, pitch), 0.0f);
        }
        // Values are in the order of the responses, and bring them back.
        if (value == 0) return;
        const auto response =
            static_cast<std::conditional_t<S::kSource == ScoreSource::kPatch, float, int>>(value);
        const auto stored = S::ValueOf(response, options.threshold);
        EXPECT_TRUE(stored > 0) << EnumName(options.score);
        EXPECT_EQ(S::ResponseOf(stored, options.threshold), value) << EnumName(options.score);
      });
      map[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)] = value;
    }
  }
  return map;
}

Places SurvivorsOf(const std::vector<float>& map, int width, int height, int window) {
  Places places;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (IsWindowMaximum(map.data(), width, width, height, x, y, window / 2)) {
        places.push_back({x, y});
      }
    }
  }
  return places;
}

// Number of survivors compared.
int CompareDetections(const NamedImage& named, const std::vector<int>& arc_lengths) {
  const GreyPlane plane = testing::PlaneOf(named.image.view());
  int compared = 0;
  for (const int arc_length : arc_lengths) {
    for (const Score score : AllOf<Score>()) {
      OracleOptions options = testing::OracleVio();
      options.arc_length = arc_length;
      options.score = score;
      const CornerPlanes oracle = testing::OracleFastMap(plane, options, options.threshold);
      const std::vector<float> map = ScoreMap(named.image, options);
      EXPECT_EQ(map, oracle.response.values) << named.name;
      for (const int window : {3, 5, 7, 9}) {
        const Places survivors = SurvivorsOf(map, plane.width, plane.height, window);
        EXPECT_EQ(survivors, testing::WindowMaxima(oracle.response, window))
            << named.name << " window " << window;
        compared += static_cast<int>(survivors.size());
      }
    }
  }
  return compared;
}

TEST(FastScoresTest, DetectionsInSyntheticImagesAreTheOracles) {
  int compared = 0;
  for (const NamedImage& named : testing::SyntheticImages()) {
    compared += CompareDetections(named, {9, 10, 11, 12});
  }
  EXPECT_GT(compared, 10000);
}

TEST(FastScoresTest, DetectionsInRealImagesAreTheOracles) {
  const std::vector<NamedImage> images = testing::RealImages(ORBSERVE_TEST_DATA_DIR);
  if (images.empty()) {
    GTEST_SKIP() << "no reference image; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
  }
  for (const NamedImage& named : images) EXPECT_GT(CompareDetections(named, {10}), 1000);
}

// No reference value decides these: an edge is no corner where Harris values are compared, and it
// does not suppress its neighbours.
TEST(FastScoresTest, NegativeHarrisValuesNeitherStayNorSuppress) {
  const float map[] = {-2, -1, -3, 0, 0.5f, 0};
  EXPECT_FALSE(IsWindowMaximum(map, 6, 6, 1, 1, 0, 1));
  EXPECT_FALSE(IsWindowMaximum(map, 6, 6, 1, 3, 0, 1));
  EXPECT_TRUE(IsWindowMaximum(map, 6, 6, 1, 4, 0, 2));
}

TEST(WindowMaximumTest, EqualNeighboursRemoveEachOtherInTheirWindowOnly) {
  std::vector<int> map(11 * 11);
  map[5 * 11 + 2] = 7;
  map[5 * 11 + 6] = 7;  // four pixels apart
  EXPECT_TRUE(IsWindowMaximum(map.data(), 11, 11, 11, 2, 5, 3));
  EXPECT_FALSE(IsWindowMaximum(map.data(), 11, 11, 11, 2, 5, 4));
  EXPECT_FALSE(IsWindowMaximum(map.data(), 11, 11, 11, 6, 5, 4));
  EXPECT_FALSE(IsWindowMaximum(map.data(), 11, 11, 11, 0, 0, 1));  // zeros never stay
  map[0] = 1;
  EXPECT_TRUE(IsWindowMaximum(map.data(), 11, 11, 11, 0, 0, 4));  // outside there is nothing
}

}  // namespace
}  // namespace orbserve::algo
