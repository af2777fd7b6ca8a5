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
#include "tests/cpu/published_values.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FeaturesOf;
using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleAnswer;
using ::orbserve::testing::OracleExtract;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::OracleOptionsOf;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::RunFrame;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

const char kFolder[] = ORBSERVE_TEST_DATA_DIR;

const Preset& OrientedFast() { return **FindPreset("oriented-fast"); }

TEST(CpuOrientedFastTest, EveryVariantGivesThePublishedValues) {
  ExpectPublishedValues(testing::OrientedFastReferenceAnswers(), kFolder);
}

struct Variant {
  std::string name;
  PipelineOptions pipeline;
  FrameParameters parameters;
};

std::vector<Variant> Variants() {
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
    o.detect.score = Score::kLargestThreshold;
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

// Compares all variants on one image; returns the number of features.
size_t CompareVariants(const TestImage& picture, const std::string& name,
                       const std::vector<FeatureBackend*>& backends) {
  const GreyPlane image = PlaneOf(picture.view());
  const TestImage mask = RandomMask(image.width, image.height, 88);
  const GreyPlane mask_plane = PlaneOf(mask.view());
  size_t features = 0;
  for (const Variant& variant : Variants()) {
    for (const bool masked : {false, true}) {
      const OracleOptions options = OracleOptionsOf(variant.pipeline, variant.parameters);
      const OracleAnswer answer = OracleExtract(image, masked ? &mask_plane : nullptr, options);
      const Features expected = FeaturesOf(answer, image, options);
      for (FeatureBackend* const backend : backends) {
        SCOPED_TRACE(name + ", " + variant.name + (masked ? ", masked" : ""));
        const auto actual = RunFrame(*backend, variant.pipeline,
                                     {.image = picture.view(),
                                      .mask = masked ? mask.view() : ImageView{},
                                      .parameters = variant.parameters});
        if (!actual.ok()) {
          ADD_FAILURE() << actual.status();
          return features;
        }
        EXPECT_EQ(FirstDifference(expected, **actual), "");
        EXPECT_EQ((*actual)->truncated, answer.truncated);
        features += expected.count();
      }
    }
  }
  return features;
}

TEST(CpuOrientedFastTest, EqualsTheOracleOverItsOptions) {
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto simd = Backend({.threads = 3});
  size_t features = 0;
  for (const testing::NamedImage& named : testing::MadeImages()) {
    features += CompareVariants(named.image, named.name, {reference.get(), simd.get()});
    if (HasFailure()) return;
  }
  EXPECT_GT(features, 10'000u);
  printf("%zu features compared\n", features);
}

TEST(CpuOrientedFastTest, EqualsTheOracleOnImagesOfAnySmallSize) {
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto simd = Backend({.threads = 2});
  const uint32_t seed = 20266;
  std::mt19937 random(seed);
  size_t features = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    const int width = 1 + static_cast<int>(random() % 80);
    const int height = 1 + static_cast<int>(random() % 80);
    const TestImage image =
        i % 2 == 0 ? NoiseImage(width, height, seed + i) : SceneImage(width, height, seed + i);
    features +=
        CompareVariants(image, "image " + std::to_string(i) + " of seed " + std::to_string(seed),
                        {reference.get(), simd.get()});
    if (HasFailure()) return;
  }
  EXPECT_GT(features, 500u);
  printf("%zu features compared\n", features);
}

}  // namespace
}  // namespace orbserve::cpu
