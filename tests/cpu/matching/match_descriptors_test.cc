// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/matching/match_descriptors.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/match_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::OracleMatch;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Row = std::vector<uint8_t>;

Features FeaturesOf(const std::vector<Row>& rows, int descriptor_bytes) {
  Features features;
  features.descriptor_bytes = descriptor_bytes;
  features.Resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy(rows[i].begin(), rows[i].end(),
              features.descriptors.begin() + static_cast<ptrdiff_t>(i) * descriptor_bytes);
  }
  return features;
}

// A descriptor whose first `ones` bits are set.
Row Ones(int ones, size_t bytes = 32) {
  Row row(bytes, 0);
  for (int i = 0; i < ones; ++i)
    row[static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(1 << (i % 8));
  return row;
}

// Kind of a set of test descriptors.
enum class Kind {
  kRandom,     // no structure
  kFewBits,    // only 3 bits vary: nearly every distance is a tie
  kOpposites,  // all zeros and all ones: no distances but 0 and the largest
  kApproach,   // against a query of zeros, every descriptor is nearer than the one before
};
constexpr Kind kKinds[] = {Kind::kRandom, Kind::kFewBits, Kind::kOpposites, Kind::kApproach};

Features MakeSet(Kind kind, int count, int descriptor_bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    Row row(static_cast<size_t>(descriptor_bytes), 0);
    switch (kind) {
      case Kind::kRandom:
        for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
        break;
      case Kind::kFewBits:
        row[0] = static_cast<uint8_t>(random() & 0x81u);
        row.back() = static_cast<uint8_t>(random() & 0x10u);
        break;
      case Kind::kOpposites:
        std::fill(row.begin(), row.end(), random() % 2 == 0 ? uint8_t{0} : uint8_t{0xFF});
        break;
      case Kind::kApproach: {
        const int bits = 8 * descriptor_bytes;
        const int ones = std::max(0, bits - i % (bits + 1));
        for (int b = 0; b < ones; ++b) {
          row[static_cast<size_t>(b / 8)] |= static_cast<uint8_t>(1 << (b % 8));
        }
        break;
      }
    }
    rows.push_back(row);
  }
  return FeaturesOf(rows, descriptor_bytes);
}

std::string FirstDifference(const Matches& actual, const Matches& expected) {
  if (actual.ratio_undefined != expected.ratio_undefined) return "ratio_undefined differs";
  for (size_t i = 0; i < std::max(actual.count(), expected.count()); ++i) {
    const auto text = [i](const Matches& m) {
      if (i >= m.count()) return std::string("nothing");
      return "query " + std::to_string(m.query_index[i]) + " train " +
             std::to_string(m.train_index[i]) + " distance " + std::to_string(m.distance[i]);
    };
    if (text(actual) != text(expected)) {
      return "match " + std::to_string(i) + ": " + text(actual) + ", expected " + text(expected);
    }
  }
  return "";
}

// Every case runs with the reference and with each SIMD target of this processor.
class MatchDescriptorsTest : public ::testing::TestWithParam<const MatchKernels*> {
 protected:
  const MatchKernels& kernels() const { return *GetParam(); }
  Matches Match(const Features& query, const Features& train, const MatchOptions& options) const {
    return MatchDescriptors(kernels(), query, train, options);
  }
};

std::vector<const MatchKernels*> AllMatchKernels() {
  std::vector<const MatchKernels*> all = AllSimdMatchKernels();
  all.push_back(&ReferenceMatchKernels());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Targets, MatchDescriptorsTest, ::testing::ValuesIn(AllMatchKernels()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(SimdMatchKernelsTest, IsTheFirstOfAllTargets) {
  const std::vector<const MatchKernels*> all = AllSimdMatchKernels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(&SimdMatchKernels(), all.front());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i]->name, all[j]->name);
  }
}

TEST_P(MatchDescriptorsTest, EqualsTheOracleForEverySize) {
  constexpr uint32_t kSeed = 20260101;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const std::array<MatchOptions, 6> all_options = {{{.k = 1},
                                                    {.k = 2},
                                                    {.k = 16},
                                                    {.k = 1, .ratio = 0.9f},
                                                    {.k = 1, .cross_check = true},
                                                    {.k = 3, .max_distance = 11}}};
  for (const int descriptor_bytes : {4, 8, 16, 32, 64, 128}) {
    for (const Kind kind : kKinds) {
      for (const int train_count : {0, 1, 2, 15, 16, 17, 63, 64, 65, 130}) {
        for (const int query_count : {0, 1, 2, 5, 17}) {
          const Features query = MakeSet(kind, query_count, descriptor_bytes, kSeed + 1);
          const Features train = MakeSet(kind, train_count, descriptor_bytes, kSeed + 2);
          for (const MatchOptions& options : all_options) {
            ASSERT_EQ(FirstDifference(Match(query, train, options),
                                      OracleMatch(query, train, options, {})),
                      "")
                << "bytes " << descriptor_bytes << " kind " << static_cast<int>(kind) << " query "
                << query_count << " train " << train_count << " k " << options.k << " ratio "
                << options.ratio << " cross-check " << options.cross_check;
          }
        }
      }
    }
  }
}

