// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/minimum_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NamedImage;
using ::orbserve::testing::OracleFeature;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::OracleShape;

std::vector<uint64_t> KeysOf(const std::vector<OracleFeature>& features) {
  std::vector<uint64_t> keys;
  for (const OracleFeature& feature : features) {
    keys.push_back(RankKey(feature.response, feature.x, feature.y));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

DistanceRule RuleOf(const OracleOptions& options) {
  return DistanceRuleOf(options.distance, options.shape == OracleShape::kDisc, options.compression);
}

struct Result {
  std::vector<uint64_t> keys;
  int passes = 0;
};

Result ByPick(std::vector<uint64_t> keys, const OracleOptions& options, int width, int height) {
  const DistanceRule rule = RuleOf(options);
  std::vector<int32_t> passes(static_cast<size_t>(rule.Places(width)) *
                              static_cast<size_t>(rule.Places(height)));
  std::vector<uint16_t> inside(static_cast<size_t>(rule.Cells(width)) *
                               static_cast<size_t>(rule.Cells(height)));
  Result result;
  const int kept =
      KeepByDistance(keys.data(), static_cast<int>(keys.size()), rule, width, height,
                     options.max_passes, {passes.data(), inside.data()}, &result.passes);
  keys.resize(static_cast<size_t>(kept));
  result.keys = std::move(keys);
  return result;
}

// Passes over whole maps, as kernels do them.
Result ByMaps(const std::vector<uint64_t>& keys, const OracleOptions& options, int width,
              int height) {
  const DistanceRule rule = RuleOf(options);
  const int columns = rule.Places(width);
  const int rows = rule.Places(height);
  const auto index = [&](int x, int y) {
    return static_cast<size_t>(y) * static_cast<size_t>(columns) + static_cast<size_t>(x);
  };
  std::vector<uint64_t> map(static_cast<size_t>(columns) * static_cast<size_t>(rows), kNoCandidate);
  for (const uint64_t key : keys) {
    uint64_t& place =
        map[index(RankKeyX(key) / rule.pixels_per_place, RankKeyY(key) / rule.pixels_per_place)];
    place = std::min(place, key);
  }
  Result result;
  const auto undefined = [&] {
    return std::any_of(map.begin(), map.end(), [](uint64_t key) { return key != kNoCandidate; });
  };
  while (undefined() && (options.max_passes == 0 || result.passes < options.max_passes)) {
    ++result.passes;
    std::vector<uint8_t> inside(map.size());
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        if (!BecomesInside(map.data(), columns, rows, x, y, rule)) continue;
        inside[index(x, y)] = 1;
        result.keys.push_back(map[index(x, y)]);
      }
    }
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        if (map[index(x, y)] != kNoCandidate &&
            MeetsInside(inside.data(), columns, rows, x, y, rule)) {
          map[index(x, y)] = kNoCandidate;
        }
      }
    }
  }
  std::sort(result.keys.begin(), result.keys.end());
  return result;
}

// Every shape and compression at distance `d`.
std::vector<OracleOptions> Variants(int d) {
  std::vector<OracleOptions> variants(3);
  for (OracleOptions& options : variants) options.distance = d;
  variants[1].shape = OracleShape::kDisc;
  variants[2].compression = true;
  return variants;
}

std::vector<OracleFeature> MapCandidates(const GreyPlane& plane, Detector detector, float quality) {
  const testing::Plane<float> map = testing::OracleCornerMap(plane, detector);
  float top = 0;
  for (const float value : map.values) top = std::max(top, value);
  std::vector<OracleFeature> candidates;
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      if (!(map.At(x, y) > quality * top)) continue;
      OracleFeature candidate;
      candidate.x = x;
      candidate.y = y;
      candidate.response = map.At(x, y);
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

void ExpectDistanceKept(const std::vector<uint64_t>& keys, const OracleOptions& options) {
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int dx = std::abs(RankKeyX(keys[i]) - RankKeyX(keys[j]));
      const int dy = std::abs(RankKeyY(keys[i]) - RankKeyY(keys[j]));
      if (options.shape == OracleShape::kDisc) {
        ASSERT_GE(dx * dx + dy * dy, options.distance * options.distance);
      } else {
        ASSERT_GE(std::max(dx, dy), options.distance);
      }
    }
  }
}

