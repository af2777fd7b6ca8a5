// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/algo/distance_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/order_map.h"

namespace orbserve::algo {
namespace {

using ::orbserve::testing::DistanceRulesOf;
using ::orbserve::testing::OrderMap;
using ::orbserve::testing::Pick;
using ::orbserve::testing::PickOf;
using ::orbserve::testing::RandomOrderMap;

// Cells of a level from [first_column, end_column) by [first_row, end_row).
struct Part {
  int first_column;
  int first_row;
  int end_column;
  int end_row;
};

// The passes over a part of a level by one lane, in the parts of a kernel. Cells come in a random
// order.
class TileRun {
 public:
  template <typename Places>
  TileRun(const DistanceGrid& level, const Places& places, const Part& part, int most_passes,
          size_t few_cells)
      : part_(part) {
    const int side = level.rule.cell_side;
    tile_.grid = {level.rule,
                  level.u_begin + part.first_column * side,
                  level.v_begin + part.first_row * side,
                  std::min(level.u_begin + part.end_column * side, level.u_end),
                  std::min(level.v_begin + part.end_row * side, level.v_end),
                  part.end_column - part.first_column,
                  part.end_row - part.first_row};
    const auto count = static_cast<size_t>(tile_.grid.count());
    orders_.resize(static_cast<size_t>(tile_.Width() * tile_.Height()));
    pixels_.resize(orders_.size());
    best_.resize(count);
    dominators_.resize(count);
    inside_.resize(count);
    is_uncertain_.resize(count);
    uncertainty_.resize(count);
    tile_.pitch = tile_.Width();
    tile_.side_factor = DistanceTile::SideFactor(side);
    tile_.order = orders_.data();
    tile_.pixel = level.rule.pixels_per_place == 2 ? pixels_.data() : nullptr;
    tile_.best = best_.data();
    tile_.dominator = dominators_.data();
    tile_.inside = inside_.data();
    tile_.is_uncertain = is_uncertain_.data();
    tile_.uncertainty = uncertainty_.data();
    for (int v = 0; v < tile_.Height(); ++v) {
      for (int u = 0; u < tile_.Width(); ++u) {
        SetPlace(tile_, u, v,
                 places.Key(OneLane(), u + tile_.grid.u_begin, v + tile_.grid.v_begin));
      }
    }
    Run(level, most_passes, few_cells);
  }

  struct Cell {
    bool is_decided;
    int pass;  // of its inside place; 0 = it has none
    int u;
    int v;
  };
  // A cell of the part; `column` and `row` count in the level.
  Cell At(int column, int row) const {
    const int side = tile_.grid.rule.cell_side;
    const int c = column - part_.first_column;
    const int r = row - part_.first_row;
    const auto i = static_cast<size_t>(r * tile_.grid.columns + c);
    const int place = TileInsidePlace(inside_[i]);
    return {!HasCandidate(tile_, static_cast<int>(i), c, r), TileInsidePass(inside_[i]),
            tile_.grid.u_begin + c * side + place % side,
            tile_.grid.v_begin + r * side + place / side};
  }
  int passes() const { return passes_; }

 private:
  // With no more than `few_cells` cells that can be judged, the others stay uncertain.
  void Run(const DistanceGrid& level, int most_passes, size_t few_cells) {
    const int columns = tile_.grid.columns;
    const int rows = tile_.grid.rows;
    const int reach = tile_.grid.CellReach();
    std::vector<int> active;
    for (int i = 0; i < tile_.grid.count(); ++i) {
      const int c = i % columns;
      const int r = i / columns;
      const bool in_ring = (part_.first_column > 0 && c < reach) ||
                           (part_.first_row > 0 && r < reach) ||
                           (part_.end_column < level.columns && c >= columns - reach) ||
                           (part_.end_row < level.rows && r >= rows - reach);
      StartCell(tile_, i, BestInTile(tile_, c, r, OneTileLane()), in_ring);
      if (best_[static_cast<size_t>(i)] != kNoCandidate) active.push_back(i);
    }
    std::mt19937 random(7);
    bool few_are_left = false;
    while (passes_ < most_passes &&
           std::any_of(active.begin(), active.end(), [&](int i) { return IsCertain(tile_, i); })) {
      ++passes_;
      std::shuffle(active.begin(), active.end(), random);
      std::vector<int> insides;
      for (const int i : active) {
        if (!IsCertain(tile_, i)) continue;
        const int c = i % columns;
        const int r = i / columns;
        if (IsDominated(tile_, i) || FindDominator(tile_, c, r)) continue;
        Lot lot = JudgeBest(tile_, c, r, passes_, OneTileLane());
        if (lot == Lot::kOpen) lot = JudgeClosely(tile_, c, r, passes_, OneTileLane());
        if (lot == Lot::kInside) insides.push_back(i);
      }
      for (const int i : insides) {
        RemoveConflicts(tile_, i % columns, i / columns, OneTileLane());
      }
      std::shuffle(active.begin(), active.end(), random);
      for (const int i : active) {
        const bool has_lost = HasLostBest(tile_, i);
        if (has_lost) RefreshBest(tile_, i % columns, i / columns, OneTileLane());
        PassUncertainty(tile_, i, has_lost);
      }
      std::erase_if(active, [&](int i) { return best_[static_cast<size_t>(i)] == kNoCandidate; });
      std::shuffle(active.begin(), active.end(), random);
      for (const int i : active) {
        const bool has_uncertain = HasUncertainBeside(tile_, i % columns, i / columns);
        EXPECT_EQ(HasUncertainBeside(tile_, i % columns, i / columns, OneTileLane()),
                  has_uncertain);
        if (has_uncertain) is_uncertain_[static_cast<size_t>(i)] = 1;
      }
      if (few_are_left) continue;
      const auto is_uncertain = [&](int i) { return is_uncertain_[static_cast<size_t>(i)] != 0; };
      few_are_left =
          static_cast<size_t>(std::count_if(active.begin(), active.end(), is_uncertain)) +
              few_cells >=
          active.size();
      if (!few_are_left) continue;
      for (const int i : active) {
        if (is_uncertain(i)) StayUncertain(tile_, i);
      }
      std::erase_if(active, is_uncertain);
    }
  }