TEST_P(MatchDescriptorsTest, EqualsTheReferenceOnLargeSets) {
  constexpr uint32_t kSeed = 20260102;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const int descriptor_bytes : {4, 8, 16, 32, 64, 128}) {
    for (const Kind kind : kKinds) {
      for (const int train_count : {511, 512, 513, 1000, 1537}) {
        const Features query = MakeSet(kind, 203, descriptor_bytes, kSeed + 1);
        const Features train = MakeSet(kind, train_count, descriptor_bytes, kSeed + 2);
        for (const MatchOptions& options :
             {MatchOptions{.k = 1}, MatchOptions{.k = 2}, MatchOptions{.k = 16},
              MatchOptions{.k = 1, .ratio = 0.8f, .cross_check = true}}) {
          ASSERT_EQ(
              FirstDifference(Match(query, train, options),
                              MatchDescriptors(ReferenceMatchKernels(), query, train, options)),
              "")
              << "bytes " << descriptor_bytes << " kind " << static_cast<int>(kind) << " train "
              << train_count << " k " << options.k;
        }
      }
    }
  }
}

TEST_P(MatchDescriptorsTest, EqualDistancesTakeTheLowestTrainIndex) {
  // Distance 1 at 3, 70 and 600: in one vector, in another vector, and in another block.
  std::vector<Row> train(700, Ones(9));
  train[3] = train[70] = train[600] = Ones(1);
  const Features query = FeaturesOf({Ones(0)}, 32);
  const Matches best = Match(query, FeaturesOf(train, 32), {.k = 1});
  EXPECT_THAT(best.train_index, ElementsAre(3));
  const Matches four = Match(query, FeaturesOf(train, 32), {.k = 4});
  EXPECT_THAT(four.train_index, ElementsAre(3, 70, 600, 0));
  EXPECT_THAT(four.distance, ElementsAre(1, 1, 1, 9));
}

TEST_P(MatchDescriptorsTest, DistancesAroundTheLargestByteStayExact) {
  // All 256 bits differ, or all but one or two: more than fits into a byte.
  const Features query = FeaturesOf({Ones(0)}, 32);
  const Features train =
      FeaturesOf({Ones(256), Ones(255), Ones(254), Ones(256), Ones(255), Ones(254)}, 32);
  const Matches matches = Match(query, train, {.k = 16});
  EXPECT_THAT(matches.train_index, ElementsAre(2, 5, 1, 4, 0, 3));
  EXPECT_THAT(matches.distance, ElementsAre(254, 254, 255, 255, 256, 256));
  const Matches two = Match(query, train, {.k = 2});
  EXPECT_THAT(two.train_index, ElementsAre(2, 5));
  const Matches opposite = Match(query, FeaturesOf({Ones(256)}, 32), {.k = 1});
  EXPECT_THAT(opposite.distance, ElementsAre(256));
}

TEST_P(MatchDescriptorsTest, DistancesOf512BitsStayExact) {
  const auto row = [](int ones) { return Ones(ones, 64); };
  const Features query = FeaturesOf({row(0)}, 64);
  const Features train =
      FeaturesOf({row(512), row(511), row(257), row(256), row(255), row(254), row(512)}, 64);
  const Matches matches = Match(query, train, {.k = 16, .max_distance = 512});
  EXPECT_THAT(matches.train_index, ElementsAre(5, 4, 3, 2, 1, 0, 6));
  EXPECT_THAT(matches.distance, ElementsAre(254, 255, 256, 257, 511, 512, 512));
  const Matches far =
      Match(query, FeaturesOf({row(511), row(510), row(300)}, 64), {.k = 2, .max_distance = 512});
  EXPECT_THAT(far.train_index, ElementsAre(2, 1));
  for (const Kind kind : kKinds) {
    const Features many = MakeSet(kind, 700, 64, 20260110);
    const Features wanted = MakeSet(kind, 70, 64, 20260111);
    for (const int k : {1, 2, 16}) {
      const MatchOptions options = {.k = k, .max_distance = 512};
      ASSERT_EQ(
          FirstDifference(Match(wanted, many, options), OracleMatch(wanted, many, options, {})), "")
          << "kind " << static_cast<int>(kind) << " k " << k;
    }
  }
}

// A vector of 128 numbers: `value`, but for the first, which is `first`.
Row Vector(uint8_t first, uint8_t value) {
  Row row(128, value);
  row[0] = first;
  return row;
}

