// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/sift.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cpu/kernels/sift_extractor.h"
#include "features/algo/sift_descriptor.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::TestImage;

RunnerInput SiftInput(int max_features, int capacity) {
  RunnerInput input;
  input.pipeline = (*FindPreset("sift"))->pipeline;
  input.pipeline.select.capacity = capacity;
  input.parameters.max_features = max_features;
  return input;
}

TEST(SiftStepTest, EveryVariantLeavesTheFeaturesOfThePlainLoops) {
  const TestImage image = testing::NoiseImage(301, 200, 71);
  const RunnerInput input = SiftInput(200, kMaxFeatures);
  SiftMemory expected;
  expected.scratch.resize(1);
  const SiftExtractor extractor(301, 200, input.pipeline.sift, ReferenceSiftKernels());
  std::vector<float> images(extractor.image_floats());
  extractor.Detect(image.view(), nullptr, 200, nullptr, images.data(), &expected);
  extractor.PrepareDescriptors(images.data(), &expected);
  extractor.Describe(expected.tasks.data(), static_cast<int>(expected.tasks.size()),
                     &expected.scratch[0]);
  ASSERT_GE(expected.keypoints.size(), 200u);
  ASSERT_GT(expected.found, 200);
  for (const RunnerVariant& variant : AllRunnerVariants()) {
    SCOPED_TRACE(Describe(variant));
    StepRunner runner(image, variant.target, variant.threads, input);
    runner.RunUntil("sift_describe");
    const SiftMemory& memory = runner.frame().workspace().sift;
    ASSERT_EQ(memory.keypoints.size(), expected.keypoints.size());
    EXPECT_EQ(std::memcmp(memory.keypoints.data(), expected.keypoints.data(),
                          expected.keypoints.size() * sizeof(algo::SiftFeature)),
              0);
    EXPECT_EQ(memory.descriptors, expected.descriptors);
    EXPECT_EQ(memory.found, expected.found);
  }
}

TEST(SiftStepTest, TheCapacityCutsByResponseAndThenTheRows) {
  const TestImage image = testing::NoiseImage(301, 200, 71);
  const auto gather = [&](int max_features, int capacity) {
    StepRunner runner(image, FastestTarget(), 1, SiftInput(max_features, capacity));
    runner.RunUntil("sift_describe");
    Features features;
    features.descriptor_bytes = algo::kSiftDescriptorBytes;
    GatherSift(runner.frame(), &features);
    return features;
  };
  const Features all = gather(kMaxFeatures, kMaxFeatures);
  EXPECT_FALSE(all.truncated);
  ASSERT_GT(all.count(), 200u);
  const Features wanted = gather(200, kMaxFeatures);
  EXPECT_GE(wanted.count(), 200u);
  EXPECT_FALSE(wanted.truncated);
  const Features cut = gather(kMaxFeatures, 200);
  EXPECT_TRUE(cut.truncated);
  ASSERT_EQ(cut.count(), 200u);
  for (size_t i = 0; i < cut.count(); ++i) {
    EXPECT_EQ(cut.x[i], wanted.x[i]);
    EXPECT_EQ(cut.response[i], wanted.response[i]);
  }
  EXPECT_EQ(cut.layer.size(), 200u);
  EXPECT_EQ(cut.layer_fraction.size(), 200u);
  EXPECT_EQ(cut.descriptors.size(), 200u * algo::kSiftDescriptorBytes);
}

}  // namespace
}  // namespace orbserve::cpu
