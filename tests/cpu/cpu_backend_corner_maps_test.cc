// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The presets `harris-corners` and `klt-corners` on the CPU backend: their published reference
// values, and the answers of the independent oracle over their options.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/oracle_variants.h"
#include "tests/cpu/published_values.h"
#include "tests/support/method_images.h"
#include "tests/support/method_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleAnswer;
using ::orbserve::testing::OracleExtract;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::OracleOptionsOf;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

const Preset& Harris() { return **FindPreset("harris-corners"); }
const Preset& Klt() { return **FindPreset("klt-corners"); }

TEST(CpuCornerMapsTest, EveryVariantGivesThePublishedValuesOfHarrisCorners) {
  ExpectPublishedValues(testing::HarrisCornersReferenceAnswers(), kTestDataFolder);
}

TEST(CpuCornerMapsTest, EveryVariantGivesThePublishedValuesOfKltCorners) {
  ExpectPublishedValues(testing::KltCornersReferenceAnswers(), kTestDataFolder);
}

std::vector<Variant> CornerMapVariants() {
  std::vector<Variant> variants;
  const auto add = [&variants](std::string name, const Preset& preset, auto change) {
    Variant variant = {std::move(name), preset.pipeline, preset.frame};
    change(variant.pipeline, variant.parameters);
    variants.push_back(variant);
  };
  using O = PipelineOptions;
  using P = FrameParameters;
  add("harris", Harris(), [](O&, P&) {});
  add("klt", Klt(), [](O&, P&) {});
  add("all of 3 levels, low quality", Klt(), [](O& o, P& p) {
    o.pyramid = {.levels = 3, .scale_factor = 1.5f};
    p.max_features = 100'000;
    p.quality_level = 0.0005f;
  });
  add("capacity below the wanted number", Harris(), [](O& o, P&) { o.select.capacity = 50; });
  add("every candidate", Harris(), [](O& o, P& p) {
    o.suppress.minimum_distance_px = 1;
    p.max_features = 100'000;
  });
  add("DISC of 2 levels from level zero", Klt(), [](O& o, P& p) {
    o.pyramid = {.levels = 2, .scale_factor = 1.3f, .source = PyramidSource::kLevelZero};
    o.suppress.minimum_distance_px = 7;
    o.suppress.distance_shape = DistanceShape::kDisc;
    p.max_features = 100'000;
  });
  add("compression and 2 passes", Klt(), [](O& o, P& p) {
    o.suppress.cornerness_compression = true;
    o.suppress.max_passes = 2;
    p.max_features = 100'000;
  });
  add("quota of 4 levels", Harris(), [](O& o, P& p) {
    o.pyramid.levels = 4;
    o.select.selection = Selection::kLevelQuota;
    p.max_features = 60;
  });
  add("windows of 5, described as orb", Klt(), [](O& o, P& p) {
    o.pyramid = {.levels = 2, .scale_factor = 1.4f};
    o.suppress.suppression = Suppression::kNeighbourhood;
    o.suppress.window_px = 5;
    o.select.border_px = 31;
    o.describe.orientation = Orientation::kIntensityCentroid;
    o.describe.descriptor = Descriptor::kRBrief256;
    p.quality_level = 0.1f;
  });
  add("windows of 9, BFROST without orientation", Harris(), [](O& o, P&) {
    o.suppress.suppression = Suppression::kNeighbourhood;
    o.suppress.window_px = 9;
    o.select.border_px = 44;
    o.describe.descriptor = Descriptor::kBFrost256;
  });
  return variants;
}

TEST(CpuCornerMapsTest, EveryVariantIsTheOracles) {
  const std::vector<std::unique_ptr<FeatureBackend>> owners = AllBackends();
  std::vector<FeatureBackend*> backends;
  for (const auto& owner : owners) backends.push_back(owner.get());
  const size_t features =
      CompareVariants(CornerMapVariants(), SceneImage(320, 240, 111), "scene", backends) +
      CompareVariants(CornerMapVariants(), NoiseImage(320, 240, 112), "noise", backends);
  EXPECT_GT(features, 10'000u);
}

TEST(CpuCornerMapsTest, PassesOfPhotographsAreTheOracles) {
  int compared = 0;
  for (const testing::ReferenceImage name : testing::kReferenceImages) {
    const std::optional<TestImage> image = testing::ReadReferenceImage(name, kTestDataFolder);
    if (!image.has_value()) continue;
    OracleOptions options = OracleOptionsOf(Klt().pipeline, Klt().frame);
    options.count_passes = true;
    const OracleAnswer answer = OracleExtract(PlaneOf(image->view()), nullptr, options);
    const auto backend = Backend();
    const auto features = Compute(*backend, *image, Klt().pipeline, Klt().frame);
    EXPECT_EQ(features->suppression_passes, answer.passes) << testing::NameOf(name);
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no reference image below \"" << kTestDataFolder << "\"";
}

TEST(CpuCornerMapsTest, OtherSuppressionsCountNoPasses) {
  const auto backend = Backend();
  const TestImage image = SceneImage(200, 200, 113);
  EXPECT_EQ(Compute(*backend, image)->suppression_passes, 0);
  PipelineOptions pipeline = Harris().pipeline;
  EXPECT_GT(Compute(*backend, image, pipeline)->suppression_passes, 0);
  pipeline.suppress.suppression = Suppression::kNeighbourhood;
  EXPECT_EQ(Compute(*backend, image, pipeline)->suppression_passes, 0);
}

TEST(CpuCornerMapsTest, FramesWithoutACornerAreEmpty) {
  for (const auto& backend : AllBackends()) {
    for (const Preset* const preset : {&Harris(), &Klt()}) {
      for (const auto& [width, height] : {std::pair{64, 64}, {8, 8}, {1, 1}, {9, 9}, {300, 8}}) {
        const auto features =
            Compute(*backend, TestImage(width, height), preset->pipeline, preset->frame);
        EXPECT_EQ(features->count(), 0u);
        EXPECT_EQ(features->suppression_passes, 0);
        EXPECT_FALSE(features->truncated);
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
