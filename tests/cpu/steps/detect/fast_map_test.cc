// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/fast_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "features/algo/order.h"
#include "tests/cpu/steps/detect/fast_oracle.h"
#include "tests/cpu/steps/step_runner.h"

namespace orbserve::cpu {
namespace {

TEST(FastMapStepTest, HoldsTheResponsesOfAllCornersHoweverDivided) {
  size_t corners = 0;
  for (const DetectionFrame& frame : DetectionFrames()) {
    for (const Score score : AllOf<Score>()) {
      for (const Compare compare : AllOf<Compare>()) {
        const bool needs_score = NeedsCompareScore(score);
        if (needs_score && compare == Compare::kFast) continue;
        RunnerInput input;
        PipelineOptions& pipeline = input.pipeline;
        pipeline.pyramid = {.levels = 2, .scale_factor = 1.5f};
        pipeline.detect.score = score;
        pipeline.detect.fast_arc_length = needs_score ? 11 : 10;
        pipeline.suppress.suppression = Suppression::kMinimumDistance;
        pipeline.suppress.compare = compare;
        pipeline.describe = {Orientation::kNone, Descriptor::kNone};
        pipeline.select.selection = Selection::kBest;
        pipeline.select.border_px = BorderRange(pipeline).low;
        if (!pipeline.Validate().ok()) GTEST_SKIP() << pipeline.Validate();
        input.parameters.fast_threshold_grey = 8;
        input.mask = frame.mask;
        for (const RunnerVariant& variant : AllRunnerVariants()) {
          SCOPED_TRACE(frame.name + ", score " + std::to_string(static_cast<int>(score)) + ", " +
                       Describe(variant));
          StepRunner runner(frame.image, variant.target, variant.threads, input);
          const FrameLists& lists = runner.frame().lists;
          for (int level = 0; level < runner.levels(); ++level) {
            // Memory of a workspace holds what the frame before left.
            const LevelGeometry& geometry = runner.pipeline().level(level);
            if (geometry.region.empty()) continue;
            uint32_t* const map = runner.frame().At(lists.responses, level);
            const ptrdiff_t pitch = lists.response_pitch[static_cast<size_t>(level)];
            std::fill(map, map + pitch * geometry.height_px, 0xabababab);
          }
          runner.RunUntil("fast_map");
          for (int level = 0; level < runner.levels(); ++level) {
            const LevelGeometry& geometry = runner.pipeline().level(level);
            if (geometry.region.empty()) continue;
            const ptrdiff_t pitch = lists.response_pitch[static_cast<size_t>(level)];
            std::vector<uint32_t> expected(static_cast<size_t>(pitch * geometry.height_px), 0);
            for (const ExpectedCorner& c : ExpectedCorners(runner, level)) {
              expected[static_cast<size_t>(c.y * pitch + c.x)] = algo::OrderedBits(c.response);
              ++corners;
            }
            const uint32_t* const map = runner.frame().At(lists.responses, level);
            for (size_t i = 0; i < expected.size(); ++i) {
              ASSERT_EQ(map[i], expected[i])
                  << "level " << level << ", x " << i % static_cast<size_t>(pitch) << ", y "
                  << i / static_cast<size_t>(pitch);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(corners, 10'000u);
  printf("%zu corners compared\n", corners);
}

}  // namespace
}  // namespace orbserve::cpu
