// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/rbrief256.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "features/algo/rbrief.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

TEST(RBrief256StepTest, EveryPointGetsItsDescriptorHoweverDivided) {
  const TestImage image = SceneImage(500, 400, 15);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    RunnerInput input;
    input.parameters.max_features = 1000;
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("rbrief256");
    ASSERT_GT(runner.Points(0).size(), 100u);  // more than one task
    for (int level = 0; level < runner.levels(); ++level) {
      const MutableImageView smoothed = runner.frame().At(runner.frame().lists.smoothed, level);
      std::vector<uint8_t> expected;
      for (const LevelPoint& point : runner.Points(level)) {
        uint8_t descriptor[algo::kRBriefBytes];
        algo::DescribeRBrief256(smoothed.Row(point.y) + point.x, smoothed.pitch_bytes,
                                point.angle_deg, algo::kRBriefPattern, descriptor);
        expected.insert(expected.end(), descriptor, descriptor + algo::kRBriefBytes);
      }
      ASSERT_EQ(runner.Descriptors(level), expected) << level;
    }
  }
}

TEST(RBrief256StepTest, PointsNearTheBorderAreDescribedLikeOthersWhereSamplesStayInside) {
  // At an angle of 0 degrees no sample lies further away than 13 pixels, the pattern's own reach: a
  // point 16 pixels from the border takes the way of those near it, and must get the same bits as
  // the plain loop over the smoothed level.
  const TestImage image = SceneImage(120, 120, 16);
  StepRunner runner(image, FastestTarget(), 1);
  runner.RunUntil("rank");
  std::vector<LevelPoint> points = {
      {16, 16, 0.0f, 0.0f}, {60, 60, 0.0f, 0.0f}, {103, 16, 0.0f, 0.0f}, {60, 103, 0.0f, 0.0f}};
  std::vector<uint8_t> descriptors(points.size() * algo::kRBriefBytes);
  runner.frame().level(0).points = absl::MakeSpan(points);
  runner.frame().level(0).descriptors = descriptors.data();
  runner.RunDescription(0);
  const MutableImageView smoothed = runner.frame().At(runner.frame().lists.smoothed, 0);
  std::vector<uint8_t> expected(descriptors.size());
  ReferenceRBrief256(smoothed, points.data(), static_cast<int>(points.size()), expected.data());
  EXPECT_EQ(descriptors, expected);
}

}  // namespace
}  // namespace orbserve::cpu