TEST_P(MatchDescriptorsTest, SquaredDistancesOfVectorsAreExactUpToTheLargest) {
  const Features train = FeaturesOf({Vector(255, 255), Vector(254, 255), Vector(255, 0),
                                     Vector(0, 254), Vector(255, 255), Vector(1, 0)},
                                    128);
  const Matches of_zeros = Match(FeaturesOf({Vector(0, 0)}, 128), train, {.k = 16});
  EXPECT_THAT(of_zeros.train_index, ElementsAre(5, 2, 3, 1, 0, 4));
  EXPECT_THAT(of_zeros.distance, ElementsAre(1, 65025, 8193532, 8322691, 8323200, 8323200));
  const Matches of_ones = Match(FeaturesOf({Vector(255, 255)}, 128), train, {.k = 16});
  EXPECT_THAT(of_ones.train_index, ElementsAre(0, 4, 1, 3, 2, 5));
  EXPECT_THAT(of_ones.distance, ElementsAre(0, 0, 1, 65152, 8258175, 8322691));
  const Matches two = Match(FeaturesOf({Vector(255, 255)}, 128), train, {.k = 2});
  EXPECT_THAT(two.train_index, ElementsAre(0, 4));
}

TEST_P(MatchDescriptorsTest, EqualVectorDistancesTakeTheLowestTrainIndex) {
  // One vector, another vector of the same group, and other groups.
  std::vector<Row> train(700, Vector(9, 200));
  train[3] = train[70] = train[600] = Vector(1, 200);
  const Features query = FeaturesOf({Vector(0, 200)}, 128);
  const Matches four = Match(query, FeaturesOf(train, 128), {.k = 4});
  EXPECT_THAT(four.train_index, ElementsAre(3, 70, 600, 0));
  EXPECT_THAT(four.distance, ElementsAre(1, 1, 1, 81));
}

TEST_P(MatchDescriptorsTest, RatioOfVectorsComparesRootsAndIsStrictAtEquality) {
  const Features query = FeaturesOf({Vector(0, 7)}, 128);
  const MatchOptions options = {.k = 1, .ratio = 0.8f};
  // 0.8f * 50 rounds to 40; the squares 1600 and 2500 would pass at 0.8.
  EXPECT_THAT(Match(query, FeaturesOf({Vector(40, 7), Vector(50, 7)}, 128), options).train_index,
              IsEmpty());
  EXPECT_THAT(Match(query, FeaturesOf({Vector(50, 7), Vector(39, 7)}, 128), options).train_index,
              ElementsAre(1));
}

TEST_P(MatchDescriptorsTest, InAWindowAVectorWithoutARivalIsComparedWithTheLargestDistance) {
  Features query = FeaturesOf({Vector(0, 0)}, 128);
  // Half the root of the largest distance, 8,323,200, is the root of 2,080,800.
  Row near(128, 0);
  std::fill(near.begin(), near.begin() + 31, uint8_t{255});
  near[31] = 252;  // 31 * 255 * 255 + 252 * 252 = 2,079,279
  Row far = near;
  far[32] = 55;  // 2,082,304
  Features train = FeaturesOf({near, Vector(0, 0)}, 128);
  train.x = {0.0f, 100.0f};
  const MatchOptions options = {.k = 1, .ratio = 0.5f, .window_px = 5.0f};
  const Matches matches = Match(query, train, options);
  EXPECT_THAT(matches.train_index, ElementsAre(0));
  EXPECT_THAT(matches.distance, ElementsAre(2079279));
  train = FeaturesOf({far, Vector(0, 0)}, 128);
  train.x = {0.0f, 100.0f};
  EXPECT_THAT(Match(query, train, options).train_index, IsEmpty());
}

