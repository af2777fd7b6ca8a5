// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/pyramid.h"

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
using ::testing::Each;
using ::testing::ElementsAre;

TEST(PyramidStepTest, LevelsAndMasksAreThoseOfTheReferenceHoweverDivided) {
  const TestImage image = SceneImage(641, 307, 1);
  const TestImage mask = RandomMask(641, 307, 2);
  for (const PyramidSource source : {PyramidSource::kPreviousLevel, PyramidSource::kLevelZero}) {
    RunnerInput input;
    input.pipeline.pyramid.source = source;
    input.mask = &mask;
    StepRunner expected(image, ReferenceTarget(), 1, input);
    expected.RunUntil("pyramid");
    ASSERT_GT(expected.levels(), 4);
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      StepRunner actual(image, variant.target, variant.threads, input);
      actual.RunUntil("pyramid");
      for (int level = 0; level < expected.levels(); ++level) {
        ASSERT_EQ(expected.Pixels(level), actual.Pixels(level)) << "level " << level;
        ASSERT_EQ(expected.MaskPixels(level), actual.MaskPixels(level)) << "level " << level;
      }
    }
  }
}

TEST(PyramidStepTest, HalvingAveragesFourPixels) {
  // 128 x 64 to 64 x 32 at a factor of 2: each sample lies in the middle of four.
  TestImage image(128, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 128; ++x) image.At(x, y) = x % 2 == 0 ? 10 : (y % 2 == 0 ? 20 : 41);
  }
  RunnerInput input;
  input.pipeline.pyramid = {.levels = 2, .scale_factor = 2.0f};
  input.pipeline.detect.score = Score::kFast;
  input.pipeline.describe = {Orientation::kNone, Descriptor::kNone};
  input.pipeline.select.border_px = 3;
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("pyramid");
    // (10 + 20 + 10 + 41) / 4 = 20.25
    EXPECT_THAT(runner.Pixels(1), Each(20));
  }
}

TEST(PyramidStepTest, AMaskedSourcePixelMasksItsLevelPixel) {
  const TestImage image = SceneImage(128, 64, 3);
  TestImage mask(128, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 128; ++x) mask.At(x, y) = 255;
  }
  mask.At(21, 11) = 0;
  RunnerInput input;
  input.pipeline.pyramid = {.levels = 2, .scale_factor = 2.0f};
  input.pipeline.detect.score = Score::kFast;
  input.pipeline.describe = {Orientation::kNone, Descriptor::kNone};
  input.pipeline.select.border_px = 3;
  input.mask = &mask;
  StepRunner runner(image, FastestTarget(), 1, input);
  runner.RunUntil("pyramid");
  std::vector<size_t> masked;
  const std::vector<uint8_t> pixels = runner.MaskPixels(1);
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] == 0) masked.push_back(i);
  }
  EXPECT_THAT(masked, ElementsAre(5 * 64 + 10));
}

}  // namespace
}  // namespace orbserve::cpu
