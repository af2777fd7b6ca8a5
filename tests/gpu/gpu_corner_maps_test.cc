// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corner maps and the minimum distance on a device: published reference values, the oracle's
// passes, and the CPU backend's answers over detectors, windows, distances, shapes of images and
// batches.

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/backend_pair_test.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"
#include "tests/support/option_values.h"
#include "tests/support/reference_answers.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::Checkerboard;
using ::orbserve::testing::DotLattice;
using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::FrameInput;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

constexpr int kAll = 100'000;

class GpuCornerMapsTest : public BackendPairTest {
 protected:
  // Frames that reach the branches of detection: a scene, noise with a low quality level, both with
  // masks.
  size_t ExpectSameOfAllKinds(const PlanSpec& spec) {
    const int width = spec.width_px;
    const int height = spec.height_px;
    const TestImage scene = SceneImage(width, height, 121);
    const TestImage noise = NoiseImage(width, height, 122);
    const TestImage mask = RandomMask(width, height, 123);
    return ExpectSame(
        spec, {{.image = scene.view()},
               {.image = noise.view(), .parameters = {.max_features = kAll, .quality_level = 0.2f}},
               {.image = scene.view(),
                .mask = mask.view(),
                .parameters = {.max_features = kAll, .quality_level = 0.001f}},
               {.image = noise.view(),
                .mask = mask.view(),
                .parameters = {.max_features = kAll, .quality_level = 1e-7f}}});
  }

  // The GPU's answer is the oracle's, which shares no arithmetic with it. Returns the passes.
  int ExpectOracles(const PlanSpec& spec, const TestImage& image, const FrameParameters& parameters,
                    const TestImage* mask = nullptr) {
    const PipelineOptions& pipeline = spec.pipeline;
    testing::OracleOptions options = testing::OracleOptionsOf(pipeline, parameters);
    options.count_passes = true;
    const testing::GreyPlane plane = testing::PlaneOf(image.view());
    const testing::GreyPlane mask_plane =
        mask == nullptr ? testing::GreyPlane() : testing::PlaneOf(mask->view());
    const testing::OracleAnswer expected =
        testing::OracleExtract(plane, mask == nullptr ? nullptr : &mask_plane, options);
    const auto actual = testing::RunFrame(*gpu_, pipeline,
                                          {.image = image.view(),
                                           .mask = mask == nullptr ? ImageView{} : mask->view(),
                                           .parameters = parameters});
    EXPECT_TRUE(actual.ok()) << actual.status();
    if (!actual.ok()) return 0;
    EXPECT_EQ(FirstDifference(testing::FeaturesOf(expected, plane, options), **actual), "");
    EXPECT_EQ((*actual)->suppression_passes, expected.passes);
    return expected.passes;
  }
};

PipelineOptions CornersOf(Detector detector) {
  return (*FindPreset(detector == Detector::kHarris ? "harris-corners" : "klt-corners"))->pipeline;
}

// A pipeline for each way in which corners are kept apart at distance `d`.
std::vector<PipelineOptions> DistanceVariants(PipelineOptions pipeline, int d) {
  pipeline.suppress.minimum_distance_px = d;
  std::vector<PipelineOptions> variants(3, pipeline);
  variants[1].suppress.distance_shape = DistanceShape::kDisc;
  variants[2].suppress.cornerness_compression = true;
  return variants;
}

std::string Name(const PipelineOptions& pipeline) {
  const SuppressOptions& suppress = pipeline.suppress;
  return "detector " + std::to_string(static_cast<int>(pipeline.detect.detector)) + " score " +
         std::to_string(static_cast<int>(pipeline.detect.score)) + " d " +
         std::to_string(suppress.minimum_distance_px) +
         (suppress.distance_shape == DistanceShape::kDisc ? " disc" : "") +
         (suppress.cornerness_compression ? " compressed" : "") + " passes " +
         std::to_string(suppress.max_passes) + " window " + std::to_string(suppress.window_px) +
         " border " + std::to_string(pipeline.select.border_px);
}

// Dots along a path to and fro over the image, `spacing_px` apart, whose contrast falls from the
// first to the last. Each is in conflict with the next, so that passes follow the path.
TestImage DotsAlongAPath(int width_px, int height_px, int spacing_px) {
  TestImage image(width_px, height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) image.At(x, y) = 0;
  }
  const int columns = (width_px - 16) / spacing_px;
  const int rows = (height_px - 16) / (2 * spacing_px);
  const int dots = std::max(columns * rows, 1);
  for (int i = 0; i < columns * rows; ++i) {
    const int row = i / columns;
    const int column = row % 2 == 0 ? i % columns : columns - 1 - i % columns;
    const int x = 8 + column * spacing_px;
    const int y = 8 + row * 2 * spacing_px;
    const auto grey = static_cast<uint8_t>(250 - i * 200 / dots);
    image.At(x, y) = grey;
    image.At(x + 1, y) = grey;
    image.At(x, y + 1) = grey;
    image.At(x + 1, y + 1) = grey;
  }
  return image;
}