TEST_P(MatchDescriptorsTest, FewerTrainDescriptorsThanNeighboursGiveThemAll) {
  const Features query = FeaturesOf({Ones(4), Ones(0)}, 32);
  const Features train = FeaturesOf({Ones(8), Ones(1), Ones(5)}, 32);
  const Matches matches = Match(query, train, {.k = 16});
  EXPECT_THAT(matches.query_index, ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(matches.train_index, ElementsAre(2, 1, 0, 1, 2, 0));
  EXPECT_THAT(matches.distance, ElementsAre(1, 3, 4, 1, 5, 8));
}

TEST_P(MatchDescriptorsTest, MaxDistanceIsInclusive) {
  const Features query = FeaturesOf({Ones(0)}, 32);
  const Features train = FeaturesOf({Ones(31), Ones(30), Ones(29)}, 32);
  EXPECT_THAT(Match(query, train, {.k = 3, .max_distance = 30}).train_index, ElementsAre(2, 1));
  EXPECT_THAT(Match(query, train, {.k = 3, .max_distance = 28}).train_index, IsEmpty());
  EXPECT_THAT(Match(query, query, {.k = 1, .max_distance = 0}).train_index, ElementsAre(0));
}

TEST_P(MatchDescriptorsTest, RatioIsStrictAtEquality) {
  const Features query = FeaturesOf({Ones(0)}, 32);
  EXPECT_THAT(
      Match(query, FeaturesOf({Ones(40), Ones(50)}, 32), {.k = 1, .ratio = 0.8f}).train_index,
      IsEmpty());
  EXPECT_THAT(
      Match(query, FeaturesOf({Ones(50), Ones(39)}, 32), {.k = 1, .ratio = 0.8f}).train_index,
      ElementsAre(1));
  // Two equally near: ambiguous at any ratio, even at distance 0.
  EXPECT_THAT(Match(query, FeaturesOf({Ones(0), Ones(0)}, 32), {.k = 1, .ratio = 1.0f}).train_index,
              IsEmpty());
}

TEST_P(MatchDescriptorsTest, RatioComparesWithTheSecondBestBeyondTheDistanceLimit) {
  const Features query = FeaturesOf({Ones(0)}, 32);
  const Features train = FeaturesOf({Ones(20), Ones(100)}, 32);
  EXPECT_THAT(Match(query, train, {.k = 1, .ratio = 0.5f, .max_distance = 20}).train_index,
              ElementsAre(0));
}

TEST_P(MatchDescriptorsTest, RatioWithOneTrainDescriptorPassesNothingAndSaysSo) {
  const Features query = FeaturesOf({Ones(0), Ones(7)}, 32);
  const Features train = FeaturesOf({Ones(1)}, 32);
  const Matches with_ratio = Match(query, train, {.k = 1, .ratio = 0.8f});
  EXPECT_EQ(with_ratio.count(), 0u);
  EXPECT_TRUE(with_ratio.ratio_undefined);
  const Matches without = Match(query, train, {.k = 1});
  EXPECT_EQ(without.count(), 2u);
  EXPECT_FALSE(without.ratio_undefined);
}

TEST_P(MatchDescriptorsTest, CrossCheckKeepsMutualNearestOnly) {
  // Train 0 is nearest to queries 0 and 1, and nearer to query 1.
  const Features query = FeaturesOf({Ones(10), Ones(12), Ones(100)}, 32);
  const Features train = FeaturesOf({Ones(13), Ones(98), Ones(200)}, 32);
  const Matches matches = Match(query, train, {.k = 1, .cross_check = true});
  EXPECT_THAT(matches.query_index, ElementsAre(1, 2));
  EXPECT_THAT(matches.train_index, ElementsAre(0, 1));
  EXPECT_THAT(matches.distance, ElementsAre(1, 2));
}

TEST_P(MatchDescriptorsTest, CrossCheckBreaksTiesByTheLowestIndexOnBothSides) {
  const Features query = FeaturesOf({Ones(5), Ones(5), Ones(5)}, 32);
  const Features train = FeaturesOf({Ones(5), Ones(5)}, 32);
  const Matches matches = Match(query, train, {.k = 1, .cross_check = true});
  EXPECT_THAT(matches.query_index, ElementsAre(0));
  EXPECT_THAT(matches.train_index, ElementsAre(0));
}

TEST_P(MatchDescriptorsTest, CrossCheckIsSymmetric) {
  constexpr uint32_t kSeed = 20260103;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const Kind kind : kKinds) {
    const Features a = MakeSet(kind, 150, 32, kSeed);
    const Features b = MakeSet(kind, 171, 32, kSeed + 1);
    const Matches forward = Match(a, b, {.k = 1, .cross_check = true});
    const Matches backward = Match(b, a, {.k = 1, .cross_check = true});
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    std::vector<std::pair<uint32_t, uint32_t>> swapped;
    for (size_t i = 0; i < forward.count(); ++i) {
      pairs.emplace_back(forward.query_index[i], forward.train_index[i]);
    }
    for (size_t i = 0; i < backward.count(); ++i) {
      swapped.emplace_back(backward.train_index[i], backward.query_index[i]);
    }
    EXPECT_THAT(pairs, ::testing::UnorderedElementsAreArray(swapped));
    EXPECT_FALSE(pairs.empty());
  }
}

TEST_P(MatchDescriptorsTest, EmptySetsGiveNoMatches) {
  const Features none = FeaturesOf({}, 32);
  const Features some = FeaturesOf({Ones(1), Ones(2)}, 32);
  for (const MatchOptions& options :
       {MatchOptions{.k = 2}, MatchOptions{.k = 1, .ratio = 0.5f, .cross_check = true}}) {
    EXPECT_EQ(Match(none, some, options).count(), 0u);
    EXPECT_EQ(Match(some, none, options).count(), 0u);
    EXPECT_EQ(Match(none, none, options).count(), 0u);
  }
}

TEST_P(MatchDescriptorsTest, AnyRangeOfQueriesGivesTheSameLists) {
  constexpr uint32_t kSeed = 20260104;
  constexpr int kQueries = 41;
  constexpr int kNeighbours = 3;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (const int descriptor_bytes : {4, 8, 16, 32, 64, 128}) {
    const Features query = MakeSet(Kind::kRandom, kQueries, descriptor_bytes, kSeed);
    const Features train = MakeSet(Kind::kRandom, 700, descriptor_bytes, kSeed + 1);
    const auto bytes = static_cast<size_t>(MatchScratchBytes(700, descriptor_bytes));
    std::vector<uint8_t> memory(bytes + 64);
    uint8_t* const scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    kernels().prepare_train(train.descriptors.data(), 700, descriptor_bytes, scratch);
    const auto lists = [&](int step) {
      std::vector<Neighbour> nearest(kQueries * kNeighbours, 0);
      for (int begin = 0; begin < kQueries; begin += step) {
        kernels().nearest(query.descriptors.data(), begin, std::min(begin + step, kQueries),
                          train.descriptors.data(), 700, descriptor_bytes, kNeighbours, scratch,
                          nearest.data());
      }
      return nearest;
    };
    const std::vector<Neighbour> whole = lists(kQueries);
    for (const int step : {1, 2, 3, 7, 40}) EXPECT_EQ(lists(step), whole) << "step " << step;
  }
}

