// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `oriented-fast` on the CPU backend: its published reference values, and the answers of
// the independent oracle over scores, windows and comparisons of FAST corners.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <random>
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

const Preset& OrientedFast() { return **FindPreset("oriented-fast"); }

TEST(CpuOrientedFastTest, EveryVariantGivesThePublishedValues) {
  ExpectPublishedValues(testing::OrientedFastReferenceAnswers(), kTestDataFolder);
}

TEST(CpuVioTest, EveryVariantGivesThePublishedValues) {
  ExpectPublishedValues(testing::VioReferenceAnswers(), kTestDataFolder);
}

std::vector<Variant> OrientedFastVariants() {
  std::vector<Variant> variants;
  const auto add = [&variants](std::string name, auto change) {
    Variant variant = {std::move(name), OrientedFast().pipeline, OrientedFast().frame};
    change(variant.pipeline, variant.parameters);
    variants.push_back(variant);
  };
  using O = PipelineOptions;
  using P = FrameParameters;
  add("preset", [](O&, P&) {});
  add("few, window of 5, low threshold", [](O& o, P& p) {
    o.suppress.window_px = 5;
    p.fast_threshold_grey = 4;
    p.max_features = 37;
  });
  add("Harris by FAST score, window of 7", [](O& o, P& p) {
    o.suppress.compare = Compare::kFast;
    o.suppress.window_px = 7;
    p.max_features = 300;
  });
  add("Harris by FAST score with quotas, window of 5", [](O& o, P& p) {
    o.suppress.compare = Compare::kFast;
    o.suppress.window_px = 5;
    o.select.selection = Selection::kLevelQuota;
    p = {.max_features = 60, .fast_threshold_grey = 6};
  });
  add("Harris with quotas, capacity below the wanted number", [](O& o, P& p) {
    o.select.selection = Selection::kLevelQuota;
    o.select.capacity = 30;
    p = {.max_features = 80, .fast_threshold_grey = 6};
  });
  add("largest thresholds, window of 9, compare SCORE", [](O& o, P& p) {
    o.detect.score = Score::kFast;
    o.suppress.window_px = 9;
    p.fast_threshold_grey = 3;
  });
  add("the detection of vio", [](O& o, P& p) {
    o.pyramid.levels = 2;
    o.detect.fast_arc_length = 10;
    o.detect.score = Score::kSadArc;
    o.select.border_px = 9;
    o.describe.orientation = Orientation::kNone;
    p.fast_threshold_grey = 10;
  });
  // Few features of many cells: weak corners of level 0 are not looked at.
  const auto vio = [](O& o, P& p) {
    o = (*FindPreset("vio"))->pipeline;
    p = (*FindPreset("vio"))->frame;
    p.max_features = 10;
  };
  add("vio", vio);
  add("vio, small cells, window of 7, capacity below the wanted number", [vio](O& o, P& p) {
    vio(o, p);
    o.pyramid = {.levels = 4, .scale_factor = 1.5f};
    o.detect.fast_arc_length = 9;
    o.suppress.window_px = 7;
    o.suppress.cell_width_px = 32;
    o.suppress.cell_height_px = 8;
    o.select.capacity = 7;
  });
  add("vio, second threshold", [vio](O& o, P& p) {
    vio(o, p);
    p.fast_threshold_grey = 30;
    p.fast_threshold_low_grey = 5;
  });
  add("sums over arcs of 12, window of 9, smallest border", [](O& o, P& p) {
    o.pyramid = {.levels = 3, .scale_factor = 1.3f, .source = PyramidSource::kLevelZero};
    o.detect.fast_arc_length = 12;
    o.detect.score = Score::kSadArc;
    o.suppress.window_px = 9;
    o.select.border_px = 3;
    o.describe.orientation = Orientation::kArcMiddle;
    p.fast_threshold_grey = 5;
  });
  add("sums over circles with quotas, described", [](O& o, P& p) {
    o.detect.fast_arc_length = 11;
    o.detect.score = Score::kSadCircle;
    o.suppress.window_px = 7;
    o.select.selection = Selection::kLevelQuota;
    o.select.border_px = 22;
    o.describe.descriptor = Descriptor::kRBrief256;
    p = {.max_features = 200, .fast_threshold_grey = 12};
  });
  return variants;
}

TEST(CpuOrientedFastTest, EqualsTheOracleOverItsOptions) {
  ExpectOracleOnSyntheticImages(OrientedFastVariants());
}

TEST(CpuOrientedFastTest, EqualsTheOracleOnImagesOfAnySmallSize) {
  ExpectOracleOnSmallImages(OrientedFastVariants(), /*seed=*/20266, /*most_side_px=*/80);
}

}  // namespace
}  // namespace orbserve::cpu
