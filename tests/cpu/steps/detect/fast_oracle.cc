// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cpu/steps/detect/fast_oracle.h"

#include <gtest/gtest.h>

#include "features/algo/order.h"
#include "features/pipeline/geometry.h"
#include "tests/support/reference_answers.h"

namespace orbserve::cpu {

using ::orbserve::testing::CornerPlanes;
using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::OracleOptions;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::TestImage;

std::vector<ExpectedCorner> ExpectedCorners(StepRunner& runner, int level) {
  const PipelineOptions& pipeline = runner.pipeline().spec.pipeline;
  const OracleOptions options = testing::OracleOptionsOf(pipeline, runner.frame().job.parameters);
  const GreyPlane image = PlaneOf(runner.frame().Image(level));
  const CornerPlanes planes = testing::OracleFastMap(
      image, options, runner.frame().job.parameters.detection_threshold_grey());
  const int window = pipeline.suppress.suppression == Suppression::kMinimumDistance
                         ? 1
                         : pipeline.suppress.window_px;
  const bool by_response = pipeline.suppress.compare == Compare::kScore && window > 1;
  const auto places = by_response ? testing::WindowMaxima(planes.response, window)
                                  : testing::WindowMaxima(planes.largest_threshold, window);
  std::vector<ExpectedCorner> corners;
  const int border = pipeline.select.border_px;
  for (const auto& [x, y] : places) {
    if (x < border || y < border || x >= image.width - border || y >= image.height - border) {
      continue;
    }
    if (runner.frame().masked() && runner.frame().Mask(level).Row(y)[x] == 0) continue;
    corners.push_back({x, y, planes.largest_threshold.At(x, y), planes.response.At(x, y)});
  }
  return corners;
}

const std::vector<DetectionFrame>& DetectionFrames() {
  static const TestImage* const mask = new TestImage(testing::RandomMask(1500, 110, 31));
  static const std::vector<DetectionFrame>* const frames = new std::vector<DetectionFrame>{
      {"scene", testing::SceneImage(1500, 110, 32), nullptr},
      {"masked scene", testing::SceneImage(1500, 110, 33), mask},
      {"noise", testing::NoiseImage(130, 61, 34), nullptr},
      {"dots", testing::DotLattice(150, 70, 7), nullptr},
      {"checkers", testing::Checkerboard(64, 40), nullptr},
      {"one row of keypoints", testing::NoiseImage(97, 11, 35), nullptr},
      {"one keypoint", testing::NoiseImage(11, 11, 36), nullptr},
  };
  return *frames;
}

size_t ExpectTheOraclesKeys(const DetectionFrame& frame, RunnerInput input,
                            const std::string& step) {
  input.mask = frame.mask;
  size_t keys = 0;
  std::vector<std::vector<uint64_t>> expected;  // of each level
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(frame.name + ", " + Describe(variant));
    StepRunner runner(frame.image, variant.target, variant.threads, input);
    runner.RunUntil(step);
    for (int level = 0; level < runner.levels(); ++level) {
      if (static_cast<int>(expected.size()) == level) {
        expected.emplace_back();
        for (const ExpectedCorner& c : ExpectedCorners(runner, level)) {
          expected.back().push_back(algo::RankKey(c.response, c.x, c.y));
        }
        keys += expected.back().size();
      }
      EXPECT_EQ(runner.DetectedKeys(level), expected[static_cast<size_t>(level)]) << level;
    }
    if (::testing::Test::HasFailure()) break;
  }
  return keys;
}

}  // namespace orbserve::cpu