  const Part part_;
  int passes_ = 0;
  DistanceTile tile_{};
  std::vector<uint32_t> orders_;
  std::vector<uint8_t> pixels_;
  std::vector<uint64_t> best_;
  std::vector<uint32_t> dominators_;
  std::vector<uint16_t> inside_;
  std::vector<uint8_t> is_uncertain_;
  std::vector<Uncertainty> uncertainty_;
};

struct TileCounts {
  int decided = 0;
  int undecided = 0;
  int corners = 0;
};

// Compares what a part's passes decide with the pick: each inside place and its pass, and that a
// decided cell without one has none.
template <typename Places>
TileCounts CompareWithPick(OrderMap* map, const DistanceRule& rule, const Places& places,
                           const Part& part, size_t few_cells) {
  const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, map->width, map->height);
  const TileRun run(level, places, part, kMaxTilePasses, few_cells);
  const Pick pick = PickOf(*map, rule, 0);
  std::vector<uint64_t> of_cell(static_cast<size_t>(level.count()), kNoCandidate);
  for (const uint64_t key : pick.keys) {
    const int column = level.PlaceU(key) / rule.cell_side;
    const int row = level.PlaceV(key) / rule.cell_side;
    of_cell[static_cast<size_t>(row * level.columns + column)] = key;
  }
  TileCounts counts;
  for (int row = part.first_row; row < part.end_row; ++row) {
    for (int column = part.first_column; column < part.end_column; ++column) {
      const auto cell = run.At(column, row);
      if (!cell.is_decided) {
        ++counts.undecided;
        continue;
      }
      ++counts.decided;
      const uint64_t key = of_cell[static_cast<size_t>(row * level.columns + column)];
      EXPECT_EQ(cell.pass != 0, key != kNoCandidate) << column << " " << row;
      if (cell.pass == 0 || key == kNoCandidate) continue;
      ++counts.corners;
      EXPECT_EQ(cell.u, level.PlaceU(key)) << column << " " << row;
      EXPECT_EQ(cell.v, level.PlaceV(key)) << column << " " << row;
      EXPECT_EQ(cell.pass,
                pick.passes[static_cast<size_t>(cell.v * rule.Places(map->width) + cell.u)])
          << column << " " << row;
    }
  }
  return counts;
}

TileCounts CompareWithPick(OrderMap map, const DistanceRule& rule, const Part& part,
                           size_t few_cells = 0) {
  const PixelPlaces pixels = {map.orders.data(), map.width, 0};
  const BlockPlaces blocks = {pixels, 0, 0, map.width, map.height};
  return rule.pixels_per_place == 2 ? CompareWithPick(&map, rule, blocks, part, few_cells)
                                    : CompareWithPick(&map, rule, pixels, part, few_cells);
}

Part WholeOf(const DistanceGrid& level) { return {0, 0, level.columns, level.rows}; }

TEST(DistanceTileTest, ATileThatKnowsTheLevelDecidesAllOfIt) {
  constexpr uint32_t kSeed = 81;
  std::mt19937 random(kSeed);
  for (int n = 0; n < 150; ++n) {
    const int width = 1 + static_cast<int>(random() % 70);
    const int height = 1 + static_cast<int>(random() % 70);
    const OrderMap map = RandomOrderMap(width, height, 1 + random() % 4, 5000, &random);
    const int d = 2 + static_cast<int>(random() % 15);
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, width, height);
      const TileCounts counts = CompareWithPick(map, rule, WholeOf(level));
      EXPECT_EQ(counts.undecided, 0);
      EXPECT_EQ(counts.decided, level.count());
      ASSERT_FALSE(HasFailure()) << "seed " << kSeed << " map " << n << ", " << width << " x "
                                 << height << " d " << d << (rule.below_squared > 0 ? " disc" : "");
    }
  }
}

