// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `orb-32` on the CPU backend: its published reference values, the answers of the
// independent oracle over its options, and matches to a reference of 128 vectors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/given_descriptions.h"
#include "tests/cpu/oracle_variants.h"
#include "tests/cpu/published_values.h"
#include "tests/support/feature_compare.h"
#include "tests/support/match_oracle.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

const Preset& Orb32() { return **FindPreset("orb-32"); }

TEST(CpuOrb32Test, EveryVariantGivesThePublishedValues) {
  ExpectPublishedValues(testing::Orb32ReferenceAnswers(), kTestDataFolder);
}

std::vector<Variant> Orb32Variants() {
  std::vector<Variant> variants;
  const auto add = [&variants](std::string name, auto change) {
    Variant variant = {std::move(name), Orb32().pipeline, Orb32().frame};
    change(variant.pipeline, variant.parameters);
    variants.push_back(variant);
  };
  using O = PipelineOptions;
  using P = FrameParameters;
  add("preset", [](O&, P&) {});
  add("all, low threshold",
      [](O&, P& p) { p = {.max_features = 100'000, .fast_threshold_grey = 3}; });
  add("few of 4 levels", [](O& o, P& p) {
    o.pyramid = {.levels = 4, .scale_factor = 1.3f};
    p.max_features = 37;
  });
  add("capacity below the wanted number", [](O& o, P&) { o.select.capacity = 50; });
  add("Harris responses of 2 levels, arcs of 11", [](O& o, P& p) {
    o.detect.score = Score::kHarris;
    o.detect.fast_arc_length = 11;
    o.pyramid.levels = 2;
    p.max_features = 60;
  });
  add("quota", [](O& o, P& p) {
    o.select.selection = Selection::kLevelQuota;
    o.pyramid = {.levels = 3, .scale_factor = 1.2f, .source = PyramidSource::kLevelZero};
    p.max_features = 300;
  });
  add("turned by the arc", [](O& o, P&) { o.describe.orientation = Orientation::kArcMiddle; });
  add("angles of the disc without a descriptor", [](O& o, P&) {
    o.describe.descriptor = Descriptor::kNone;
    o.select.border_px = 16;
  });
  return variants;
}

TEST(CpuOrb32Test, EqualsTheOracleOverItsOptions) {
  ExpectOracleOnSyntheticImages(Orb32Variants());
}

TEST(CpuOrb32Test, EqualsTheOracleOnImagesOfAnySmallSize) {
  ExpectOracleOnSmallImages(Orb32Variants(), /*seed=*/20264, /*most_side_px=*/70);
}

TEST(CpuOrb32Test, ExactlyAsManyAsWantedAreAnsweredWhereThereAre) {
  const auto backend = Backend();
  const TestImage image = testing::DotLattice(400, 300, 9);  // all responses are equal
  const auto features = Compute(*backend, image, Orb32().pipeline, Orb32().frame);
  ASSERT_EQ(features->count(), 128u);
  EXPECT_FALSE(features->truncated);
  for (size_t i = 1; i < features->count(); ++i) {
    EXPECT_TRUE(features->y[i - 1] < features->y[i] ||
                (features->y[i - 1] == features->y[i] && features->x[i - 1] < features->x[i]));
  }
}

TEST(CpuOrb32Test, GivenKeypointsAreDescribedAtTheirOwnAngle) {
  PipelineOptions pipeline = Orb32().pipeline;
  pipeline.pyramid = {.levels = 2, .scale_factor = 4.0f};  // the border is nearer than 4 pixels
  const auto angle_of = [](int i, float any_deg) { return i % 5 == 0 ? -1.0f : any_deg; };
  EXPECT_GT(ExpectGivenAreDescribed(pipeline, SceneImage(300, 220, 82), /*reach_px=*/4, angle_of,
                                    testing::DescribeRBrief32),
            400u);
}

TEST(CpuOrb32Test, MatchesToAReferenceOf128VectorsAreTheOracles) {
  const TestImage before = SceneImage(320, 240, 84);
  TestImage after = before;
  std::mt19937 random(85);
  for (int y = 0; y < after.height_px(); ++y) {
    for (int x = 0; x < after.width_px(); ++x) {
      const int grey = after.At(x, y) + static_cast<int>(random() % 9) - 4;
      after.At(x, y) = static_cast<uint8_t>(std::clamp(grey, 0, 255));
    }
  }
  std::vector<MatchOptions> all_options = {Orb32().match};
  all_options.push_back({.k = 1});
  all_options.push_back({.k = 3, .max_distance = 6});
  all_options.push_back({.ratio = 0.8f, .cross_check = true});
  for (const auto& backend : AllBackends()) {
    const auto train = Compute(*backend, before, Orb32().pipeline, Orb32().frame);
    const auto query = Compute(*backend, after, Orb32().pipeline, Orb32().frame);
    ASSERT_EQ(train->count(), 128u);
    ASSERT_EQ(query->count(), 128u);
    const auto train_state = *backend->ImportState(train);
    const auto query_state = *backend->ImportState(query);
    std::vector<MatchJob> jobs;
    for (const MatchOptions& options : all_options) {
      jobs.push_back({query_state, train_state, options});
    }
    const MatchBatchAnswer answer = testing::RunMatches(*backend, std::move(jobs));
    for (size_t i = 0; i < all_options.size(); ++i) {
      ASSERT_TRUE(answer.pairs[i].status.ok()) << answer.pairs[i].status;
      const Matches expected = testing::OracleMatch(*query, *train, all_options[i], {});
      const Matches& actual = answer.pairs[i].matches;
      EXPECT_EQ(actual.query_index, expected.query_index) << i;
      EXPECT_EQ(actual.train_index, expected.train_index) << i;
      EXPECT_EQ(actual.distance, expected.distance) << i;
      EXPECT_GT(expected.query_index.size(), 10u) << i;
    }
    // The preset's matches are one to one.
    std::vector<uint32_t> trains = answer.pairs[0].matches.train_index;
    std::sort(trains.begin(), trains.end());
    EXPECT_EQ(std::adjacent_find(trains.begin(), trains.end()), trains.end());
  }
}

TEST(CpuOrb32Test, ItsDescriptorsAreNotMatchedWithOthers) {
  const auto backend = Backend();
  const TestImage image = SceneImage(200, 200, 86);
  const auto orb32 = Compute(*backend, image, Orb32().pipeline, Orb32().frame);
  const auto orb = Compute(*backend, image);
  EXPECT_EQ(orb32->descriptor_kind(), Descriptor::kRBrief32);
  EXPECT_EQ(orb32->descriptor_bytes, 4);
  const auto orb32_state = *backend->ImportState(orb32);
  const auto orb_state = *backend->ImportState(orb);
  const MatchBatchAnswer matched =
      testing::RunMatches(*backend, {{orb32_state, orb_state, {}}, {orb_state, orb32_state, {}}});
  for (const auto& pair : matched.pairs) {
    EXPECT_EQ(ReasonOf(pair.status), ErrorReason::kBadOptions);
    EXPECT_THAT(std::string(pair.status.message()), ::testing::HasSubstr("RBRIEF_32"));
    EXPECT_THAT(std::string(pair.status.message()), ::testing::HasSubstr("RBRIEF_256"));
  }
}

}  // namespace
}  // namespace orbserve::cpu
