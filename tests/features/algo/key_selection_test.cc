// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Selections over rank keys: best of the frame, cells, the second threshold, the quadtree.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "features/algo/cell.h"
#include "features/algo/frame_order.h"
#include "features/algo/low_threshold.h"
#include "features/algo/quadtree.h"
#include "tests/support/method_oracle.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::OracleFeature;
using ::orbserve::testing::OracleOptions;

constexpr uint32_t kKeySeed = 41;

int Uniform(std::mt19937& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
}

// `number` different pixels of a level, few different responses so that many tie; some are
// negative.
std::vector<OracleFeature> RandomFeatures(std::mt19937& random, int level, int width, int height,
                                          int border, int number, int responses) {
  std::set<std::pair<int, int>> places;
  std::vector<OracleFeature> features;
  const int inside = (width - 2 * border) * (height - 2 * border);
  number = std::min(number, inside / 2);
  while (static_cast<int>(features.size()) < number) {
    OracleFeature feature;
    feature.level = level;
    // Half of them crowd into a corner.
    const bool crowded = random() % 2 == 0;
    const int spread_x = crowded ? (width - 2 * border + 3) / 4 : width - 2 * border;
    const int spread_y = crowded ? (height - 2 * border + 3) / 4 : height - 2 * border;
    feature.x = border + Uniform(random, 0, spread_x - 1);
    feature.y = border + Uniform(random, 0, spread_y - 1);
    if (!places.insert({feature.x, feature.y}).second) {
      feature.x = border + Uniform(random, 0, width - 2 * border - 1);
      feature.y = border + Uniform(random, 0, height - 2 * border - 1);
      if (!places.insert({feature.x, feature.y}).second) continue;
    }
    feature.response = static_cast<float>(Uniform(random, 0, responses - 1) - responses / 4) * 0.5f;
    features.push_back(feature);
  }
  return features;
}

