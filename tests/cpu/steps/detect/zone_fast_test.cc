// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/zone_fast.h"

#include <gtest/gtest.h>

#include <vector>

#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/orb_slam3_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::TestImage;

TEST(ZoneFastStepTest, FindsTheCornersOfEachZoneInTheirOrder) {
  size_t found = 0;
  // The last zones of these sides are narrow, or missing.
  for (const TestImage& image :
       {testing::SceneImage(387, 260, 31), testing::DotLattice(320, 141, 9),
        testing::NoiseImage(140, 211, 32)}) {
    for (const int low : {0, 4, 25}) {
      RunnerInput input;
      input.pipeline = (*FindPreset("orb-slam3"))->pipeline;
      input.pipeline.pyramid.levels = 3;
      input.parameters.fast_threshold_grey = 25;
      input.parameters.fast_threshold_low_grey = low;
      const testing::Slam3Answer want =
          testing::Slam3Extract(testing::PlaneOf(image.view()),
                                testing::OracleOptionsOf(input.pipeline, input.parameters));
      ASSERT_EQ(want.refusal, "");
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("zone_fast");
        for (int level = 0; level < runner.levels(); ++level) {
          const testing::Slam3Level& of = want.levels[static_cast<size_t>(level)];
          std::vector<uint64_t> keys;
          for (const testing::Slam3Candidate& candidate : of.candidates) {
            keys.push_back(
                algo::RankKey(static_cast<float>(candidate.score), candidate.x, candidate.y));
          }
          ASSERT_EQ(runner.DetectedKeys(level), keys) << level;
          const std::vector<uint8_t> pixels(of.pixels.values.begin(), of.pixels.values.end());
          ASSERT_EQ(runner.Pixels(level), pixels) << level;
          found += keys.size();
        }
      }
    }
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace orbserve::cpu
