// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/detect/corner_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "features/algo/order.h"
#include "features/pipeline/detection.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::Checkerboard;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleCornerMap;
using ::orbserve::testing::Plane;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

constexpr Detector kDetectors[] = {Detector::kHarris, Detector::kShiTomasi};

RunnerInput InputFor(Detector detector) {
  RunnerInput input;
  input.pipeline = (*FindPreset("harris-corners"))->pipeline;
  input.pipeline.detect.detector = detector;
  return input;
}

// Pixels of 0 and 255 alone: gradients and sums of all sizes up to the largest.
TestImage ExtremeImage(int width, int height, uint32_t seed) {
  TestImage image(width, height);
  std::mt19937 random(seed);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      // Bands of long edges, then blocks, then noise.
      const int kind = y * 3 / height;
      const bool bright = kind == 0   ? (x / 9) % 2 == 0
                          : kind == 1 ? ((x / 8) ^ (y / 8)) % 2 == 0
                                      : random() % 2 == 0;
      image.At(x, y) = bright ? 255 : 0;
    }
  }
  return image;
}

// Expects the maps of all levels to be the oracle's inside the region and its margin, and the
// largest entries of the strips to be those of the region.
void ExpectOracleMaps(StepRunner& runner, Detector detector, bool masked) {
  const int margin =
      runner.pipeline().spec.pipeline.suppress.suppression == Suppression::kMinimumDistance
          ? 0
          : WindowRadiusPx(runner.pipeline().spec.pipeline);
  for (int l = 0; l < runner.levels(); ++l) {
    const ImageView image = runner.frame().Image(l);
    const Plane<float> expected = OracleCornerMap(PlaneOf(image), detector);
    const Region& region = runner.pipeline().level(l).region;
    if (region.empty()) continue;
    const uint32_t* const map = runner.frame().At(runner.frame().lists.responses, l);
    const ptrdiff_t pitch = runner.frame().lists.response_pitch[static_cast<size_t>(l)];
    uint32_t top = 0;
    for (int y = region.y_begin - margin; y < region.y_end + margin; ++y) {
      for (int x = region.x_begin - margin; x < region.x_end + margin; ++x) {
        const bool hidden = masked && runner.frame().Mask(l).Row(y)[x] == 0;
        const float value = hidden ? 0.0f : expected.At(x, y);
        const uint32_t order = value > 0.0f ? algo::OrderedBits(value) : 0;
        ASSERT_EQ(map[y * pitch + x], order)
            << "level " << l << " x " << x << " y " << y << " response " << value;
        if (region.Holds(x, y)) top = std::max(top, order);
      }
    }
    const uint32_t* const tops = runner.frame().At(runner.frame().lists.strip_tops, l);
    const int strips = runner.frame().lists.strips[static_cast<size_t>(l)].count;
    EXPECT_EQ(*std::max_element(tops, tops + strips), top) << l;
  }
}

TEST(CornerMapStepTest, ResponsesAreTheOraclesHoweverDivided) {
  for (const TestImage& image :
       {SceneImage(613, 300, 61), NoiseImage(1100, 120, 62), ExtremeImage(531, 240, 63),
        Checkerboard(70, 60), TestImage(80, 80)}) {
    for (const Detector detector : kDetectors) {
      RunnerInput input = InputFor(detector);
      input.pipeline.pyramid.levels = 2;
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("corner_map");
        ExpectOracleMaps(runner, detector, /*masked=*/false);
      }
    }
  }
}

TEST(CornerMapStepTest, MaskedPixelsHaveNoResponse) {
  const TestImage image = SceneImage(400, 270, 64);
  const TestImage mask = RandomMask(400, 270, 65);
  for (const Detector detector : kDetectors) {
    for (const Suppression suppression :
         {Suppression::kMinimumDistance, Suppression::kNeighbourhood}) {
      RunnerInput input = InputFor(detector);
      input.mask = &mask;
      input.pipeline.pyramid.levels = 2;
      input.pipeline.suppress.suppression = suppression;
      input.pipeline.suppress.window_px = 7;
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("corner_map");
        ExpectOracleMaps(runner, detector, /*masked=*/true);
      }
    }
  }
}

TEST(CornerMapStepTest, WindowsSeeResponsesBeyondTheBorder) {
  for (const auto& [width, height] :
       {std::pair{9, 9}, {10, 40}, {33, 9}, {64, 31}, {65, 80}, {520, 30}, {525, 61}}) {
    const TestImage image = NoiseImage(width, height, 66);
    for (const int border : {4, 6}) {
      RunnerInput input = InputFor(Detector::kHarris);
      input.pipeline.suppress.suppression = Suppression::kNeighbourhood;
      input.pipeline.suppress.window_px = 9;
      input.pipeline.select.border_px = border;
      for (const RunnerVariant& variant : AllRunnerVariants()) {
        SCOPED_TRACE(Describe(variant));
        StepRunner runner(image, variant.target, variant.threads, input);
        runner.RunUntil("corner_map");
        ExpectOracleMaps(runner, Detector::kHarris, /*masked=*/false);
      }
    }
  }
}

TEST(CornerMapStepTest, LevelsWithoutARegionHaveNoMap) {
  StepRunner runner(NoiseImage(8, 30, 67), FastestTarget(), 1, InputFor(Detector::kShiTomasi));
  EXPECT_EQ(runner.frame().lists.strips[0].count, 0);
  runner.RunUntil("rank");
}

}  // namespace
}  // namespace orbserve::cpu
