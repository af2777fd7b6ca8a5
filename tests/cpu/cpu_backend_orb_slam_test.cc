// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `orb-slam` on the CPU backend: its published reference values, and the independent
// oracle with the selections, cells and second thresholds that it can be asked for.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/oracle_variants.h"
#include "tests/cpu/published_values.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

const Preset& OrbSlam() { return **FindPreset("orb-slam"); }

TEST(CpuOrbSlamTest, EveryVariantGivesThePublishedValues) {
  ExpectPublishedValues(testing::OrbSlamReferenceAnswers(), kTestDataFolder);
}

std::vector<Variant> OrbSlamVariants() {
  std::vector<Variant> variants;
  const auto add = [&variants](std::string name, auto change) {
    Variant variant = {std::move(name), OrbSlam().pipeline, OrbSlam().frame};
    change(variant.pipeline, variant.parameters);
    variants.push_back(variant);
  };
  using O = PipelineOptions;
  using P = FrameParameters;
  add("preset", [](O&, P&) {});
  add("one threshold", [](O&, P& p) { p.fast_threshold_low_grey = 0; });
  add("7 features, fewer than the quotas of the levels", [](O&, P& p) { p.max_features = 7; });
  add("capacity below the wanted number", [](O& o, P&) { o.select.capacity = 60; });
  add("capacity of 2", [](O& o, P&) { o.select.capacity = 2; });
  add("Harris responses", [](O& o, P& p) {
    o.detect.score = Score::kHarris;
    p.max_features = 120;
  });
  add("quotas of the levels, second threshold", [](O& o, P&) {
    o.select.selection = Selection::kLevelQuota;
    o.detect.score = Score::kHarris;
  });
  add("best of the frame, second threshold", [](O& o, P& p) {
    o.select.selection = Selection::kBest;
    p.max_features = 90;
  });
  add("rounds over cells", [](O& o, P& p) {
    o.select.selection = Selection::kCell;
    p.max_features = 70;
  });
  add("rounds over large cells, capacity", [](O& o, P& p) {
    o.select.selection = Selection::kCell;
    o.select.capacity = 55;
    o.suppress.cell_width_px = 96;
    o.suppress.cell_height_px = 40;
    p.max_features = 70;
  });
  add("one corner a cell", [](O& o, P& p) {
    o.suppress.suppression = Suppression::kCell;
    o.select.selection = Selection::kBest;
    p.max_features = 25;
  });
  add("one corner a cell by Harris response, quadtree", [](O& o, P& p) {
    o.detect.score = Score::kHarris;
    o.suppress.suppression = Suppression::kCell;
    o.suppress.cell_height_px = 8;
    o.pyramid = {.levels = 5, .scale_factor = 1.4f};
    p.max_features = 40;
  });
  return variants;
}

TEST(CpuOrbSlamTest, EqualsTheOracleOverItsOptions) {
  ExpectOracleOnSyntheticImages(OrbSlamVariants());
}

TEST(CpuOrbSlamTest, ExactlyAsManyAsWantedAreAnsweredWhereThereAre) {
  const auto backend = Backend();
  const TestImage image = SceneImage(640, 480, 80);
  for (const int wanted : {1, 2, 3, 7, 9, 100, 333}) {
    FrameParameters parameters = OrbSlam().frame;
    parameters.max_features = wanted;
    const auto features = Compute(*backend, image, OrbSlam().pipeline, parameters);
    EXPECT_EQ(features->count(), static_cast<size_t>(wanted));
    EXPECT_FALSE(features->truncated);
  }
}

TEST(CpuOrbSlamTest, FramesWithAndWithoutASecondThresholdShareABatch) {
  const auto backend = Backend({.threads = 3});
  const TestImage image = SceneImage(400, 300, 81);
  const PipelineOptions& pipeline = OrbSlam().pipeline;
  auto plan = backend->MakePlan({400, 300, pipeline});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<FrameParameters> parameters;
  for (const int low : {7, 0, 20, 1, 0, 12}) {
    parameters.push_back(OrbSlam().frame);
    parameters.back().fast_threshold_low_grey = low;
  }
  std::vector<FrameJob> jobs;
  for (const FrameParameters& of_frame : parameters) {
    jobs.push_back(*testing::MakeJob(*backend, {.image = image.view(), .parameters = of_frame}));
  }
  const FrameBatchAnswer answer = testing::RunBatch(*backend, *plan, std::move(jobs));
  for (size_t i = 0; i < parameters.size(); ++i) {
    ASSERT_TRUE(answer.frames[i].status.ok()) << answer.frames[i].status;
    const auto alone = Compute(*backend, image, pipeline, parameters[i]);
    EXPECT_EQ(FirstDifference(*alone, *answer.frames[i].features), "") << i;
  }
}

}  // namespace
}  // namespace orbserve::cpu
