// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/minimum_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cpu/frame/corner.h"
#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::DotLattice;
using ::orbserve::testing::LabelByDistance;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleCornerMap;
using ::orbserve::testing::OracleFeature;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::OracleOptionsOf;
using ::orbserve::testing::PickByDistance;
using ::orbserve::testing::Plane;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

// The candidates of a single level.
std::vector<OracleFeature> CandidatesOf(const TestImage& image, const TestImage* mask,
                                        const RunnerInput& input) {
  const Plane<float> map = OracleCornerMap(PlaneOf(image.view()), input.pipeline.detect.detector);
  const int border = input.pipeline.select.border_px;
  std::vector<OracleFeature> all;
  float top = 0.0f;
  for (int y = border; y < map.height - border; ++y) {
    for (int x = border; x < map.width - border; ++x) {
      if (mask != nullptr && mask->At(x, y) == 0) continue;
      OracleFeature feature;
      feature.x = x;
      feature.y = y;
      feature.response = map.At(x, y);
      top = std::max(top, feature.response);
      all.push_back(feature);
    }
  }
  const float threshold = input.parameters.quality_level * top;
  std::vector<OracleFeature> candidates;
  for (const OracleFeature& feature : all) {
    if (top > 0.0f && feature.response > threshold) candidates.push_back(feature);
  }
  return candidates;
}

std::vector<uint64_t> KeysOf(const std::vector<OracleFeature>& features) {
  std::vector<uint64_t> keys;
  for (const OracleFeature& feature : features) {
    keys.push_back(algo::RankKey(feature.response, feature.x, feature.y));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

RunnerInput InputFor(Detector detector, int distance, DistanceShape shape, bool compression) {
  RunnerInput input;
  input.pipeline = (*FindPreset("harris-corners"))->pipeline;
  input.pipeline.detect.detector = detector;
  input.pipeline.suppress.minimum_distance_px = distance;
  input.pipeline.suppress.distance_shape = shape;
  input.pipeline.suppress.cornerness_compression = compression;
  return input;
}

std::string NameOf(const RunnerInput& input) {
  const SuppressOptions& options = input.pipeline.suppress;
  return absl::StrCat("distance ", options.minimum_distance_px,
                      options.distance_shape == DistanceShape::kDisc ? " DISC" : "",
                      options.cornerness_compression ? " compressed" : "", " max_passes ",
                      options.max_passes);
}

// Expects the corners and the passes of the labels from every variant.
void ExpectOracleCorners(const TestImage& image, const RunnerInput& input,
                         const std::vector<RunnerVariant>& variants) {
  SCOPED_TRACE(NameOf(input));
  const std::vector<OracleFeature> candidates = CandidatesOf(image, input.mask, input);
  const OracleOptions options = OracleOptionsOf(input.pipeline, input.parameters);
  int passes = 0;
  const std::vector<uint64_t> expected =
      KeysOf(LabelByDistance(candidates, options, options.max_passes, &passes));
  if (options.max_passes == 0) {
    ASSERT_EQ(expected, KeysOf(PickByDistance(candidates, options)));
  }
  for (const RunnerVariant& variant : variants) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("survivors");
    ASSERT_EQ(runner.SortedKeys(0), expected);
    ASSERT_EQ(runner.frame().level(0).suppression_passes, passes);
  }
}

// The kinds of distances: shape and compression.
constexpr std::pair<DistanceShape, bool> kKinds[] = {
    {DistanceShape::kSquare, false}, {DistanceShape::kDisc, false}, {DistanceShape::kSquare, true}};

// An image that repeats itself, so that responses tie, in odd places of odd sizes.
TestImage TiledImage(int width, int height, int period, uint32_t seed) {
  const TestImage tile = NoiseImage(period, period, seed);
  TestImage image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) image.At(x, y) = tile.At(x % period, y % period);
  }
  return image;
}