TEST(DistanceRuleTest, CellsHoldOneInsidePlaceAndNeighbourCellsCoverTheReach) {
  for (int d = 1; d <= 64; ++d) {
    for (const OracleOptions& options : Variants(d)) {
      const DistanceRule rule = RuleOf(options);
      const int side = rule.cell_side;
      EXPECT_TRUE(rule.Conflicts(side - 1, side - 1)) << d;
      EXPECT_LE(side * side, 65535) << d;
      // No larger cell would do.
      EXPECT_FALSE(rule.Conflicts(side, side)) << d;
      EXPECT_FALSE(rule.Conflicts(rule.reach + 1, 0)) << d;
      EXPECT_FALSE(rule.Conflicts(0, -rule.reach - 1)) << d;
      EXPECT_TRUE(rule.Conflicts(-rule.reach, 0)) << d;
    }
    EXPECT_EQ(RuleOf(Variants(d)[0]).cell_side, d);
    EXPECT_EQ(RuleOf(Variants(d)[1]).cell_side, 1 + static_cast<int>(std::sqrt((d * d - 1) / 2)));
    EXPECT_EQ(RuleOf(Variants(d)[2]).cell_side, d == 1 ? 1 : d / 2 + 1);
  }
}

TEST(MinimumDistanceTest, PassesWorkedOutByHand) {
  // In a row, one pixel apart, d = 2: responses 1 3 5 4 2 as in the drawing.
  const float responses[] = {1, 3, 5, 4, 2};
  std::vector<uint64_t> keys;
  for (int i = 0; i < 5; ++i) keys.push_back(RankKey(responses[i], i, 0));
  std::sort(keys.begin(), keys.end());
  OracleOptions options;
  options.distance = 2;
  const Result all = ByPick(keys, options, 5, 1);
  EXPECT_EQ(all.passes, 2);
  EXPECT_EQ(all.keys,
            (std::vector<uint64_t>{RankKey(5, 2, 0), RankKey(2, 4, 0), RankKey(1, 0, 0)}));
  options.max_passes = 1;
  const Result one = ByPick(keys, options, 5, 1);
  EXPECT_EQ(one.passes, 1);
  EXPECT_EQ(one.keys, (std::vector<uint64_t>{RankKey(5, 2, 0)}));
}

TEST(MinimumDistanceTest, ARampTakesAPassForEveryKeptCorner) {
  std::vector<uint64_t> keys;
  for (int x = 0; x < 300; ++x) keys.push_back(RankKey(static_cast<float>(300 - x), x, 0));
  std::sort(keys.begin(), keys.end());
  OracleOptions options;
  options.distance = 3;
  const Result result = ByPick(keys, options, 300, 1);
  EXPECT_EQ(result.keys.size(), 100u);
  EXPECT_EQ(result.passes, 100);
}

TEST(MinimumDistanceTest, OutranksIsTheOrderOfRankKeys) {
  constexpr uint32_t kSeed = 62;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 10000; ++n) {
    const float responses[] = {static_cast<float>(random() % 3) - 1.0f,
                               static_cast<float>(random() % 3) - 1.0f};
    const int x[] = {static_cast<int>(random() % 3), static_cast<int>(random() % 3)};
    const int y[] = {static_cast<int>(random() % 3), static_cast<int>(random() % 3)};
    ASSERT_EQ(
        Outranks(OrderedBits(responses[0]), x[0], y[0], OrderedBits(responses[1]), x[1], y[1]),
        RankKey(responses[0], x[0], y[0]) < RankKey(responses[1], x[1], y[1]))
        << "seed " << kSeed;
  }
}

TEST(MinimumDistanceTest, NothingGivesNothingInNoPass) {
  const Result result = ByPick({}, OracleOptions{}, 7, 3);
  EXPECT_TRUE(result.keys.empty());
  EXPECT_EQ(result.passes, 0);
}

