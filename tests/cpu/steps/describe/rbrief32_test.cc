// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/rbrief32.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "features/algo/rbrief32.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

RunnerInput Orb32Levels() {
  RunnerInput input;
  input.pipeline = (*FindPreset("orb-32"))->pipeline;
  input.pipeline.pyramid = {.levels = 3, .scale_factor = 1.5f};
  input.parameters = {.max_features = 3000, .fast_threshold_grey = 10};
  return input;
}

TEST(RBrief32StepTest, EveryPointGetsItsDescriptorFromTheUnsmoothedLevelHoweverDivided) {
  const TestImage image = SceneImage(700, 600, 71);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, Orb32Levels());
    runner.RunUntil("rbrief32");
    ASSERT_GT(runner.Points(0).size(), 384u);  // more than one task
    for (int level = 0; level < runner.levels(); ++level) {
      const ImageView pixels = runner.frame().Image(level);
      std::vector<uint8_t> expected;
      for (const LevelPoint& point : runner.Points(level)) {
        const uint32_t bits =
            algo::DescribeRBrief32(pixels.Row(point.y) + point.x, pixels.pitch_bytes,
                                   point.angle_deg, algo::kRBrief32Pattern);
        for (int k = 0; k < 4; ++k) expected.push_back(algo::RBrief32Byte(bits, k));
      }
      ASSERT_EQ(runner.Descriptors(level), expected) << level;
    }
  }
}

TEST(RBrief32StepTest, GivenPointsAtTheVeryBorderReadInsideTheLevel) {
  const TestImage image = SceneImage(60, 50, 72);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, Orb32Levels());
    std::vector<LevelPoint> points = {
        {4, 4, 0.0f, 0.0f}, {55, 4, 0.0f, 33.0f}, {4, 45, 0.0f, 181.0f}, {55, 45, 0.0f, -1.0f}};
    std::vector<uint8_t> descriptors(points.size() * algo::kRBrief32Bytes);
    runner.frame().level(0).points = absl::MakeSpan(points);
    runner.frame().level(0).descriptors = descriptors.data();
    runner.RunDescription(0);
    std::vector<uint8_t> expected(descriptors.size());
    ReferenceRBrief32(runner.frame().Image(0), points.data(), static_cast<int>(points.size()),
                      expected.data());
    EXPECT_EQ(descriptors, expected);
  }
}

}  // namespace
}  // namespace orbserve::cpu