TEST(MinimumDistanceStepTest, EveryDistanceGivesTheOraclesCornersAndPasses) {
  const TestImage image = SceneImage(241, 150, 91);
  for (int distance = 1; distance <= 31; ++distance) {
    for (const auto& [shape, compression] : kKinds) {
      const Detector detector = distance % 2 == 0 ? Detector::kHarris : Detector::kShiTomasi;
      ExpectOracleCorners(image, InputFor(detector, distance, shape, compression),
                          {{ReferenceTarget(), 1}, {FastestTarget(), 5}});
    }
  }
}

TEST(MinimumDistanceStepTest, EveryVariantGivesTheOraclesCorners) {
  const TestImage mask = RandomMask(151, 103, 92);
  for (const TestImage& image :
       {NoiseImage(151, 103, 93), SceneImage(151, 103, 94), TiledImage(151, 103, 13, 95)}) {
    for (const int distance : {1, 2, 5, 12, 40, 64}) {
      for (const auto& [shape, compression] : kKinds) {
        RunnerInput input = InputFor(Detector::kShiTomasi, distance, shape, compression);
        input.pipeline.select.border_px = 4 + distance % 3;
        if (distance % 2 == 0) input.mask = &mask;
        ExpectOracleCorners(image, input, AllRunnerVariants());
      }
    }
  }
}

TEST(MinimumDistanceStepTest, MoreUndecidedPeaksThanThereIsRoomForAreFoundInTheMap) {
  const TestImage image = TiledImage(140, 100, 5, 106);
  for (const auto& [shape, compression] : kKinds) {
    const RunnerInput input = InputFor(Detector::kShiTomasi, 17, shape, compression);
    ExpectOracleCorners(image, input, AllRunnerVariants());
    if (FrameLists::HasCoarseMaps(input.pipeline)) continue;  // they need no list
    StepRunner runner(image, FastestTarget(), 1, input);
    runner.RunUntil("survivors");
    const FrameLists& lists = runner.frame().lists;
    EXPECT_GT(*runner.frame().At(lists.strip_undecided, 0), lists.undecided_capacity[0]);
  }
}

