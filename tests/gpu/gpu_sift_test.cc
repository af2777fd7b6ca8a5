// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset sift on the CUDA backend: the bits of the CPU backend.

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/backend_pair_test.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::Checkerboard;
using ::orbserve::testing::FrameInput;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

class GpuSiftTest : public BackendPairTest {};

TEST_F(GpuSiftTest, EqualsTheCpuOnEveryShapeOfImage) {
  const Preset& sift = **FindPreset("sift");
  size_t features = 0;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {1, 1}, {11, 40}, {64, 33}, {161, 120}, {333, 241}, {641, 481}}) {
    SCOPED_TRACE(::testing::Message() << width << "x" << height);
    const TestImage scene = SceneImage(width, height, 81);
    const TestImage noise = NoiseImage(width, height, 82);
    const TestImage board = Checkerboard(width, height);
    const std::vector<FrameInput> batch = {
        {.image = scene.view(), .parameters = sift.frame},
        {.image = noise.view(), .parameters = {.max_features = 300}},
        {.image = board.view(), .parameters = sift.frame},
        {.image = scene.view(), .parameters = {.max_features = 1}},
        {.image = noise.view(), .parameters = {.max_features = 20'000}}};
    features += ExpectSame({width, height, sift.pipeline}, batch);
    features += ExpectSame({width, height, sift.pipeline}, {batch[1]});
    if (HasFailure()) return;
  }
  EXPECT_GT(features, 1000u);
}

TEST_F(GpuSiftTest, EqualsTheCpuWithOtherOptions) {
  const TestImage scene = SceneImage(301, 200, 83);
  const TestImage noise = NoiseImage(301, 200, 84);
  std::vector<PipelineOptions> pipelines(8, (*FindPreset("sift"))->pipeline);
  pipelines[0].sift.first_octave = 0;
  pipelines[1].sift.octave_layers = 1;
  pipelines[1].sift.sigma = 4.0;  // blurs too wide for a tile
  pipelines[2].sift.octave_layers = 5;
  pipelines[2].sift.sigma = 0.4;
  pipelines[3].describe.descriptor = Descriptor::kNone;
  pipelines[4].select.capacity = 100;
  pipelines[5].sift.edge_threshold = 1000.0;
  pipelines[6].describe.descriptor = Descriptor::kRootSift;
  pipelines[7].describe.descriptor = Descriptor::kL1RootSift;
  for (const PipelineOptions& pipeline : pipelines) {
    const std::vector<FrameInput> batch = {
        {.image = scene.view(), .parameters = {.max_features = 2000}},
        {.image = noise.view(), .parameters = {.max_features = 50}}};
    ExpectSame({301, 200, pipeline}, batch);
  }
}

// More extrema than the lists have room for.
TEST_F(GpuSiftTest, SlowPathEqualsTheCpu) {
  const TestImage noise = NoiseImage(320, 240, 85);
  PipelineOptions pipeline = (*FindPreset("sift"))->pipeline;
  pipeline.sift.octave_layers = 8;
  pipeline.sift.sigma = 0.8;
  pipeline.sift.first_octave = 0;
  pipeline.sift.contrast_threshold = 0.0;
  pipeline.sift.edge_threshold = 1000.0;
  for (const int max_features : {100, 20'000}) {
    const FrameInput frame = {.image = noise.view(), .parameters = {.max_features = max_features}};
    EXPECT_GT(ExpectSame({320, 240, pipeline}, {frame, frame}), 0u);
  }
}

}  // namespace
}  // namespace orbserve::gpu
