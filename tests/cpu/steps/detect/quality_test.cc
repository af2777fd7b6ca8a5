// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "features/algo/corner_map.h"
#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::TestImage;

RunnerInput Input() {
  RunnerInput input;
  input.pipeline = (*FindPreset("klt-corners"))->pipeline;
  input.pipeline.pyramid.levels = 3;
  return input;
}

TEST(QualityStepTest, TheThresholdIsAShareOfTheLargestResponseOfAllLevels) {
  const TestImage image = NoiseImage(400, 300, 71);
  for (const float quality : {0.5f, 0.01f, 0.3333333f}) {
    RunnerInput input = Input();
    input.parameters.quality_level = quality;
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      SCOPED_TRACE(Describe(variant));
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("quality");
      uint32_t top = 0;
      for (int l = 0; l < runner.levels(); ++l) {
        const Region& region = runner.pipeline().level(l).region;
        const uint32_t* const map = runner.frame().At(runner.frame().lists.responses, l);
        const ptrdiff_t pitch = runner.frame().lists.response_pitch[static_cast<size_t>(l)];
        for (int y = region.y_begin; y < region.y_end; ++y) {
          const uint32_t* const row = map + y * pitch;
          top = std::max(top, *std::max_element(row + region.x_begin, row + region.x_end));
        }
      }
      const float response = algo::ValueOfOrderedBits(top);
      ASSERT_GT(response, 0.0f);
      const uint32_t threshold = *runner.frame().At(runner.frame().lists.candidate_threshold);
      // The first response that is a candidate, and the last that is none.
      EXPECT_FALSE(algo::IsCandidate(algo::ValueOfOrderedBits(threshold), quality, response));
      EXPECT_TRUE(algo::IsCandidate(algo::ValueOfOrderedBits(threshold + 1), quality, response));
    }
  }
}

TEST(QualityStepTest, AFrameWithoutResponsesHasNoCandidates) {
  StepRunner runner(TestImage(100, 100), FastestTarget(), 1, Input());
  runner.RunUntil("quality");
  EXPECT_EQ(*runner.frame().At(runner.frame().lists.candidate_threshold),
            std::numeric_limits<uint32_t>::max());
  runner.RunUntil("rank");
  for (int l = 0; l < runner.levels(); ++l) {
    EXPECT_TRUE(runner.Points(l).empty());
    EXPECT_EQ(runner.frame().level(l).suppression_passes, 0);
  }
}

}  // namespace
}  // namespace orbserve::cpu