// Gives the features random places on a grid of quarter pixels, which puts many on the edges of
// windows.
void Scatter(int width_px, int height_px, std::mt19937& random, Features* features) {
  for (size_t i = 0; i < features->count(); ++i) {
    features->x[i] = static_cast<float>(random() % static_cast<unsigned>(4 * width_px)) * 0.25f;
    features->y[i] = static_cast<float>(random() % static_cast<unsigned>(4 * height_px)) * 0.25f;
  }
}

Matches WindowOracle(const Features& query, const Features& train, const MatchOptions& options) {
  return OracleMatch(query, train, options,
                     {options.window_px, options.offset_x_px, options.offset_y_px});
}

TEST_P(MatchDescriptorsTest, MatchesInAWindowAreTheOracles) {
  constexpr uint32_t kSeed = 20260107;
  std::mt19937 random(kSeed);
  size_t matched = 0;
  for (int set = 0; set < 600; ++set) {
    const int descriptor_bytes = 4 << (set % 6);
    const Kind kind = kKinds[random() % 4];
    Features query = MakeSet(kind, static_cast<int>(random() % 90), descriptor_bytes, random());
    Features train = MakeSet(kind, static_cast<int>(random() % 90), descriptor_bytes, random());
    Scatter(120, 80, random, &query);
    Scatter(120, 80, random, &train);
    MatchOptions options;
    options.window_px = static_cast<float>(1 + random() % 200) * 0.25f;
    options.offset_x_px = static_cast<float>(random() % 80) * 0.25f - 10.0f;
    options.offset_y_px = static_cast<float>(random() % 80) * 0.25f - 10.0f;
    options.max_distance = random() % 2 == 0 ? 256 : static_cast<int>(random() % 40);
    constexpr int kNeighbours[] = {1, 1, 1, 2, 3, 16};
    options.k = kNeighbours[random() % 6];
    if (options.k == 1) {
      options.cross_check = random() % 2 == 0;
      options.ratio = random() % 2 == 0 ? 0.8f : 0.0f;
    }
    const Matches expected = WindowOracle(query, train, options);
    ASSERT_EQ(FirstDifference(Match(query, train, options), expected), "")
        << "seed " << kSeed << " set " << set << " bytes " << descriptor_bytes << " k " << options.k
        << " window " << options.window_px;
    matched += expected.count();
  }
  EXPECT_GT(matched, 5000u);
}

TEST_P(MatchDescriptorsTest, WindowsOfAnySizeInLargeSetsGiveTheReferencesMatches) {
  constexpr uint32_t kSeed = 20260108;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  Features query = MakeSet(Kind::kRandom, 150, 32, kSeed + 1);
  Features train = MakeSet(Kind::kRandom, 2001, 32, kSeed + 2);
  Scatter(640, 480, random, &query);
  Scatter(640, 480, random, &train);
  // Many at one place, some at equal heights, some far away.
  for (size_t i = 0; i < 200; ++i) {
    train.x[i * 3] = 320.0f;
    train.y[i * 3] = 240.0f;
    train.y[i * 7] = 100.0f;
  }
  query.x[0] = train.x[0] = 1e30f;
  query.y[1] = train.y[1] = -1e30f;
  query.x[2] = train.x[2] = 3e38f;
  for (const float window_px : {1e-30f, 0.25f, 20.0f, 333.0f, 1e4f, 3e38f}) {
    for (const float offset_px : {0.0f, -7.5f, 3e38f}) {
      for (MatchOptions options :
           {MatchOptions{.k = 1, .ratio = 0.9f, .cross_check = true}, MatchOptions{.k = 5}}) {
        options.window_px = window_px;
        options.offset_x_px = offset_px;
        ASSERT_EQ(FirstDifference(Match(query, train, options),
                                  MatchDescriptors(ReferenceMatchKernels(), query, train, options)),
                  "")
            << "window " << window_px << " offset " << offset_px << " k " << options.k;
      }
    }
  }
}

