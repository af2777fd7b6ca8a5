// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/bfrost256.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "features/algo/bfrost.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

RunnerInput BfrostLevels() {
  RunnerInput input;
  input.pipeline = (*FindPreset("bfrost"))->pipeline;
  input.pipeline.pyramid = {.levels = 3, .scale_factor = 1.5f};
  input.parameters = {.max_features = 1500, .fast_threshold_grey = 10};
  return input;
}

TEST(BFrost256StepTest, EveryPointGetsItsDescriptorHoweverDivided) {
  const TestImage image = SceneImage(600, 500, 57);
  const RunnerInput input = BfrostLevels();
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("bfrost256");
    ASSERT_GT(runner.Points(0).size(), 100u);  // more than one task
    for (int level = 0; level < runner.levels(); ++level) {
      const IntegralView integral = runner.frame().Integral(level);
      std::vector<uint8_t> expected;
      for (const LevelPoint& point : runner.Points(level)) {
        uint8_t descriptor[algo::kBFrostBytes];
        algo::DescribeBFrost256(integral.Row(point.y) + point.x, integral.pitch,
                                algo::BFrostDirectionOf(point.angle_deg), descriptor);
        expected.insert(expected.end(), descriptor, descriptor + algo::kBFrostBytes);
      }
      ASSERT_EQ(runner.Descriptors(level), expected) << level;
    }
  }
}

TEST(BFrost256StepTest, FewPointsOfALargeLevelAreDescribedFromItsPixels) {
  const TestImage image = SceneImage(1200, 900, 59);
  RunnerInput input = BfrostLevels();
  input.pipeline.pyramid.levels = 2;
  for (const int max_features : {300, 1500}) {
    input.parameters.max_features = max_features;
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("bfrost256");
      EXPECT_EQ(SumsPixels(runner.frame(), 0), max_features == 300);
      EXPECT_FALSE(SumsPixels(runner.frame(), 1));
      for (int level = 0; level < runner.levels(); ++level) {
        const std::vector<LevelPoint> points = runner.Points(level);
        ASSERT_GT(points.size(), 50u);
        std::vector<uint8_t> expected(points.size() * algo::kBFrostBytes);
        ReferenceBFrost256OfPixels(runner.frame().Image(level), points.data(),
                                   static_cast<int>(points.size()), expected.data());
        ASSERT_EQ(runner.Descriptors(level), expected) << level;
      }
    }
  }
}

TEST(BFrost256StepTest, GivenPointsAtTheVeryBorderReadInsideTheLevel) {
  const TestImage image = SceneImage(200, 180, 58);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, BfrostLevels());
    std::vector<LevelPoint> points = {{44, 44, 0.0f, 0.0f},
                                      {155, 44, 0.0f, 90.0f},
                                      {44, 135, 0.0f, 181.0f},
                                      {155, 135, 0.0f, -1.0f}};
    std::vector<uint8_t> descriptors(points.size() * algo::kBFrostBytes);
    runner.frame().level(0).points = absl::MakeSpan(points);
    runner.frame().level(0).descriptors = descriptors.data();
    runner.RunDescription(0);
    std::vector<uint8_t> expected(descriptors.size());
    ReferenceBFrost256(runner.frame().Integral(0), points.data(), static_cast<int>(points.size()),
                       expected.data());
    EXPECT_EQ(descriptors, expected);
  }
}

}  // namespace
}  // namespace orbserve::cpu
