// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/fast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::ElementsAre;

TEST(FastStepTest, CornersAreThoseOfTheReferenceHoweverDivided) {
  const TestImage image = SceneImage(700, 480, 4);
  const TestImage mask = RandomMask(700, 480, 5);
  RunnerInput input;
  input.pipeline.detect.fast_arc_length = 10;
  input.parameters.fast_threshold_grey = 8;
  for (const TestImage* const m : {static_cast<const TestImage*>(nullptr), &mask}) {
    input.mask = m;
    StepRunner expected(image, ReferenceTarget(), 1, input);
    expected.RunUntil("fast");
    ASSERT_GT(expected.DetectedCorners(0).size(), 100u);
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      StepRunner actual(image, variant.target, variant.threads, input);
      actual.RunUntil("fast");
      for (int level = 0; level < expected.levels(); ++level) {
        // Strips follow each other by rows: their order is that of the whole level.
        ASSERT_EQ(expected.DetectedCorners(level), actual.DetectedCorners(level)) << level;
      }
    }
  }
}

TEST(FastStepTest, ABrightDotIsACornerWithItsScoreUnlessMasked) {
  TestImage image(64, 64);
  image.At(32, 31) = 200;
  TestImage mask(64, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) mask.At(x, y) = 255;
  }
  mask.At(32, 31) = 0;
  RunnerInput input;
  StepRunner runner(image, FastestTarget(), 1, input);
  runner.RunUntil("fast");
  // All 16 ring pixels are darker by 200: still a corner at a threshold of 199.
  EXPECT_THAT(runner.DetectedCorners(0), ElementsAre(Corner{32, 31, 199}));
  input.mask = &mask;
  StepRunner masked(image, FastestTarget(), 1, input);
  masked.RunUntil("fast");
  EXPECT_TRUE(masked.DetectedCorners(0).empty());
}

}  // namespace
}  // namespace orbserve::cpu