// Bands and epipolar lines of every kind; half of them beside a window.
MatchOptions RandomBand(std::mt19937& random) {
  const auto quarters = [&](int least, unsigned number) {
    return static_cast<float>(least + static_cast<int>(random() % number)) * 0.25f;
  };
  MatchOptions options;
  if (random() % 2 == 0) options.min_dx_px = quarters(-120, 240);
  if (random() % 2 == 0) {
    options.max_dx_px = std::max(options.min_dx_px, -40.0f) + quarters(0, 300);
  }
  if (random() % 2 == 0) options.max_dy_px = quarters(0, 80);
  if (random() % 2 == 0) {
    // Rows moved by a whole number, whose products are exact; or any lines.
    const double rows[] = {0, 0, 0, 0, 0, -1, 0, 1, static_cast<double>(random() % 20) - 10};
    const double scale = random() % 2 == 0 ? 1.0 : 1e-5 * (1.0 + static_cast<double>(random() % 9));
    const bool any = random() % 2 == 0;
    for (size_t i = 0; i < 9; ++i) {
      const double number = static_cast<double>(random() % 2001) / 1000.0 - 1.0;
      options.fundamental[i] = scale * (any ? number * (i % 3 == 2 ? 50 : 1) : rows[i]);
    }
    options.max_epipolar_px = quarters(1, 40);
  }
  if (random() % 2 == 0) {
    options.window_px = quarters(1, 300);
    options.offset_x_px = quarters(-40, 80);
    options.offset_y_px = quarters(-40, 80);
  }
  return options;
}

TEST_P(MatchDescriptorsTest, MatchesInABandAreTheOracles) {
  constexpr uint32_t kSeed = 20261107;
  std::mt19937 random(kSeed);
  size_t matched = 0;
  for (int set = 0; set < 900; ++set) {
    const int descriptor_bytes = 4 << (set % 6);
    const Kind kind = kKinds[random() % 4];
    Features query = MakeSet(kind, static_cast<int>(random() % 160), descriptor_bytes, random());
    Features train = MakeSet(kind, static_cast<int>(random() % 160), descriptor_bytes, random());
    Scatter(120, 80, random, &query);
    Scatter(120, 80, random, &train);
    MatchOptions options = RandomBand(random);
    options.max_distance = random() % 2 == 0 ? 256 : static_cast<int>(random() % 40);
    constexpr int kNeighbours[] = {1, 1, 1, 2, 3, 16};
    options.k = kNeighbours[random() % 6];
    if (options.k == 1) {
      options.cross_check = random() % 2 == 0;
      options.ratio = random() % 2 == 0 ? 0.8f : 0.0f;
    }
    ASSERT_TRUE(options.Validate().ok()) << options.Validate();
    const Matches expected = WindowOracle(query, train, options);
    ASSERT_EQ(FirstDifference(Match(query, train, options), expected), "")
        << "seed " << kSeed << " set " << set << " bytes " << descriptor_bytes << " k " << options.k
        << " dx " << options.min_dx_px << " to " << options.max_dx_px << " dy " << options.max_dy_px
        << " epipolar " << options.max_epipolar_px << " window " << options.window_px;
    matched += expected.count();
  }
  EXPECT_GT(matched, 8000u);
}

TEST_P(MatchDescriptorsTest, BandsInLargeSetsGiveTheOraclesMatches) {
  constexpr uint32_t kSeed = 20261108;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  Features query = MakeSet(Kind::kRandom, 150, 32, kSeed + 1);
  Features train = MakeSet(Kind::kRandom, 2001, 32, kSeed + 2);
  Scatter(640, 480, random, &query);
  Scatter(640, 480, random, &train);
  // Many in one row, and places that are far away or none.
  for (size_t i = 0; i < 200; ++i) train.y[i * 7] = 100.0f;
  for (Features* side : {&query, &train}) {
    side->x[0] = side->y[1] = 1e30f;
    side->x[2] = 3e38f;
    side->x[3] = -3e38f;
    side->x[4] = side->y[5] = kNaN;
    side->x[6] = kInfinity;
    side->y[7] = -kInfinity;
  }
  const std::array<double, 9> rows = {0, 0, 0, 0, 0, -1, 0, 1, 0};
  const std::array<double, 9> columns = {0, 0, 1, 0, 0, 0, -1, 0, 2.5};
  const std::array<double, 9> turned = {0, -0.002, 0.4, 0.0017, 0, -0.9, -0.3, 1.1, 12};
  const MatchOptions bands[] = {{.min_dx_px = 0.0f, .max_dx_px = 64.0f, .max_dy_px = 1.5f},
                                {.max_dy_px = 0.0f},
                                {.min_dx_px = -0.25f},
                                {.max_dx_px = -600.0f},
                                {.fundamental = rows, .max_epipolar_px = 2.0f},
                                {.fundamental = columns, .max_epipolar_px = 0.25f},
                                {.fundamental = turned, .max_epipolar_px = 1e-30f},
                                {.fundamental = turned, .max_epipolar_px = 3.0f},
                                {.fundamental = turned, .max_epipolar_px = 1e6f},
                                {.window_px = 50.0f,
                                 .offset_x_px = -20.0f,
                                 .min_dx_px = 5.0f,
                                 .max_dy_px = 20.0f,
                                 .fundamental = turned,
                                 .max_epipolar_px = 100.0f}};
  size_t matched = 0;
  for (const MatchOptions& band : bands) {
    for (const bool mutual : {false, true}) {
      MatchOptions options = band;
      options.k = mutual ? 1 : 5;
      options.ratio = mutual ? 0.95f : 0.0f;
      options.cross_check = mutual;
      const Matches expected = WindowOracle(query, train, options);
      ASSERT_EQ(FirstDifference(Match(query, train, options), expected), "")
          << "dx " << options.min_dx_px << " to " << options.max_dx_px << " dy "
          << options.max_dy_px << " epipolar " << options.max_epipolar_px;
      matched += expected.count();
    }
  }
  EXPECT_GT(matched, 2000u);
}

