// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/quadtree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "features/algo/order.h"
#include "features/algo/quadtree.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::DotLattice;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

constexpr int kBorder = 22;

Region RegionOf(int width, int height) {
  return {kBorder, kBorder, kBorder + width, kBorder + height};
}

// The choice of the plain program, in order.
std::vector<uint64_t> PlainChoice(std::vector<uint64_t> keys, const Region& region, int wanted) {
  std::vector<algo::QuadtreeCandidate> candidates(keys.size());
  std::vector<algo::QuadtreeRun> runs(keys.size());
  keys.resize(static_cast<size_t>(algo::KeepByQuadtree(
      keys.data(), static_cast<int>(keys.size()), region.width(), region.height(), region.x_begin,
      wanted, candidates.data(), runs.data())));
  return keys;
}

// That of the step, whose scratch memory must not be written beyond its end.
std::vector<uint64_t> FastChoice(std::vector<uint64_t> keys, const LevelQuadtree& tree,
                                 int wanted) {
  constexpr uint8_t kGuard = 0xa5;
  const size_t bytes = tree.ScratchBytes(wanted);
  std::vector<uint64_t> memory((bytes + 7) / 8 + 8);
  auto* const scratch = reinterpret_cast<uint8_t*>(memory.data());
  const size_t all = memory.size() * sizeof(uint64_t);
  std::fill(scratch + bytes, scratch + all, kGuard);
  keys.resize(
      static_cast<size_t>(tree.Keep(keys.data(), static_cast<int>(keys.size()), wanted, scratch)));
  EXPECT_TRUE(
      std::all_of(scratch + bytes, scratch + all, [](uint8_t byte) { return byte == kGuard; }));
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Keypoints at different places. `spread`: the side of the square that holds them all.
std::vector<uint64_t> RandomKeys(std::mt19937& random, const Region& region, int number, int spread,
                                 int responses) {
  const int width = std::min(spread, region.width());
  const int height = std::min(spread, region.height());
  const auto below = [&random](int end) {
    return static_cast<int>(random() % static_cast<uint32_t>(end));
  };
  const int left = region.x_begin + below(region.width() - width + 1);
  const int top = region.y_begin + below(region.height() - height + 1);
  std::set<std::pair<int, int>> places;
  const int most = static_cast<int>(std::min<int64_t>(number, int64_t{width} * height));
  while (static_cast<int>(places.size()) < most) {
    places.insert({left + below(width), top + below(height)});
  }
  std::vector<uint64_t> keys;
  for (const auto& [x, y] : places) {
    keys.push_back(algo::RankKey(static_cast<float>(1 + below(responses)), x, y));
  }
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

TEST(LevelQuadtreeTest, PathsAreThoseOfThePlainProgram) {
  for (const auto& [width, height] :
       {std::pair{1, 1}, {2, 1}, {1, 9}, {708, 436}, {436, 708}, {1197, 332}, {3000, 17}}) {
    const Region region = RegionOf(width, height);
    const LevelQuadtree tree(region);
    for (int y = 0; y < height; y += 1 + height / 40) {
      for (int x = 0; x < width; ++x) {
        ASSERT_EQ(tree.PathOf(algo::RankKey(1.0f, x + kBorder, y + kBorder)),
                  algo::QuadtreePath(x, y, width, height))
            << x << "," << y << " of " << width << "x" << height;
      }
    }
  }
}

TEST(LevelQuadtreeTest, TheChoiceIsThatOfThePlainProgram) {
  const uint32_t seed = 20265;
  std::mt19937 random(seed);
  const auto between = [&random](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  int cases = 0;
  for (int i = 0; i < 1500; ++i) {
    const int longest = i % 3 == 0 ? 40 : i % 3 == 1 ? 400 : 3000;
    const Region region = RegionOf(between(1, longest), between(1, longest));
    const LevelQuadtree tree(region);
    // Crowded keypoints make a tree that is deeper than any grid of counts.
    const int spread = i % 4 == 0 ? between(1, 24) : longest;
    const int responses = i % 5 == 0 ? 1 : 200;  // 1: all are equal
    const std::vector<uint64_t> keys =
        RandomKeys(random, region, between(1, i % 7 == 0 ? 2500 : 120), spread, responses);
    const int number = static_cast<int>(keys.size());
    for (const int wanted : {0, 1, between(1, number), std::max(1, number - 1), number, 5000}) {
      ASSERT_EQ(FastChoice(keys, tree, wanted), PlainChoice(keys, region, wanted))
          << "case " << i << " of seed " << seed << ": " << number << " keypoints in a region of "
          << region.width() << "x" << region.height() << ", " << wanted << " wanted";
      ++cases;
    }
  }
  printf("%d choices compared\n", cases);
}

TEST(QuadtreeStepTest, KeepsTheQuotaOfEachLevelInOrder) {
  size_t points = 0;
  for (const TestImage& image :
       {SceneImage(500, 400, 21), DotLattice(300, 300, 10), NoiseImage(160, 420, 22)}) {
    for (const int wanted : {1, 90, 700}) {
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        RunnerInput input;
        input.pipeline.detect.score = Score::kFast;
        input.pipeline.select.selection = Selection::kQuadtree;
        input.parameters.max_features = wanted;
        StepRunner before(image, variant.target, variant.threads, input);
        before.RunUntil("survivors");
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("quadtree");
        for (int level = 0; level < runner.levels(); ++level) {
          const std::vector<uint64_t> keys =
              PlainChoice(before.SortedKeys(level), runner.pipeline().level(level).region,
                          runner.frame().cuts.by_response[static_cast<size_t>(level)]);
          ASSERT_EQ(runner.Points(level), PointsOf(keys)) << level;
          ASSERT_EQ(runner.frame().level(level).ranked, static_cast<int>(keys.size()));
          points += keys.size();
        }
      }
    }
  }
  EXPECT_GT(points, 1000u);
}

}  // namespace
}  // namespace orbserve::cpu