std::vector<uint64_t> SortedKeys(const std::vector<OracleFeature>& features, int level) {
  std::vector<uint64_t> keys;
  for (const OracleFeature& feature : features) {
    if (feature.level == level) keys.push_back(RankKey(feature.response, feature.x, feature.y));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// One frame: sizes of the levels and candidates on them.
struct Frame {
  OracleOptions options;
  std::vector<GreyPlane> levels;
  std::vector<OracleFeature> candidates;
};

Frame RandomFrame(std::mt19937& random) {
  Frame frame;
  const float factors[] = {1.2f, 2.0f, 1.01f, 1.5f};
  frame.options.scale_factor = factors[random() % 4];
  frame.options.levels = Uniform(random, 1, 8);
  frame.options.border = Uniform(random, 3, 9);
  frame.options.cell_width = 32 * Uniform(random, 1, 4);
  frame.options.cell_height = 8 * Uniform(random, 1, 12);
  const GreyPlane image(Uniform(random, 20, 300), Uniform(random, 20, 300));
  frame.levels = testing::OraclePyramid(image, frame.options, false);
  const int responses = Uniform(random, 1, 200);
  for (size_t l = 0; l < frame.levels.size(); ++l) {
    const GreyPlane& level = frame.levels[l];
    if (level.width <= 2 * frame.options.border || level.height <= 2 * frame.options.border) {
      continue;
    }
    const std::vector<OracleFeature> more =
        RandomFeatures(random, static_cast<int>(l), level.width, level.height, frame.options.border,
                       Uniform(random, 0, 300), responses);
    frame.candidates.insert(frame.candidates.end(), more.begin(), more.end());
  }
  return frame;
}

// The oracle's answer as rank keys of each level.
std::vector<std::vector<uint64_t>> OracleKeys(const Frame& frame) {
  bool truncated = false;
  const std::vector<OracleFeature> kept =
      testing::OracleSelect(frame.candidates, frame.levels, frame.options, &truncated);
  std::vector<std::vector<uint64_t>> keys;
  for (size_t l = 0; l < frame.levels.size(); ++l) {
    keys.push_back(SortedKeys(kept, static_cast<int>(l)));
  }
  return keys;
}

TEST(FrameOrderTest, ResponseThenLevelThenPlace) {
  const uint64_t strong = RankKey(2.0f, 9, 9);
  const uint64_t weak = RankKey(1.0f, 0, 0);
  EXPECT_TRUE(FramePrecedes(strong, 7, weak, 0));
  EXPECT_FALSE(FramePrecedes(weak, 0, strong, 7));
  EXPECT_TRUE(FramePrecedes(strong, 0, RankKey(2.0f, 0, 0), 1));  // the lower level first
  EXPECT_TRUE(FramePrecedes(RankKey(2.0f, 5, 1), 1, RankKey(2.0f, 0, 2), 1));
  EXPECT_FALSE(FramePrecedes(strong, 1, strong, 1));
}

TEST(FrameOrderTest, BestOfTheFrameIsExactAndTheOracles) {
  std::mt19937 random(kKeySeed);
  for (int n = 0; n < 400; ++n) {
    Frame frame = RandomFrame(random);
    frame.options.selection = Selection::kBest;
    const int candidates = static_cast<int>(frame.candidates.size());
    frame.options.max_features = Uniform(random, 1, std::max(1, candidates + 2));
    std::vector<std::vector<uint64_t>> lists;
    std::vector<const uint64_t*> keys;
    std::vector<int32_t> number;
    for (size_t l = 0; l < frame.levels.size(); ++l) {
      lists.push_back(SortedKeys(frame.candidates, static_cast<int>(l)));
      number.push_back(static_cast<int32_t>(lists.back().size()));
    }
    for (const std::vector<uint64_t>& list : lists) keys.push_back(list.data());
    std::vector<int32_t> kept(lists.size());
    KeepBestOfFrame(keys.data(), number.data(), static_cast<int>(lists.size()),
                    frame.options.max_features, kept.data());
    const std::vector<std::vector<uint64_t>> expected = OracleKeys(frame);
    int total = 0;
    for (size_t l = 0; l < lists.size(); ++l) {
      lists[l].resize(static_cast<size_t>(kept[l]));
      ASSERT_EQ(lists[l], expected[l]) << "seed " << kKeySeed << " frame " << n << " level " << l;
      total += kept[l];
    }
    ASSERT_EQ(total, std::min(frame.options.max_features, candidates));
  }
}

TEST(FrameOrderTest, NothingWantedOrNothingThere) {
  const uint64_t key = RankKey(1.0f, 3, 4);
  const uint64_t* const lists[] = {&key, nullptr};
  const int32_t number[] = {1, 0};
  int32_t kept[2] = {7, 7};
  KeepBestOfFrame(lists, number, 2, 0, kept);
  EXPECT_EQ(kept[0], 0);
  EXPECT_EQ(kept[1], 0);
  KeepBestOfFrame(lists, number, 2, 5, kept);
  EXPECT_EQ(kept[0], 1);
  EXPECT_EQ(kept[1], 0);
}

TEST(CellTest, LastCellsAreCutAndFarPixelsAreClamped) {
  const CellGrid grid = CellGridOf(100, 50, 32, 8);
  EXPECT_EQ(grid.columns, 4);
  EXPECT_EQ(grid.rows, 7);
  EXPECT_EQ(CellOf(grid, 99, 49, 1.0f), 27);
  // Level 1 of scale 2 has 50 x 25 pixels: its last pixel is (98, 48).
  EXPECT_EQ(CellOf(grid, 49, 24, 2.0f), 27);
  // Level 1 of scale 1.5 has 67 x 33 pixels; 66 * 1.5 = 99 and 32 * 1.5 = 48.
  EXPECT_EQ(CellOf(grid, 66, 32, 1.5f), 27);
  // 25 * 4 = 100 lies outside level 0 and is taken for 99; a grid of 96 makes it matter.
  const CellGrid exact = CellGridOf(96, 64, 32, 32);
  EXPECT_EQ(LevelZeroPixel(24, 4.0f, 96), 95);
  EXPECT_EQ(CellOf(exact, 24, 16, 4.0f), 5);
}

TEST(CellTest, OneComparisonFindsTheOraclesWinners) {
  std::mt19937 random(kKeySeed + 1);
  for (int n = 0; n < 400; ++n) {
    Frame frame = RandomFrame(random);
    if (n % 4 == 0) {
      frame.options.cell_width = 512;
      frame.options.cell_height = 512;
    }
    const GreyPlane& image = frame.levels[0];
    const CellGrid grid =
        CellGridOf(image.width, image.height, frame.options.cell_width, frame.options.cell_height);
    std::vector<uint64_t> best(static_cast<size_t>(grid.count()), kNoCellKey);
    for (const OracleFeature& feature : frame.candidates) {
      const float scale = testing::OracleScale(frame.options.scale_factor, feature.level);
      const int cell = CellOf(grid, feature.x, feature.y, scale);
      ASSERT_LT(cell, grid.count());
      uint64_t& winner = best[static_cast<size_t>(cell)];
      winner = std::min(
          winner, CellKey(grid, feature.response, feature.level, feature.x, feature.y, scale));
    }
    std::vector<std::vector<uint64_t>> actual(frame.levels.size());
    for (int cell = 0; cell < grid.count(); ++cell) {
      const uint64_t key = best[static_cast<size_t>(cell)];
      if (key == kNoCellKey) continue;
      const int level = CellKeyLevel(key);
      actual[static_cast<size_t>(level)].push_back(
          CellKeyRank(grid, key, cell, testing::OracleScale(frame.options.scale_factor, level)));
    }
    const std::vector<OracleFeature> expected =
        testing::BestOfCells(frame.candidates, image.width, image.height, frame.options);
    for (size_t l = 0; l < frame.levels.size(); ++l) {
      std::sort(actual[l].begin(), actual[l].end());
      ASSERT_EQ(actual[l], SortedKeys(expected, static_cast<int>(l)))
          << "seed " << kKeySeed + 1 << " frame " << n << " level " << l;
    }
  }
}

TEST(CellTest, RoundsAreTheOracles) {
  std::mt19937 random(kKeySeed + 2);
  for (int n = 0; n < 400; ++n) {
    Frame frame = RandomFrame(random);
    frame.options.selection = Selection::kCell;
    const int number = static_cast<int>(frame.candidates.size());
    frame.options.max_features = Uniform(random, 1, std::max(1, number + 2));
    const GreyPlane& image = frame.levels[0];
    const CellGrid grid =
        CellGridOf(image.width, image.height, frame.options.cell_width, frame.options.cell_height);
    struct Entry {
      uint64_t key;
      int level;
      int32_t cell;
    };
    std::vector<Entry> entries;
    for (const OracleFeature& feature : frame.candidates) {
      const float scale = testing::OracleScale(frame.options.scale_factor, feature.level);
      entries.push_back({RankKey(feature.response, feature.x, feature.y), feature.level,
                         CellOf(grid, feature.x, feature.y, scale)});
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return FramePrecedes(a.key, a.level, b.key, b.level);
    });
    std::vector<int32_t> cells;
    for (const Entry& entry : entries) cells.push_back(entry.cell);
    std::vector<int32_t> cell_sizes(static_cast<size_t>(grid.count()), -1);
    std::vector<int32_t> round_sizes(entries.size(), -1);
    std::vector<uint8_t> keep(entries.size(), 9);
    const int kept = KeepCellRounds(cells.data(), number, grid.count(), frame.options.max_features,
                                    cell_sizes.data(), round_sizes.data(), keep.data());
    ASSERT_EQ(kept, std::min(frame.options.max_features, number));
    std::vector<std::vector<uint64_t>> actual(frame.levels.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      if (keep[i] != 0) actual[static_cast<size_t>(entries[i].level)].push_back(entries[i].key);
    }
    const std::vector<std::vector<uint64_t>> expected = OracleKeys(frame);
    for (size_t l = 0; l < frame.levels.size(); ++l) {
      ASSERT_EQ(actual[l], expected[l]) << "seed " << kKeySeed + 2 << " frame " << n;
    }
    // Kernels count: first the place in the cell, then the place in the answer.
    if (number > 300) continue;
    std::vector<int> place(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      for (const Entry& other : entries) {
        place[i] += other.cell == entries[i].cell &&
                            FramePrecedes(other.key, other.level, entries[i].key, entries[i].level)
                        ? 1
                        : 0;
      }
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      int before = 0;
      for (size_t j = 0; j < entries.size(); ++j) {
        before += CellRoundPrecedes(place[j], entries[j].key, entries[j].level, place[i],
                                    entries[i].key, entries[i].level)
                      ? 1
                      : 0;
      }
      ASSERT_EQ(before < frame.options.max_features, keep[i] != 0);
    }
  }
}

TEST(LowThresholdTest, DropsWhatTheOracleDrops) {
  std::mt19937 random(kKeySeed + 3);
  for (int n = 0; n < 200; ++n) {
    const int border = Uniform(random, 3, 40);
    const int width = 2 * border + Uniform(random, 1, 150);
    const int height = 2 * border + Uniform(random, 1, 150);
    std::vector<OracleFeature> corners =
        RandomFeatures(random, 0, width, height, border, Uniform(random, 1, 60), 5);
    for (OracleFeature& corner : corners) corner.largest_threshold = Uniform(random, 7, 24);
    const int columns = ThresholdCells(width, border);
    std::vector<uint8_t> strong(static_cast<size_t>(columns) *
                                static_cast<size_t>(ThresholdCells(height, border)));
    for (const OracleFeature& corner : corners) {
      if (corner.largest_threshold < 20) continue;
      strong.at(static_cast<size_t>(ThresholdCellOf(corner.x, corner.y, border, columns))) = 1;
    }
    std::vector<OracleFeature> kept;
    for (const OracleFeature& corner : corners) {
      const size_t cell = static_cast<size_t>(ThresholdCellOf(corner.x, corner.y, border, columns));
      if (PassesThresholds(corner.largest_threshold, 20, strong.at(cell) != 0)) {
        kept.push_back(corner);
      }
    }
    ASSERT_EQ(SortedKeys(kept, 0), SortedKeys(testing::DropWeakCorners(corners, 20, border), 0))
        << "seed " << kKeySeed + 3 << " set " << n;
  }
  EXPECT_EQ(ThresholdCells(64, 32), 0);
  EXPECT_EQ(ThresholdCells(10, 32), 0);
  EXPECT_EQ(ThresholdCells(65, 32), 1);
}

TEST(QuadtreeTest, RootsAreAboutSquare) {
  const QuadtreeRoots wide = QuadtreeRootsOf(1197, 332);
  EXPECT_EQ(wide.columns, 4);
  EXPECT_EQ(wide.rows, 1);
  const QuadtreeRoots tall = QuadtreeRootsOf(332, 1197);
  EXPECT_EQ(tall.columns, 1);
  EXPECT_EQ(tall.rows, 4);
  const QuadtreeRoots line = QuadtreeRootsOf(32767, 1);
  EXPECT_EQ(line.columns, 32767);
}

TEST(QuadtreeTest, EveryPixelLiesInItsBoxAndHasItsOwnPath) {
  for (const auto& [width, height] :
       {std::pair{1, 1}, {2, 1}, {1, 7}, {5, 3}, {31, 17}, {64, 64}, {13, 90}}) {
    std::set<uint64_t> paths;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const uint64_t path = QuadtreePath(x, y, width, height);
        QuadtreeBox box = QuadtreeRootBox(static_cast<int>(QuadtreeNode(path, 0)), width, height);
        for (int depth = 0; depth <= kQuadtreeDepth; ++depth) {
          if (depth > 0) EnterQuadtreeChild(static_cast<int>(QuadtreeNode(path, depth) & 3), &box);
          ASSERT_TRUE(box.x0 <= x && x < box.x1 && box.y0 <= y && y < box.y1);
        }
        ASSERT_EQ((box.x1 - box.x0) * (box.y1 - box.y0), 1);
        paths.insert(path);
      }
    }
    EXPECT_EQ(paths.size(), static_cast<size_t>(width * height));
  }
  // The largest sides end in single pixels, too.
  for (const int at : {0, 1, 12345, 16383, 16384, 32765, 32766}) {
    const uint64_t path = QuadtreePath(at, 32766 - at, 32767, 32767);
    QuadtreeBox box = QuadtreeRootBox(0, 32767, 32767);
    for (int depth = 1; depth <= kQuadtreeDepth; ++depth) {
      EnterQuadtreeChild(static_cast<int>(QuadtreeNode(path, depth) & 3), &box);
    }
    EXPECT_EQ(box.x0, at);
    EXPECT_EQ(box.y0, 32766 - at);
    EXPECT_EQ(box.x1, at + 1);
    EXPECT_EQ(box.y1, 32767 - at);
  }
}