TEST(MinimumDistanceTest, RandomCandidatesWithTies) {
  constexpr uint32_t kSeed = 61;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 150; ++n) {
    const int width = 1 + static_cast<int>(random() % 60);
    const int height = 1 + static_cast<int>(random() % 60);
    const uint32_t density = 1 + random() % 4;
    const uint32_t levels = 1 + random() % 30;
    std::vector<OracleFeature> candidates;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (random() % 4 >= density) continue;
        OracleFeature candidate;
        candidate.x = x;
        candidate.y = y;
        candidate.response = static_cast<float>(random() % levels);
        candidates.push_back(candidate);
      }
    }
    const std::vector<uint64_t> keys = KeysOf(candidates);
    for (OracleOptions options : Variants(1 + static_cast<int>(random() % 12))) {
      SCOPED_TRACE("seed 61 set " + std::to_string(n) + " d " + std::to_string(options.distance));
      const std::vector<uint64_t> picked = KeysOf(testing::PickByDistance(candidates, options));
      int to_the_end = 0;
      for (const int max_passes : {0, 1, 2, 3}) {
        options.max_passes = max_passes;
        int passes = 0;
        const std::vector<uint64_t> labelled =
            KeysOf(testing::LabelByDistance(candidates, options, max_passes, &passes));
        if (max_passes == 0) {
          ASSERT_EQ(labelled, picked);
          ExpectDistanceKept(picked, options);
          to_the_end = passes;
        }
        const Result pick = ByPick(keys, options, width, height);
        ASSERT_EQ(pick.keys, labelled) << max_passes;
        ASSERT_EQ(pick.passes, passes) << max_passes;
        ASSERT_EQ(pick.passes, max_passes == 0 ? to_the_end : std::min(max_passes, to_the_end));
        const Result maps = ByMaps(keys, options, width, height);
        ASSERT_EQ(maps.keys, labelled) << max_passes;
        ASSERT_EQ(maps.passes, passes) << max_passes;
      }
    }
  }
}

TEST(MinimumDistanceTest, SyntheticImages) {
  for (const NamedImage& named : testing::SyntheticImages()) {
    const GreyPlane plane = testing::PlaneOf(named.image.view());
    for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
      const std::vector<OracleFeature> candidates = MapCandidates(plane, detector, 0.01f);
      const std::vector<uint64_t> keys = KeysOf(candidates);
      for (const int d : {1, 2, 5, 11, 16}) {
        for (const OracleOptions& options : Variants(d)) {
          int passes = 0;
          const std::vector<uint64_t> expected =
              KeysOf(testing::LabelByDistance(candidates, options, 0, &passes));
          const Result pick = ByPick(keys, options, plane.width, plane.height);
          ASSERT_EQ(pick.keys, expected) << named.name << " d " << d;
          ASSERT_EQ(pick.passes, passes) << named.name << " d " << d;
        }
      }
    }
  }
}

TEST(MinimumDistanceTest, RealImages) {
  const std::vector<NamedImage> images = testing::RealImages(ORBSERVE_TEST_DATA_DIR);
  if (images.empty()) {
    GTEST_SKIP() << "no reference image; set ORBSERVE_TEST_DATA_DIR to the folder of test images";
  }
  for (const NamedImage& named : images) {
    const GreyPlane plane = testing::PlaneOf(named.image.view());
    const std::vector<OracleFeature> candidates = MapCandidates(plane, Detector::kShiTomasi, 0.01f);
    const std::vector<uint64_t> keys = KeysOf(candidates);
    for (const int d : {2, 5, 11}) {
      for (const OracleOptions& options : Variants(d)) {
        int passes = 0;
        const std::vector<uint64_t> expected =
            KeysOf(testing::LabelByDistance(candidates, options, 0, &passes));
        const Result pick = ByPick(keys, options, plane.width, plane.height);
        ASSERT_EQ(pick.keys, expected) << named.name << " d " << d;
        ASSERT_EQ(pick.passes, passes) << named.name << " d " << d;
        ASSERT_EQ(KeysOf(testing::PickByDistance(candidates, options)), expected);
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