TEST_P(MatchDescriptorsTest, TheDisparityOfALeftQueryIsPositive) {
  Features left = FeaturesOf({Ones(0)}, 32);
  Features right = FeaturesOf({Ones(3), Ones(0)}, 32);
  left.x = {100.0f};
  right.x = {90.0f, 110.0f};
  const MatchOptions band = {.min_dx_px = 0.0f, .max_dx_px = 10.0f};
  EXPECT_THAT(Match(left, right, band).train_index, ElementsAre(0));
  EXPECT_THAT(Match(right, left, band).query_index, ElementsAre(1));
}

TEST_P(MatchDescriptorsTest, CrossCheckInABandComparesAdmissiblePairsOnly) {
  // Query 1 is nearer to the train descriptor, and above its line.
  Features query = FeaturesOf({Ones(6), Ones(1)}, 32);
  Features train = FeaturesOf({Ones(0)}, 32);
  query.y = {3.0f, 60.0f};
  train.y = {5.0f};
  const MatchOptions line = {
      .cross_check = true, .fundamental = {0, 0, 0, 0, 0, -1, 0, 1, 2}, .max_epipolar_px = 0.5f};
  EXPECT_THAT(Match(query, train, line).query_index, ElementsAre(0));
  EXPECT_THAT(Match(query, train, {.cross_check = true, .max_dy_px = 2.0f}).query_index,
              ElementsAre(0));
  EXPECT_THAT(Match(query, train, {.cross_check = true}).query_index, ElementsAre(1));
}

TEST_P(MatchDescriptorsTest, AWindowRoundEverythingChangesNothing) {
  constexpr uint32_t kSeed = 20260109;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  Features query = MakeSet(Kind::kRandom, 150, 32, kSeed + 1);
  Features train = MakeSet(Kind::kRandom, 700, 32, kSeed + 2);
  Scatter(640, 480, random, &query);
  Scatter(640, 480, random, &train);
  for (MatchOptions options : {MatchOptions{.k = 4}, MatchOptions{.k = 1, .ratio = 0.95f},
                               MatchOptions{.k = 1, .cross_check = true}}) {
    const Matches everywhere = Match(query, train, options);
    EXPECT_GT(everywhere.count(), 10u);
    options.window_px = 640.0f;
    EXPECT_EQ(FirstDifference(Match(query, train, options), everywhere), "");
  }
}

TEST_P(MatchDescriptorsTest, PlacesThatAreNotFiniteLieInNoWindow) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Features query = FeaturesOf({Ones(0), Ones(1), Ones(2), Ones(3)}, 32);
  Features train = FeaturesOf({Ones(0), Ones(1), Ones(2), Ones(4)}, 32);
  query.x = {kNaN, kInfinity, 10.0f, 10.0f};
  train.x = {kNaN, kInfinity, kNaN, 11.0f};
  const Matches matches = Match(query, train, {.k = 16, .window_px = 5.0f});
  EXPECT_THAT(matches.query_index, ElementsAre(2, 3));
  EXPECT_THAT(matches.train_index, ElementsAre(3, 3));
  EXPECT_THAT(matches.distance, ElementsAre(2, 1));
}

TEST_P(MatchDescriptorsTest, InAWindowAPlaceWithoutARivalPassesTheRatioTestIfItIsNear) {
  Features query = FeaturesOf({Ones(0)}, 32);
  Features train = FeaturesOf({Ones(127), Ones(0)}, 32);
  train.x = {0.0f, 100.0f};
  const MatchOptions options = {.k = 1, .ratio = 0.5f, .window_px = 5.0f};
  // 127 < 0.5 * 256.
  EXPECT_THAT(Match(query, train, options).train_index, ElementsAre(0));
  train = FeaturesOf({Ones(128), Ones(0)}, 32);
  train.x = {0.0f, 100.0f};
  EXPECT_THAT(Match(query, train, options).train_index, IsEmpty());
  // A train set of one passes nothing and says so, window or not.
  const Matches one = Match(query, FeaturesOf({Ones(0)}, 32), options);
  EXPECT_THAT(one.train_index, IsEmpty());
  EXPECT_TRUE(one.ratio_undefined);
}