TEST_F(GpuCornerMapsTest, HarrisCornersGiveThePublishedValues) {
  ExpectPublishedValues(testing::HarrisCornersReferenceAnswers());
}

TEST_F(GpuCornerMapsTest, KltCornersGiveThePublishedValues) {
  ExpectPublishedValues(testing::KltCornersReferenceAnswers());
}

TEST_F(GpuCornerMapsTest, EqualsTheOracleWithPasses) {
  const TestImage mask = RandomMask(141, 101, 124);
  for (const TestImage& image :
       {SceneImage(141, 101, 125), NoiseImage(141, 101, 126), DotLattice(141, 101, 7)}) {
    for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
      for (const int d : {1, 2, 5, 16}) {
        for (PipelineOptions pipeline : DistanceVariants(CornersOf(detector), d)) {
          for (const int max_passes : {0, 3}) {
            pipeline.suppress.max_passes = max_passes;
            SCOPED_TRACE(Name(pipeline));
            const PlanSpec spec = {141, 101, pipeline};
            ExpectOracles(spec, image, {.max_features = kAll});
            ExpectOracles(spec, image, {.max_features = 200, .quality_level = 0.05f}, &mask);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(GpuCornerMapsTest, EveryDistanceAndShapeEqualsTheCpu) {
  size_t features = 0;
  for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
    for (const int d : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 21, 24, 31, 45, 64}) {
      for (PipelineOptions pipeline : DistanceVariants(CornersOf(detector), d)) {
        pipeline.pyramid = {.levels = d % 3 + 1, .scale_factor = 1.3f};
        pipeline.select.border_px = 4 + d % 4;
        for (const int max_passes : {0, 1, 2, 7}) {
          pipeline.suppress.max_passes = max_passes;
          SCOPED_TRACE(Name(pipeline));
          features += ExpectSameOfAllKinds({417, 309, pipeline});
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(features, 100'000u);
}

TEST_F(GpuCornerMapsTest, EveryWindowEqualsTheCpu) {
  size_t features = 0;
  for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
    for (const int window : {3, 5, 7, 9}) {
      for (const int border : {4, 5, 7, 31}) {
        PipelineOptions pipeline = CornersOf(detector);
        pipeline.suppress.suppression = Suppression::kNeighbourhood;
        pipeline.suppress.window_px = window;
        pipeline.select.border_px = border;
        pipeline.pyramid = {.levels = border % 3 + 1, .scale_factor = 1.7f};
        SCOPED_TRACE(Name(pipeline));
        features += ExpectSameOfAllKinds({391, 277, pipeline});
        features += ExpectSameOfAllKinds({66, 71, pipeline});
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 20'000u);
}

TEST_F(GpuCornerMapsTest, EveryShapeOfImageEqualsTheCpu) {
  size_t features = 0;
  // Sides round the smallest that hold a keypoint, round tiles of 120 columns and of 128, and long
  // ones.
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{{1, 1},
                                                                      {8, 8},
                                                                      {9, 9},
                                                                      {8, 40},
                                                                      {10, 9},
                                                                      {17, 31},
                                                                      {127, 15},
                                                                      {128, 16},
                                                                      {129, 17},
                                                                      {247, 33},
                                                                      {248, 9},
                                                                      {249, 200},
                                                                      {131, 400},
                                                                      {4099, 11},
                                                                      {12, 4099},
                                                                      {640, 480},
                                                                      {1279, 721},
                                                                      {1920, 1080}}) {
    for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
      for (const int d : {1, 2, 5, 21}) {
        for (const PipelineOptions& pipeline : DistanceVariants(CornersOf(detector), d)) {
          SCOPED_TRACE(::testing::Message() << width << "x" << height << " " << Name(pipeline));
          features += ExpectSameOfAllKinds({width, height, pipeline});
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(features, 100'000u);
}

TEST_F(GpuCornerMapsTest, FlatImagesHaveNoCornerAndNoPass) {
  for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
    for (const int d : {1, 5}) {
      PipelineOptions pipeline = CornersOf(detector);
      pipeline.suppress.minimum_distance_px = d;
      const TestImage flat(200, 100);
      const TestImage scene = SceneImage(200, 100, 127);
      const TestImage hidden(200, 100);  // a mask that hides everything
      const PlanSpec spec = {200, 100, pipeline};
      ExpectSame(spec, {{.image = flat.view()},
                        {.image = scene.view()},
                        {.image = scene.view(), .mask = hidden.view()}});
      const auto features = testing::RunFrame(*gpu_, pipeline, {.image = flat.view()});
      ASSERT_TRUE(features.ok()) << features.status();
      EXPECT_EQ((*features)->count(), 0u);
      EXPECT_EQ((*features)->suppression_passes, 0);
    }
  }
}

TEST_F(GpuCornerMapsTest, TiesAndChainsThroughTheWholeImageEqualTheCpu) {
  int most_passes = 0;
  for (const int spacing : {6, 9, 14}) {
    const TestImage chain = DotsAlongAPath(1000, 600, spacing);
    const TestImage lattice = DotLattice(1000, 600, spacing);
    const TestImage checker = Checkerboard(1000, 600);
    for (const Detector detector : {Detector::kHarris, Detector::kShiTomasi}) {
      for (const int d : {spacing / 2, spacing + 1, 2 * spacing + 1}) {
        for (PipelineOptions pipeline : DistanceVariants(CornersOf(detector), d)) {
          for (const int max_passes : {0, 40}) {
            pipeline.suppress.max_passes = max_passes;
            SCOPED_TRACE(::testing::Message() << spacing << " " << Name(pipeline));
            const FrameParameters all = {.max_features = kAll, .quality_level = 1e-5f};
            ExpectSame({1000, 600, pipeline}, {{.image = chain.view(), .parameters = all},
                                               {.image = lattice.view(), .parameters = all},
                                               {.image = checker.view(), .parameters = all}});
            if (HasFailure()) return;
            const auto features =
                testing::RunFrame(*gpu_, pipeline, {.image = lattice.view(), .parameters = all});
            ASSERT_TRUE(features.ok()) << features.status();
            most_passes = std::max(most_passes, (*features)->suppression_passes);
          }
        }
      }
    }
  }
  EXPECT_GT(most_passes, 100);  // else the last passes were not tried
}

TEST_F(GpuCornerMapsTest, MinimumDistanceOfFastCornersEqualsTheCpu) {
  size_t features = 0;
  for (const auto& [score, compare] : testing::ScoresAndComparisons()) {
    for (const Selection selection : {Selection::kLevelQuota, Selection::kBest}) {
      for (const int d : {1, 2, 6, 17}) {
        PipelineOptions base;
        base.pyramid = {.levels = 3, .scale_factor = 1.4f};
        base.detect.score = score;
        base.detect.fast_arc_length = 9 + d % 4;
        base.suppress.suppression = Suppression::kMinimumDistance;
        base.suppress.compare = compare;
        base.select.selection = selection;
        base.suppress.max_passes = d == 2 ? 2 : 0;
        for (const PipelineOptions& pipeline : DistanceVariants(base, d)) {
          SCOPED_TRACE(Name(pipeline));
          features += ExpectSameOfAllKinds({381, 293, pipeline});
          const TestImage scene = SceneImage(381, 293, 128);
          features +=
              ExpectSame({381, 293, pipeline}, {{.image = scene.view(),
                                                 .parameters = {.max_features = kAll,
                                                                .fast_threshold_grey = 40,
                                                                .fast_threshold_low_grey = 7}}});
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(features, 50'000u);
}

// A frame is the same alone, in any batch, and beside batches of other lanes.
TEST_F(GpuCornerMapsTest, AnswersDoNotDependOnTheBatchNorOnOtherLanes) {
  for (const int d : {3, 12}) {
    PipelineOptions pipeline = CornersOf(Detector::kHarris);
    pipeline.suppress.minimum_distance_px = d;
    pipeline.pyramid = {.levels = 2, .scale_factor = 1.5f};
    const PlanSpec spec = {311, 207, pipeline};
    std::vector<TestImage> images;
    for (uint32_t seed = 0; seed < 20; ++seed) {
      images.push_back(seed % 3 == 0 ? DotLattice(311, 207, 5 + static_cast<int>(seed) % 4)
                                     : SceneImage(311, 207, 130 + seed));
    }
    for (const size_t frames : {size_t{2}, size_t{3}, size_t{9}, size_t{20}}) {
      std::vector<FrameInput> batch;
      for (size_t i = 0; i < frames; ++i) {
        batch.push_back(
            {.image = images[i].view(), .parameters = {.max_features = i % 2 == 0 ? 300 : kAll}});
      }
      ExpectSame(spec, batch);
      if (HasFailure()) return;
    }
    // Every thread keeps a lane busy.
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = t; i < images.size(); i += 2) {
          const FrameInput input = {.image = images[i].view(),
                                    .parameters = {.max_features = kAll}};
          const auto want = testing::RunFrame(*cpu_, pipeline, input);
          const auto got = testing::RunFrame(*gpu_, pipeline, input);
          ASSERT_TRUE(want.ok()) << want.status();
          ASSERT_TRUE(got.ok()) << got.status();
          EXPECT_EQ(FirstDifference(**want, **got), "") << i;
          EXPECT_EQ((*want)->suppression_passes, (*got)->suppression_passes) << i;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace orbserve::gpu
