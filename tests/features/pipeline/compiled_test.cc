// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/compiled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/errors.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

struct FakeSlot final : InputSlot {
  FakeSlot(int width_px, int height_px)
      : pixels(static_cast<size_t>(width_px) * static_cast<size_t>(height_px)) {
    image = {pixels.data(), width_px, height_px, width_px};
  }
  std::vector<uint8_t> pixels;
};

FrameJob JobOf(int width_px, int height_px) {
  FrameJob job;
  job.input = std::make_shared<FakeSlot>(width_px, height_px);
  return job;
}

TEST(CompilePipelineTest, OrbOfVga) {
  const auto compiled = CompilePipeline({640, 480, {}});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->level_count(), 8);
  EXPECT_EQ(compiled->level(1).width_px, 533);
  EXPECT_EQ(compiled->descriptor_bytes, 32);
  EXPECT_EQ(compiled->reach.describe_px, 21);
  EXPECT_EQ(compiled->CutsFor({.max_features = 500}).by_response[0], 109);
}

TEST(CompilePipelineTest, RefusesBadSidesAndOptions) {
  for (const auto& [width, height] : {std::pair{0, 10}, {10, 0}, {-1, 5}, {40'000, 10}}) {
    EXPECT_EQ(CompilePipeline({width, height, {}}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << width << " x " << height;
  }
  PlanSpec spec = {640, 480, {}};
  spec.pipeline.select.border_px = 21;  // rBRIEF needs 22
  EXPECT_EQ(ReasonOf(CompilePipeline(spec).status()), ErrorReason::kBadOptions);
  spec = {640, 480, {}};
  spec.pipeline.suppress.suppression = Suppression::kCell;  // with LEVEL_QUOTA
  EXPECT_EQ(ReasonOf(CompilePipeline(spec).status()), ErrorReason::kBadOptions);
}

TEST(BeginFrameTest, LeavesTheFeaturesAsTheFirstStepFindsThem) {
  const CompiledPipeline pipeline = *CompilePipeline({64, 48, {}});
  Features features;
  features.truncated = true;
  features.source_index = {1, 2, 3};
  ASSERT_TRUE(BeginFrame(pipeline, JobOf(64, 48), &features).ok());
  EXPECT_EQ(features.descriptor_bytes, 32);
  EXPECT_EQ(features.image_width_px, 64);
  EXPECT_EQ(features.image_height_px, 48);
  EXPECT_FALSE(features.truncated);
  EXPECT_TRUE(features.source_index.empty());
}

TEST(BeginFrameTest, RefusesJobsThatDoNotFitThePlan) {
  const CompiledPipeline pipeline = *CompilePipeline({64, 48, {}});
  Features features;
  EXPECT_EQ(ReasonOf(BeginFrame(pipeline, {}, &features)), ErrorReason::kInternal);
  const absl::Status size = BeginFrame(pipeline, JobOf(48, 64), &features);
  EXPECT_EQ(ReasonOf(size), ErrorReason::kInternal);
  EXPECT_THAT(std::string(size.message()), HasSubstr("48 x 64"));
  FrameJob job = JobOf(64, 48);
  job.parameters.max_features = 0;
  EXPECT_EQ(ReasonOf(BeginFrame(pipeline, job, &features)), ErrorReason::kBadOptions);
}

TEST(PlacedKeypointTest, LiesOnItsLevel) {
  PlanSpec spec = {640, 480, {}};
  spec.pipeline.pyramid = {.levels = 3, .scale_factor = 2.0f};
  const CompiledPipeline pipeline = *CompilePipeline(spec);
  Features features;
  features.Resize(2);
  features.x = {101.0f, 100.4f};
  features.y = {50.0f, 201.9f};
  features.octave = {0, 2};
  features.angle_deg = {-1.0f, 33.5f};
  const PlacedKeypoint first = PlacedKeypointAt(pipeline, features, 0);
  EXPECT_EQ(first.x, 101);
  EXPECT_EQ(first.y, 50);
  EXPECT_EQ(first.level, 0);
  EXPECT_EQ(first.angle_deg, -1.0f);
  const PlacedKeypoint second = PlacedKeypointAt(pipeline, features, 1);
  EXPECT_EQ(second.x, 25);  // 100.4 / 4 = 25.1
  EXPECT_EQ(second.y, 50);  // 201.9 / 4 = 50.5 less a bit
  EXPECT_EQ(second.level, 2);
  EXPECT_EQ(second.angle_deg, 33.5f);
}

}  // namespace
}  // namespace orbserve