TEST_P(MatchDescriptorsTest, CrossCheckInAWindowComparesAdmissiblePairsOnly) {
  // Query 1 is nearer to the train descriptor, and too far away to be its rival.
  Features query = FeaturesOf({Ones(6), Ones(1)}, 32);
  const Features train = FeaturesOf({Ones(0)}, 32);
  query.x = {3.0f, 60.0f};
  const Matches matches = Match(query, train, {.k = 1, .cross_check = true, .window_px = 5.0f});
  EXPECT_THAT(matches.query_index, ElementsAre(0));
  EXPECT_THAT(Match(query, train, {.k = 1, .cross_check = true}).query_index, ElementsAre(1));
}

// Runs slices of its own choice and raises a flag after some of them.
class CountedSlices final : public MatchSlices {
 public:
  CountedSlices(int size, int cancel_after) : size_(size), cancel_after_(cancel_after) {}
  void ForEach(int count, int, absl::FunctionRef<void(int, int)> slice) override {
    for (int begin = 0; begin < count; begin += size_) {
      if (runs++ == cancel_after_) cancelled = true;
      slice(begin, std::min(begin + size_, count));
    }
  }
  std::atomic<bool> cancelled{false};
  int runs = 0;

 private:
  const int size_;
  const int cancel_after_;
};

TEST_P(MatchDescriptorsTest, AnswerDoesNotDependOnTheSlices) {
  constexpr uint32_t kSeed = 20260106;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const Features query = MakeSet(Kind::kRandom, 331, 32, kSeed);
  const Features train = MakeSet(Kind::kRandom, 300, 32, kSeed + 1);
  const MatchOptions options = {.k = 1, .cross_check = true};
  const Matches whole = Match(query, train, options);
  for (const int size : {1, 5, 8, 64, 1000}) {
    CountedSlices slices(size, /*cancel_after=*/-1);
    const auto sliced =
        MatchDescriptors(kernels(), query, train, options, &slices.cancelled, slices);
    ASSERT_TRUE(sliced.has_value());
    EXPECT_EQ(FirstDifference(*sliced, whole), "") << "slices of " << size;
  }
}

TEST_P(MatchDescriptorsTest, AnswerInAWindowDoesNotDependOnTheSlices) {
  constexpr uint32_t kSeed = 20260110;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  Features query = MakeSet(Kind::kRandom, 331, 32, kSeed);
  Features train = MakeSet(Kind::kRandom, 300, 32, kSeed + 1);
  Scatter(200, 200, random, &query);
  Scatter(200, 200, random, &train);
  const MatchOptions options = {.k = 1, .cross_check = true, .window_px = 40.0f};
  const Matches whole = WindowOracle(query, train, options);
  EXPECT_GT(whole.count(), 50u);
  for (const int size : {1, 5, 64, 1000}) {
    CountedSlices slices(size, /*cancel_after=*/-1);
    const auto sliced =
        MatchDescriptors(kernels(), query, train, options, &slices.cancelled, slices);
    ASSERT_TRUE(sliced.has_value());
    EXPECT_EQ(FirstDifference(*sliced, whole), "") << "slices of " << size;
  }
  CountedSlices cancelled(64, /*cancel_after=*/3);
  EXPECT_FALSE(MatchDescriptors(kernels(), query, train, options, &cancelled.cancelled, cancelled)
                   .has_value());
}

TEST_P(MatchDescriptorsTest, ACancelledMatchHasNoAnswerWhereverItWas) {
  constexpr uint32_t kSeed = 20260107;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const Features query = MakeSet(Kind::kRandom, 100, 32, kSeed);
  const MatchOptions options = {.k = 1, .cross_check = true};
  // A hundred slices forward and as many back: every descriptor is its own nearest.
  for (const int cancel_after : {0, 50, 99, 100, 199}) {
    CountedSlices slices(1, cancel_after);
    EXPECT_FALSE(
        MatchDescriptors(kernels(), query, query, options, &slices.cancelled, slices).has_value())
        << cancel_after;
  }
  CountedSlices before(1, -1);
  before.cancelled = true;
  EXPECT_FALSE(
      MatchDescriptors(kernels(), query, query, options, &before.cancelled, before).has_value());
  EXPECT_EQ(before.runs, 0);
  CountedSlices after(1, 200);
  EXPECT_TRUE(
      MatchDescriptors(kernels(), query, query, options, &after.cancelled, after).has_value());
}

TEST_P(MatchDescriptorsTest, AnswerDoesNotDependOnTheNumberOfThreads) {
  constexpr uint32_t kSeed = 20260105;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const Features query = MakeSet(Kind::kRandom, 400, 32, kSeed);
  const Features train = MakeSet(Kind::kRandom, 300, 32, kSeed + 1);
  const MatchOptions options = {.k = 1, .ratio = 0.95f, .cross_check = true};
  const Matches one = tbb::task_arena(1).execute([&] { return Match(query, train, options); });
  for (const int threads : {2, 7}) {
    const Matches many =
        tbb::task_arena(threads).execute([&] { return Match(query, train, options); });
    EXPECT_EQ(FirstDifference(many, one), "") << threads << " threads";
  }
}

}  // namespace
}  // namespace orbserve::cpu
