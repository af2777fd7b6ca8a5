// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `bfrost` on the CPU backend: its published reference values, and the answers of the
// independent oracle over its options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/errors.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/given_descriptions.h"
#include "tests/cpu/oracle_variants.h"
#include "tests/cpu/published_values.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::DotLattice;
using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

PipelineOptions BFrost() { return (*FindPreset("bfrost"))->pipeline; }

TEST(CpuBFrostTest, EveryVariantGivesThePublishedValues) {
  ExpectPublishedValues(testing::BFrostReferenceAnswers(), kTestDataFolder);
}

std::vector<Variant> BfrostVariants() {
  std::vector<Variant> variants;
  const auto add = [&variants](std::string name, auto change) {
    Variant variant = {std::move(name), BFrost(), {}};
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
  add("Harris responses of 2 levels", [](O& o, P& p) {
    o.detect.score = Score::kHarris;
    o.pyramid.levels = 2;
    p.max_features = 60;
  });
  add("arcs of 12", [](O& o, P&) { o.detect.fast_arc_length = 12; });
  add("Harris responses, arcs of 11", [](O& o, P&) {
    o.detect.score = Score::kHarris;
    o.detect.fast_arc_length = 11;
  });
  add("quota", [](O& o, P&) {
    o.select.selection = Selection::kLevelQuota;
    o.pyramid = {.levels = 3, .scale_factor = 1.2f, .source = PyramidSource::kLevelZero};
  });
  add("without orientation", [](O& o, P&) { o.describe.orientation = Orientation::kNone; });
  add("centroid", [](O& o, P&) { o.describe.orientation = Orientation::kIntensityCentroid; });
  add("rBRIEF turned by the arc", [](O& o, P&) {
    o.describe.descriptor = Descriptor::kRBrief256;
    o.select.border_px = 22;
  });
  add("corners alone", [](O& o, P&) {
    o.describe.descriptor = Descriptor::kNone;
    o.select.border_px = 3;
  });
  add("corners without an angle", [](O& o, P&) {
    o.describe = {Orientation::kNone, Descriptor::kNone};
    o.select.border_px = 3;
  });
  return variants;
}

TEST(CpuBFrostTest, EqualsTheOracleOverItsOptions) {
  ExpectOracleOnSyntheticImages(BfrostVariants());
}

TEST(CpuBFrostTest, TiesAtTheCutGoByLevelThenRowThenColumn) {
  const auto backend = Backend();
  const TestImage image = DotLattice(400, 300, 9);
  for (const int wanted : {1, 10, 333}) {
    const auto features = Compute(*backend, image, BFrost(), {.max_features = wanted});
    ASSERT_EQ(features->count(), static_cast<size_t>(wanted));
    EXPECT_FALSE(features->truncated);
  }
  const auto ten = Compute(*backend, image, BFrost(), {.max_features = 10});
  const auto more = Compute(*backend, image, BFrost(), {.max_features = 333});
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(ten->x[i], more->x[i]);
    EXPECT_EQ(ten->y[i], more->y[i]);
  }
}

TEST(CpuBFrostTest, TheCapacityIsFilledWithTheBestAndSaysSo) {
  const auto backend = Backend();
  const TestImage image = SceneImage(500, 400, 41);
  PipelineOptions pipeline = BFrost();
  const auto best = Compute(*backend, image, pipeline, {.max_features = 20});
  pipeline.select.capacity = 20;
  const auto cut = Compute(*backend, image, pipeline, {.max_features = 500});
  EXPECT_TRUE(cut->truncated);
  EXPECT_FALSE(best->truncated);
  Features expected = *best;
  expected.truncated = true;
  EXPECT_EQ(FirstDifference(expected, *cut), "");
}

TEST(CpuBFrostTest, GivenKeypointsAreDescribedInTheNearestDirectionToTheirAngle) {
  PipelineOptions pipeline = BFrost();
  pipeline.pyramid.levels = 2;
  // Steps of the table, halves between two directions, and anything else.
  const auto angle_of = [](int i, float any_deg) {
    return i % 5 == 0 ? -1.0f : i % 5 == 1 ? 11.25f * static_cast<float>(i % 32) : any_deg;
  };
  const auto describe = [](const GreyPlane& plane, int x, int y, float angle_deg) {
    return testing::DescribeBFrost(plane, x, y, testing::TauOf(angle_deg));
  };
  EXPECT_GT(ExpectGivenAreDescribed(pipeline, SceneImage(420, 390, 42), /*reach_px=*/44, angle_of,
                                    describe),
            100u);
}

TEST(CpuBFrostTest, ItsDescriptorsAreNotMatchedWithThoseOfOrb) {
  const auto backend = Backend();
  auto bfrost = std::make_shared<Features>();
  bfrost->descriptor_bytes = 32;
  bfrost->descriptor_type = Descriptor::kBFrost256;
  auto orb = std::make_shared<Features>();
  orb->descriptor_bytes = 32;
  orb->descriptor_type = Descriptor::kRBrief256;
  auto unnamed = std::make_shared<Features>();
  unnamed->descriptor_bytes = 32;
  const auto bfrost_state = *backend->ImportState(bfrost);
  const auto orb_state = *backend->ImportState(orb);
  const auto unnamed_state = *backend->ImportState(unnamed);
  const MatchBatchAnswer matched =
      testing::RunMatches(*backend, {{bfrost_state, orb_state, {}},
                                     {unnamed_state, bfrost_state, {}},
                                     {unnamed_state, orb_state, {}},
                                     {bfrost_state, bfrost_state, {}}});
  for (const size_t refused : {0u, 1u}) {
    const absl::Status& status = matched.pairs[refused].status;
    EXPECT_EQ(ReasonOf(status), ErrorReason::kBadOptions);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("BFROST_256"));
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("RBRIEF_256"));
  }
  EXPECT_TRUE(matched.pairs[2].status.ok());
  EXPECT_TRUE(matched.pairs[3].status.ok());
}

TEST(CpuBFrostTest, AnswersNameTheirDescriptors) {
  const auto backend = Backend();
  const TestImage image = SceneImage(200, 200, 44);
  EXPECT_EQ(Compute(*backend, image, BFrost())->descriptor_kind(), Descriptor::kBFrost256);
  EXPECT_EQ(Compute(*backend, image)->descriptor_kind(), Descriptor::kRBrief256);
  PipelineOptions bare = BFrost();
  bare.describe.descriptor = Descriptor::kNone;
  EXPECT_EQ(Compute(*backend, image, bare)->descriptor_kind(), Descriptor::kNone);
}

}  // namespace
}  // namespace orbserve::cpu
