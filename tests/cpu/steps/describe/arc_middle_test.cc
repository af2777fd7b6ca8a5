// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/arc_middle.h"

#include <gtest/gtest.h>

#include <vector>

#include "features/algo/arc_middle.h"
#include "features/algo/fast.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::TestImage;

TEST(ArcMiddleStepTest, EveryPointGetsTheAngleOfItsOwnScoreHoweverDivided) {
  std::vector<uint8_t> table(algo::kArcDirectionEntries);
  algo::FillArcDirections(table.data());
  const TestImage image = NoiseImage(700, 600, 51);
  for (const Score score : {Score::kFast, Score::kHarris}) {
    for (const int arc_length : {9, 12}) {
      RunnerInput input;
      input.pipeline = (*FindPreset("bfrost"))->pipeline;
      if (score == Score::kFast) {
        // Rings end with the image.
        input.pipeline.describe.descriptor = Descriptor::kNone;
        input.pipeline.select.border_px = algo::kFastRadiusPx;
      }
      input.pipeline.pyramid.levels = 2;
      input.pipeline.detect.score = score;
      input.pipeline.detect.fast_arc_length = arc_length;
      input.parameters = {.max_features = 2000, .fast_threshold_grey = 10};
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        StepRunner before(image, variant.target, variant.threads, input);
        before.RunUntil("rank");
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("arc_middle");
        // Random pixels seldom make arcs of 12. Those of 9 make more than one task.
        ASSERT_GT(runner.Points(0).size(), arc_length == 9 ? 384u : 10u);
        for (int level = 0; level < runner.levels(); ++level) {
          std::vector<LevelPoint> expected = before.Points(level);
          const ImageView pixels = runner.frame().Image(level);
          for (LevelPoint& point : expected) {
            ASSERT_EQ(point.angle_deg, -1.0f);
            const uint8_t* const centre = pixels.Row(point.y) + point.x;
            uint8_t ring[algo::kFastRingPixels];
            algo::LoadFastRing(centre, pixels.pitch_bytes, ring);
            point.angle_deg = algo::ArcDirectionAngle(algo::ArcDirection(
                ring, *centre, algo::FastScore(ring, *centre, arc_length), table.data()));
          }
          ASSERT_EQ(runner.Points(level), expected) << level;
        }
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
