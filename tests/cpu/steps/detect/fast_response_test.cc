// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/fast_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "features/algo/order.h"
#include "tests/cpu/steps/detect/fast_oracle.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::TestImage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunnerInput InputOf(Score score, int arc_length, int window_px, int threshold_grey) {
  RunnerInput input;
  PipelineOptions& pipeline = input.pipeline;
  pipeline.pyramid = {.levels = 2, .scale_factor = 2.0f};
  pipeline.detect.score = score;
  pipeline.detect.fast_arc_length = arc_length;
  pipeline.suppress.compare = Compare::kScore;
  pipeline.suppress.window_px = window_px;
  pipeline.select.selection = Selection::kBest;
  pipeline.describe = {Orientation::kNone, Descriptor::kNone};
  pipeline.select.border_px = BorderRange(pipeline).low;
  input.parameters.fast_threshold_grey = threshold_grey;
  return input;
}

TEST(FastResponseStepTest, KeysAreThoseOfTheOracleHoweverDivided) {
  size_t keys = 0;
  for (const DetectionFrame& frame : DetectionFrames()) {
    for (const Score score : AllOf<Score>()) {
      if (score == Score::kFast) continue;  // another step
      int arc_length = 9;
      for (const int window_px : {3, 5, 7, 9}) {
        for (const int threshold_grey : {3, 25}) {
          const RunnerInput input = InputOf(score, arc_length, window_px, threshold_grey);
          arc_length = arc_length == 12 ? 9 : arc_length + 1;
          SCOPED_TRACE("score " + std::to_string(static_cast<int>(score)) + ", window " +
                       std::to_string(window_px));
          keys += ExpectTheOraclesKeys(frame, input, "fast_response");
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(keys, 10'000u);
  printf("%zu keys compared\n", keys);
}

// The runner watches the scratch memory. Its need does not grow evenly with the width of a level:
// bands of rows become lower at some widths.
TEST(FastResponseStepTest, ScratchMemorySufficesAtEveryWidth) {
  for (const int rows : {2, 3, 4, 5, 6, 8, 11}) {
    for (int width = 8192 / rows - 8; width <= 8192 / rows + 12; width += 2) {
      const TestImage image = testing::NoiseImage(width, 24, 5);
      for (const Score score : {Score::kHarris, Score::kSadArc}) {
        for (const int window_px : {3, 9}) {
          StepRunner runner(image, FastestTarget(), 1, InputOf(score, 9, window_px, 30));
          runner.RunUntil("fast_response");
          ASSERT_FALSE(HasFailure()) << "width " << width << ", window " << window_px;
        }
      }
    }
  }
}

TEST(FastResponseStepTest, PixelsOutsideTheBorderAndUnderTheMaskTakePart) {
  // Two dots four pixels apart: the brighter one has the larger sum.
  TestImage image(64, 80);
  image.At(20, 40) = 200;
  image.At(24, 40) = 100;
  TestImage mask(64, 80);
  for (int y = 0; y < 80; ++y) {
    for (int x = 22; x < 64; ++x) mask.At(x, y) = 255;
  }
  using Place = std::pair<int, int>;
  const auto places = [&](const RunnerVariant& variant, const RunnerInput& input) {
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("fast_response");
    std::vector<Place> found;
    for (const uint64_t key : runner.DetectedKeys(0)) {
      found.push_back({algo::RankKeyX(key), algo::RankKeyY(key)});
    }
    return found;
  };
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    RunnerInput wide = InputOf(Score::kSadCircle, 9, 9, 20);
    EXPECT_THAT(places(variant, wide), ElementsAre(Place(20, 40)));
    RunnerInput narrow = InputOf(Score::kSadCircle, 9, 7, 20);
    EXPECT_THAT(places(variant, narrow), ElementsAre(Place(20, 40), Place(24, 40)));
    for (const bool masked : {false, true}) {
      for (RunnerInput* const input : {&wide, &narrow}) {
        input->mask = masked ? &mask : nullptr;
        input->pipeline.select.border_px = masked ? 3 : 22;
      }
      EXPECT_THAT(places(variant, wide), IsEmpty());
      EXPECT_THAT(places(variant, narrow), ElementsAre(Place(24, 40)));
    }
  }
}

TEST(FastResponseStepTest, CornersWithoutAPositiveHarrisResponseAreNone) {
  const TestImage image = testing::SceneImage(400, 300, 37);
  StepRunner runner(image, FastestTarget(), 5, InputOf(Score::kHarris, 9, 3, 5));
  runner.RunUntil("fast_response");
  const std::vector<uint64_t> keys = runner.DetectedKeys(0);
  ASSERT_GT(keys.size(), 100u);
  for (const uint64_t key : keys) EXPECT_GT(algo::RankKeyResponse(key), 0.0f);
}

}  // namespace
}  // namespace orbserve::cpu
