// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `orb-slam3` on a device: its published values, and the bits of the CPU backend over
// random options, alone, in batches, and with lists that find no room.

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <vector>

#include "tests/gpu/backend_pair_test.h"
#include "tests/support/orb_slam3_values.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::FrameInput;
using ::orbserve::testing::TestImage;

using GpuOrbSlam3Test = BackendPairTest;

TEST_F(GpuOrbSlam3Test, GivesEveryPublishedAnswer) {
  int compared = 0;
  for (const testing::Slam3Value& value : testing::Slam3Values()) {
    const auto image = testing::Slam3Image(value, ORBSERVE_TEST_DATA_DIR);
    if (!image.has_value()) continue;
    PipelineOptions pipeline = (*FindPreset("orb-slam3"))->pipeline;
    pipeline.pyramid.levels = value.settings.levels;
    pipeline.pyramid.scale_factor = value.settings.scale_factor;
    FrameParameters parameters;
    parameters.max_features = value.settings.max_features;
    parameters.fast_threshold_grey = value.settings.threshold;
    parameters.fast_threshold_low_grey = value.settings.threshold_low;
    parameters.lapping_begin_px = value.settings.lapping_begin;
    parameters.lapping_end_px = value.settings.lapping_end;
    const auto answer =
        testing::RunFrame(*gpu_, pipeline, {.image = image->view(), .parameters = parameters});
    EXPECT_EQ(answer.ok(), *value.lines != '\0') << NameOf(value) << answer.status();
    if (!answer.ok() || *value.lines == '\0') continue;
    EXPECT_EQ(testing::ValueOf(**answer, pipeline.pyramid.scale_factor), value.lines)
        << NameOf(value);
    const PlanSpec spec = {image->width_px(), image->height_px(), pipeline};
    ExpectSame(spec, {{.image = image->view(), .parameters = parameters}});
    ++compared;
  }
  printf("%d answers compared\n", compared);
}

TEST_F(GpuOrbSlam3Test, EqualsTheCpuOverRandomOptionsInBatches) {
  std::mt19937 random(20262);
  const auto between = [&random](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  size_t features = 0;
  for (int run = 0; run < 80; ++run) {
    const int width = between(100, 900);
    // Taller ones have levels that ORB-SLAM3 cannot part.
    const int height = between(100, Min(700, width + width / 4));
    PipelineOptions pipeline = (*FindPreset("orb-slam3"))->pipeline;
    pipeline.pyramid.scale_factor = 1.01f + static_cast<float>(between(0, 150)) / 100.0f;
    pipeline.pyramid.levels = 1;
    // As many levels as have features.
    for (float side = static_cast<float>(Min(width, height)); pipeline.pyramid.levels < 10;
         ++pipeline.pyramid.levels) {
      side /= pipeline.pyramid.scale_factor;
      if (side < 80.0f) break;
    }
    std::vector<TestImage> images;
    std::vector<FrameInput> inputs;
    for (int i = 0; i < 3; ++i) {
      const auto seed = static_cast<uint32_t>(10 * run + i);
      images.push_back(i == 0   ? testing::SceneImage(width, height, seed)
                       : i == 1 ? testing::NoiseImage(width, height, seed)
                                : testing::DotLattice(width, height, 7 + run % 5));
    }
    for (const TestImage& image : images) {
      FrameParameters parameters;
      parameters.max_features = run % 5 == 0 ? between(1, 20) : between(1, 8000);
      parameters.fast_threshold_grey = between(3, 60);
      parameters.fast_threshold_low_grey = between(0, parameters.fast_threshold_grey);
      parameters.lapping_begin_px = between(0, width);
      parameters.lapping_end_px = run % 2 == 0 ? 0 : between(0, width);
      inputs.push_back({.image = image.view(), .parameters = parameters});
    }
    const PlanSpec spec = {width, height, pipeline};
    features += ExpectSame(spec, inputs);
    features += ExpectSame(spec, {inputs[1]});
    if (HasFailure()) {
      ADD_FAILURE() << "run " << run << ": " << width << "x" << height;
      return;
    }
  }
  printf("%zu features compared\n", features);
}

// Noise has more corners than a list of the fast path holds.
TEST_F(GpuOrbSlam3Test, LongListsTakeTheSlowPath) {
  const TestImage image = testing::NoiseImage(1400, 1300, 9);
  PipelineOptions pipeline = (*FindPreset("orb-slam3"))->pipeline;
  for (const int wanted : {1000, 60'000}) {
    FrameParameters parameters;
    parameters.max_features = wanted;
    parameters.fast_threshold_grey = 3;
    for (const int lapping_end : {0, 700}) {
      parameters.lapping_end_px = lapping_end;
      EXPECT_GT(ExpectSame({image.width_px(), image.height_px(), pipeline},
                           {{.image = image.view(), .parameters = parameters}}),
                900u);
    }
  }
}

TEST_F(GpuOrbSlam3Test, RefusesWhatTheCpuRefuses) {
  const TestImage image = testing::SceneImage(320, 240, 3);
  const TestImage mask = testing::RandomMask(320, 240, 3);
  const PipelineOptions pipeline = (*FindPreset("orb-slam3"))->pipeline;
  ExpectSame({320, 240, pipeline},
             {{.image = image.view(), .mask = mask.view()}, {.image = image.view()}});
}

}  // namespace
}  // namespace orbserve::gpu
