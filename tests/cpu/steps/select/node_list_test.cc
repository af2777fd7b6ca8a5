// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/node_list.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/orb_slam3_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::TestImage;

TEST(NodeListStepTest, KeepsWhatTheListOfBoxesKeepsInItsOrder) {
  size_t points = 0;
  for (const TestImage& image :
       {testing::SceneImage(500, 200, 41), testing::DotLattice(333, 300, 9),
        testing::NoiseImage(160, 220, 42), TestImage(200, 200)}) {
    for (const int wanted : {1, 90, 400, 5000}) {
      RunnerInput input;
      input.pipeline = (*FindPreset("orb-slam3"))->pipeline;
      input.pipeline.pyramid.levels = 3;
      input.parameters.fast_threshold_low_grey = 5;
      input.parameters.max_features = wanted;
      const testing::Slam3Answer want =
          testing::Slam3Extract(testing::PlaneOf(image.view()),
                                testing::OracleOptionsOf(input.pipeline, input.parameters));
      ASSERT_EQ(want.refusal, "");
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("node_list");
        for (int level = 0; level < runner.levels(); ++level) {
          std::vector<LevelPoint> kept;
          for (const testing::OracleFeature& feature :
               want.levels[static_cast<size_t>(level)].kept) {
            kept.push_back({static_cast<int16_t>(feature.x), static_cast<int16_t>(feature.y),
                            feature.response, -1.0f});
          }
          ASSERT_EQ(runner.Points(level), kept) << level << " of " << wanted;
          points += kept.size();
        }
      }
    }
  }
  EXPECT_GT(points, 1000u);
}

}  // namespace
}  // namespace orbserve::cpu