TEST(QuadtreeTest, KeepsWhatTheOracleKeeps) {
  std::mt19937 random(kKeySeed + 4);
  for (int n = 0; n < 600; ++n) {
    const int border = Uniform(random, 3, 22);
    const int width = 2 * border + (n % 5 == 0 ? Uniform(random, 1, 8) : Uniform(random, 1, 400));
    const int height = 2 * border + (n % 7 == 0 ? Uniform(random, 1, 8) : Uniform(random, 1, 400));
    const std::vector<OracleFeature> candidates = RandomFeatures(
        random, 0, width, height, border, Uniform(random, 0, 500), Uniform(random, 1, 100));
    const int number = static_cast<int>(candidates.size());
    const int wanted = Uniform(random, 0, number + 2);
    std::vector<uint64_t> keys = SortedKeys(candidates, 0);
    std::shuffle(keys.begin(), keys.end(), random);  // the order of arrival does not matter
    std::vector<QuadtreeCandidate> scratch(keys.size());
    std::vector<QuadtreeRun> runs(keys.size());
    const int kept = KeepByQuadtree(keys.data(), number, width - 2 * border, height - 2 * border,
                                    border, wanted, scratch.data(), runs.data());
    ASSERT_EQ(kept, std::min(wanted, number));
    keys.resize(static_cast<size_t>(kept));
    const std::vector<OracleFeature> expected =
        wanted == 0 ? std::vector<OracleFeature>{}
                    : testing::QuadtreeOfLevel(candidates, width - 2 * border, height - 2 * border,
                                               border, wanted);
    ASSERT_EQ(keys, SortedKeys(expected, 0)) << "seed " << kKeySeed + 4 << " set " << n;
  }
}

}  // namespace
}  // namespace orbserve::algo