TEST(MinimumDistanceStepTest, DenseCandidatesAreDecidedToTheLast) {
  const TestImage image = SceneImage(400, 300, 96);
  for (const auto& [shape, compression] : kKinds) {
    for (const int distance : {3, 9}) {
      RunnerInput input = InputFor(Detector::kShiTomasi, distance, shape, compression);
      input.parameters.quality_level = 1e-6f;
      ASSERT_GT(CandidatesOf(image, nullptr, input).size(), 60'000u);
      ExpectOracleCorners(image, input, AllRunnerVariants());
    }
  }
}

TEST(MinimumDistanceStepTest, PassesEndAtTheirLimit) {
  const TestImage image = SceneImage(300, 200, 97);
  for (const auto& [shape, compression] : kKinds) {
    for (const int max_passes : {1, 2, 3, 4, 7, 1000}) {
      for (const float quality : {0.01f, 1e-5f}) {
        RunnerInput input = InputFor(Detector::kShiTomasi, 5, shape, compression);
        input.pipeline.suppress.max_passes = max_passes;
        input.parameters.quality_level = quality;
        ExpectOracleCorners(image, input, {{ReferenceTarget(), 1}, {FastestTarget(), 5}});
      }
    }
  }
}

TEST(MinimumDistanceStepTest, EqualResponsesAreTakenInOrder) {
  for (const TestImage& image :
       {DotLattice(103, 71, 9), TiledImage(80, 61, 6, 98), TiledImage(61, 80, 7, 99)}) {
    for (const auto& [shape, compression] : kKinds) {
      for (const int distance : {2, 5, 8, 13, 31}) {
        ExpectOracleCorners(image, InputFor(Detector::kHarris, distance, shape, compression),
                            AllRunnerVariants());
      }
    }
  }
}

TEST(MinimumDistanceStepTest, SmallAndFlatImages) {
  for (const auto& [width, height] :
       {std::pair{9, 9}, {9, 10}, {10, 9}, {11, 24}, {40, 9}, {26, 25}}) {
    const TestImage image = NoiseImage(width, height, 100);
    for (const auto& [shape, compression] : kKinds) {
      for (const int distance : {1, 2, 5, 64}) {
        ExpectOracleCorners(image, InputFor(Detector::kShiTomasi, distance, shape, compression),
                            AllRunnerVariants());
      }
    }
  }
  ExpectOracleCorners(TestImage(90, 70),
                      InputFor(Detector::kHarris, 5, DistanceShape::kSquare, false),
                      AllRunnerVariants());
}

TEST(MinimumDistanceStepTest, FastCornersAreRankedByResponseAndKeepTheirScores) {
  const TestImage image = SceneImage(330, 220, 104);
  const TestImage mask = RandomMask(330, 220, 105);
  for (const Score score : {Score::kHarris, Score::kFast}) {
    for (const auto& [shape, compression] : kKinds) {
      for (const int distance : {1, 6, 15}) {
        RunnerInput input;  // LEVEL_QUOTA: corners with scores, not keys
        input.mask = &mask;
        input.pipeline.pyramid.levels = 1;
        input.pipeline.detect.score = score;
        input.pipeline.suppress.suppression = Suppression::kMinimumDistance;
        input.pipeline.suppress.minimum_distance_px = distance;
        input.pipeline.suppress.distance_shape = shape;
        input.pipeline.suppress.cornerness_compression = compression;
        input.parameters.max_features = 100'000;  // the first cut keeps all
        SCOPED_TRACE(NameOf(input));
        const OracleOptions options = OracleOptionsOf(input.pipeline, input.parameters);
        const testing::CornerPlanes planes =
            testing::OracleFastMap(PlaneOf(image.view()), options, options.threshold);
        std::vector<OracleFeature> candidates;
        for (int y = options.border; y < image.height_px() - options.border; ++y) {
          for (int x = options.border; x < image.width_px() - options.border; ++x) {
            if (planes.largest_threshold.At(x, y) == 0 || mask.At(x, y) == 0) continue;
            OracleFeature feature;
            feature.x = x;
            feature.y = y;
            feature.response = planes.response.At(x, y);
            feature.largest_threshold = planes.largest_threshold.At(x, y);
            candidates.push_back(feature);
          }
        }
        std::vector<Corner> expected;
        for (const OracleFeature& feature : PickByDistance(candidates, options)) {
          expected.push_back({static_cast<int16_t>(feature.x), static_cast<int16_t>(feature.y),
                              static_cast<int16_t>(feature.largest_threshold)});
        }
        const auto by_place = [](const Corner& a, const Corner& b) {
          return a.y != b.y ? a.y < b.y : a.x < b.x;
        };
        std::sort(expected.begin(), expected.end(), by_place);
        ASSERT_FALSE(expected.empty());
        for (const RunnerVariant& variant : AllRunnerVariants()) {
          SCOPED_TRACE(Describe(variant));
          StepRunner runner(image, variant.target, variant.threads, input);
          runner.RunUntil("survivors");
          std::vector<Corner> actual = runner.Survivors(0);
          std::sort(actual.begin(), actual.end(), by_place);
          ASSERT_EQ(actual, expected);
        }
      }
    }
  }
}

// A map of random entries, many of them equal, with what lies outside its region.
struct RandomMap {
  RandomMap(int width, int height, const Region& region, uint32_t values, std::mt19937* random)
      : entries(static_cast<size_t>(width * height + kMapRowSlack)) {
    for (uint32_t& entry : entries) {
      entry = (*random)() % 4 == 0 ? 0 : 0x80000000u + (*random)() % values;
    }
    map = {entries.data(), width, region};
  }
  std::vector<uint32_t> entries;
  PlaceMap map;
};

TEST(MinimumDistanceKernelsTest, EveryTargetFindsACandidateThatOutranksWhereThereIsOne) {
  std::mt19937 random(101);
  constexpr int kWidth = 97;
  constexpr int kHeight = 50;
  for (const int distance : {2, 4, 9, 21, 64}) {
    for (const bool is_disc : {false, true}) {
      const ConflictRows rows = ConflictRows::Of(algo::DistanceRuleOf(distance, is_disc, false));
      for (const uint32_t values : {1u, 3u, 1u << 20}) {
        RandomMap random_map(kWidth, kHeight, {3, 2, 90, 47}, values, &random);
        const PlaceMap& map = random_map.map;
        for (const KernelTarget& target : SimdTargets()) {
          const OutrankingKernel kernel = OutrankingKernelFor(target);
          for (int y = map.region.y_begin; y < map.region.y_end; y += 3) {
            for (int x = map.region.x_begin; x < map.region.x_end; ++x) {
              const uint32_t own = map.entries[y * map.pitch + x];
              if (own == 0) continue;
              for (const bool ties : {false, true}) {
                const ptrdiff_t found = kernel(map, rows, x, y, ties);
                ASSERT_EQ(found < 0, ReferenceOutranking(map, rows, x, y, ties) < 0)
                    << target.name << " distance " << distance << " x " << x << " y " << y;
                if (found < 0) continue;
                const int u = static_cast<int>(found % map.pitch);
                const int v = static_cast<int>(found / map.pitch);
                ASSERT_TRUE(map.region.Holds(u, v));
                ASSERT_LE(std::abs(v - y), rows.reach);
                ASSERT_LE(std::abs(u - x), rows.half_width[std::abs(v - y)]);
                ASSERT_TRUE(algo::Outranks(map.entries[found], u, v, own, x, y));
              }
            }
          }
        }
      }
    }
  }
}

TEST(MinimumDistanceKernelsTest, EveryTargetClearsWhatTheReferenceClears) {
  std::mt19937 random(102);
  for (const int distance : {2, 5, 16, 64}) {
    for (const bool is_disc : {false, true}) {
      const ConflictRows rows = ConflictRows::Of(algo::DistanceRuleOf(distance, is_disc, false));
      for (const KernelTarget& target : SimdTargets()) {
        RandomMap expected(140, 60, {5, 4, 131, 55}, 1000, &random);
        RandomMap actual = expected;
        actual.map.entries = actual.entries.data();
        for (int i = 0; i < 12; ++i) {
          const int x = 5 + static_cast<int>(random() % 126);
          const int y = 4 + static_cast<int>(random() % 51);
          ReferenceClearConflicts(expected.map, rows, x, y);
          ClearConflictsKernelFor(target)(actual.map, rows, x, y);
          ASSERT_EQ(actual.entries, expected.entries) << target.name << " x " << x << " y " << y;
        }
      }
    }
  }
}

TEST(MinimumDistanceKernelsTest, RowsOfAllLengths) {
  std::mt19937 random(103);
  for (const KernelTarget& target : SimdTargets()) {
    for (int count = 0; count < 100; ++count) {
      std::vector<uint32_t> upper(static_cast<size_t>(2 * count + kMapRowSlack));
      std::vector<uint32_t> lower(upper.size());
      for (uint32_t& entry : upper) entry = static_cast<uint32_t>(random());
      for (uint32_t& entry : lower) entry = static_cast<uint32_t>(random());
      std::vector<uint32_t> expected_blocks(static_cast<size_t>(count) + 1, 7);
      std::vector<uint32_t> actual_blocks = expected_blocks;
      ReferenceBlocks(upper.data(), lower.data(), count, expected_blocks.data());
      BlocksKernelFor(target)(upper.data(), lower.data(), count, actual_blocks.data());
      ASSERT_EQ(actual_blocks, expected_blocks) << target.name << " count " << count;

      std::vector<uint16_t> expected(static_cast<size_t>(count + kMapRowSlack));
      std::vector<uint16_t> actual(expected.size());
      const int number = ReferenceCandidates(upper.data(), count, 0x90000000u, expected.data());
      ASSERT_EQ(CandidatesKernelFor(target)(upper.data(), count, 0x90000000u, actual.data()),
                number);
      expected.resize(static_cast<size_t>(number));
      actual.resize(static_cast<size_t>(number));
      ASSERT_EQ(actual, expected) << target.name << " count " << count;
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