TEST(DistanceTileTest, WhatAPartDecidesIsThePicks) {
  constexpr uint32_t kSeed = 82;
  std::mt19937 random(kSeed);
  TileCounts all;
  for (int n = 0; n < 400; ++n) {
    const int width = 40 + static_cast<int>(random() % 120);
    const int height = 40 + static_cast<int>(random() % 120);
    const unsigned levels = n % 5 == 0 ? 3 : n % 5 == 1 ? 1 : 100'000;
    const OrderMap map = RandomOrderMap(width, height, 1 + random() % 4, levels, &random);
    const int d = 2 + static_cast<int>(random() % (n % 2 == 0 ? 6 : 15));
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, width, height);
      const auto from = [&](int count) { return static_cast<int>(random() % 4) * count / 8; };
      const Part part = {from(level.columns), from(level.rows), level.columns - from(level.columns),
                         level.rows - from(level.rows)};
      if (part.first_column >= part.end_column || part.first_row >= part.end_row) continue;
      const size_t few_cells = n % 4 == 0 ? 0 : random() % 100;
      const TileCounts counts = CompareWithPick(map, rule, part, few_cells);
      all.decided += counts.decided;
      all.undecided += counts.undecided;
      all.corners += counts.corners;
      ASSERT_FALSE(HasFailure()) << "seed " << kSeed << " map " << n << ", " << width << " x "
                                 << height << " d " << d << (rule.below_squared > 0 ? " disc" : "");
    }
  }
  EXPECT_GT(all.corners, 10'000);
  EXPECT_GT(all.undecided, 10'000);
  EXPECT_GT(all.decided, 10'000);
}

TEST(DistanceTileTest, LanesShareEachPlaceOfARectangle) {
  constexpr int kLanes = 32;
  for (const int across : {1, 3, 5, 9, 10, 16, 31, 32, 43}) {
    std::vector<int> visits(static_cast<size_t>(across * across));
    for (int lane = 0; lane < kLanes; ++lane) {
      const LanePlaces places = LanePlaces::Of(lane, kLanes, across);
      for (int column = places.column; column < across; column += places.column_step) {
        for (int row = places.row; row < across; row += places.row_step) {
          ++visits[static_cast<size_t>(row * across + column)];
        }
      }
    }
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), across * across) << across;
  }
}

TEST(DistanceTileTest, PassesEndThoughChainsGoOn) {
  for (const int d : {2, 5, 9}) {
    const OrderMap map = testing::SnakeOrderMap(200, 60, 2 * d);
    for (const DistanceRule& rule : DistanceRulesOf(d)) {
      const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, map.width, map.height);
      const TileCounts counts = CompareWithPick(map, rule, WholeOf(level));
      EXPECT_GT(counts.corners, 10) << d;
    }
    const DistanceRule rule = DistanceRulesOf(d)[0];
    EXPECT_GT(PickOf(map, rule, 0).most_passes, kMaxTilePasses);
    const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, map.width, map.height);
    EXPECT_GT(CompareWithPick(map, rule, WholeOf(level)).undecided, 0);
  }
}

TEST(DistanceTileTest, PartsOfImagesGiveThePicksCorners) {
  for (const testing::NamedImage& named : testing::SyntheticImages()) {
    const testing::GreyPlane plane = testing::PlaneOf(named.image.view());
    const testing::Plane<float> responses = testing::OracleCornerMap(plane, Detector::kShiTomasi);
    float top = 0;
    for (const float value : responses.values) top = std::max(top, value);
    OrderMap map(plane.width, plane.height);
    for (int y = 0; y < plane.height; ++y) {
      for (int x = 0; x < plane.width; ++x) {
        if (responses.At(x, y) > 0.01f * top) map.At(x, y) = OrderedBits(responses.At(x, y));
      }
    }
    for (const DistanceRule& rule : DistanceRulesOf(3)) {
      const DistanceGrid level = DistanceGrid::Of(rule, 0, 0, map.width, map.height);
      const int half = level.columns / 2;
      CompareWithPick(map, rule, {0, 0, half, level.rows});
      CompareWithPick(map, rule, {std::max(half - 8, 0), 0, level.columns, level.rows});
      ASSERT_FALSE(HasFailure()) << named.name;
    }
  }
}

}  // namespace
}  // namespace orbserve::algo
