// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// States that keep the pyramids of their frames, on the CPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cpu/frame/frame_state.h"
#include "features/algo/lucas_kanade.h"
#include "features/errors.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/track_frames.h"
#include "tests/support/track_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::GreyPlane;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

// ---- States ----

// Level `l` of a state's pyramid.
GreyPlane LevelOf(const FrameState& state, int l) {
  return PlaneOf(dynamic_cast<const CpuFrameState&>(state).pyramid()->Image(l));
}

TEST(CpuTrackStateTest, KeepsThePyramidOfItsFrame) {
  const TestImage image = SceneImage(333, 127, 6);
  const auto expected = testing::OracleTrackPyramid(PlaneOf(image.view()), 7);
  for (const auto& backend : AllBackends()) {
    for (const char* preset : {"vio", "oriented-fast"}) {  // 2 and 4 levels for detection
      PlanSpec spec = {333, 127, (*FindPreset(preset))->pipeline, 7};
      const auto plain = Compute(*backend, image, spec.pipeline);
      const FrameAnswer frame = Extract(*backend, image, spec, {});
      EXPECT_EQ(frame.features->x, plain->x);
      EXPECT_EQ(frame.features->response, plain->response);
      ASSERT_EQ(frame.state->pyramid_levels(), 7);
      EXPECT_EQ(frame.state->feature_count(), plain->count());
      ASSERT_NE(frame.state->input(), nullptr);
      for (int l = 0; l < 7; ++l) {
        ASSERT_EQ(LevelOf(*frame.state, l).values, expected[static_cast<size_t>(l)].values) << l;
      }
      ASSERT_FALSE(frame.stages.empty());
      EXPECT_EQ(frame.stages.entries()[0].stages, StageSet(Stage::kPyramid));
      EXPECT_GT(frame.stages.entries()[0].duration_ns, 0);
      const auto exported = backend->ExportState(*frame.state);
      ASSERT_TRUE(exported.ok()) << exported.status();
      EXPECT_EQ((*exported)->x, plain->x);
    }
  }
}

TEST(CpuTrackStateTest, KeepsThePyramidWithGivenKeypointsAndUnderAMask) {
  const auto backend = Backend({.threads = 5});
  const TestImage image = SceneImage(150, 140, 6);
  const TestImage mask = testing::RandomMask(150, 140, 3);
  const auto expected = testing::OracleTrackPyramid(PlaneOf(image.view()), 5);
  const auto given = std::make_shared<GivenKeypoints>();
  const auto check = [&](const FrameAnswer& frame) {
    ASSERT_EQ(frame.state->pyramid_levels(), 5);
    for (int l = 0; l < 5; ++l) {
      ASSERT_EQ(LevelOf(*frame.state, l).values, expected[static_cast<size_t>(l)].values) << l;
    }
  };
  check(Extract(*backend, image, VioSpec(image), {}, given));
  given->x = given->y = {70.0f};
  given->size = {7.0f};
  given->angle_deg = {-1.0f};
  given->response = {1.0f};
  given->octave = {0};
  check(Extract(*backend, image, VioSpec(image), {}, given));
  PlanSpec described = VioSpec(image);
  described.pipeline.describe.descriptor = Descriptor::kRBrief256;
  described.pipeline.describe.orientation = Orientation::kIntensityCentroid;
  described.pipeline.select.border_px = 31;
  check(Extract(*backend, image, described, {}, given));
  auto job = *testing::MakeJob(*backend, {.image = image.view(), .mask = mask.view()});
  job.keep_state = KeepState::kPyramid;
  std::vector<FrameJob> jobs;
  jobs.push_back(std::move(job));
  check(testing::RunBatch(*backend, *backend->MakePlan(VioSpec(image)), std::move(jobs)).frames[0]);
}

TEST(CpuTrackStateTest, SmallFramesHaveTheLevelsThatExist) {
  const auto backend = Backend();
  for (const auto& [width, height, levels] :
       {std::tuple{1, 1, 1}, {2, 2, 2}, {3, 5, 2}, {40, 1, 1}, {17, 16, 5}}) {
    const TestImage image = testing::NoiseImage(width, height, 5);
    const auto state = StateOf(*backend, image, 11);
    const auto expected = testing::OracleTrackPyramid(PlaneOf(image.view()), 11);
    EXPECT_EQ(state->pyramid_levels(), static_cast<int>(expected.size()));
    for (int l = 0; l < state->pyramid_levels(); ++l) {
      EXPECT_EQ(LevelOf(*state, l).values, expected[static_cast<size_t>(l)].values);
    }
    EXPECT_GE(state->pyramid_levels(), levels);
  }
}

TEST(CpuTrackStateTest, FeaturesDoNotKeepThePyramid) {
  const auto backend = Backend();
  const TestImage image = SceneImage(320, 240, 1);
  FrameAnswer frame = Extract(*backend, image, VioSpec(image));
  const std::weak_ptr<InputSlot> input = frame.state->input();
  const auto features = frame.features;
  const auto exported = *backend->ExportState(*frame.state);
  frame.state.reset();
  EXPECT_TRUE(input.expired());
  EXPECT_EQ(exported->count(), features->count());
}

TEST(CpuTrackStateTest, PyramidsAreCountedAndUsedAgain) {
  const auto backend = Backend();
  const TestImage image = SceneImage(320, 240, 1);
  const auto plan = *backend->MakePlan(VioSpec(image));
  const auto states = [&backend] {
    for (const MemoryUse& use : backend->memory()) {
      if (use.kind == "states") return use.bytes;
    }
    return int64_t{-1};
  };
  const auto extract = [&] {
    auto job = *testing::MakeJob(*backend, {.image = image.view()});
    job.keep_state = KeepState::kPyramid;
    std::vector<FrameJob> jobs;
    jobs.push_back(std::move(job));
    return std::move(testing::RunBatch(*backend, plan, std::move(jobs)).frames[0].state);
  };
  auto first = extract();
  const int64_t one = states();
  constexpr int64_t kLevels = 160 * 120 + 80 * 60 + 40 * 30 + 20 * 15;
  EXPECT_GE(one, kLevels);
  EXPECT_LT(one, 3 * kLevels);
  EXPECT_GE(static_cast<int64_t>(first->size_bytes()), kLevels);
  for (int i = 0; i < 20; ++i) extract();
  const int64_t two = states();
  EXPECT_LE(two, 2 * one + 100'000);  // one more pyramid, used again and again
  for (int i = 0; i < 20; ++i) extract();
  EXPECT_EQ(states(), two);
}

TEST(CpuTrackStateTest, AnotherBackendsPyramidIsRebuilt) {
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto backend = Backend();
  for (const auto& [width, height, levels] :
       {std::tuple{321, 123, 5}, {64, 64, 11}, {1, 1, 3}, {5, 300, 4}}) {
    const TestImage image = testing::NoiseImage(width, height, 9);
    const auto original = StateOf(*reference, image, levels);
    const auto rebuilt = backend->RebuildPyramid(*original);
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
    ASSERT_EQ((*rebuilt)->pyramid_levels(), original->pyramid_levels());
    EXPECT_EQ((*rebuilt)->input(), original->input());
    EXPECT_EQ((*rebuilt)->feature_count(), 0u);
    for (int l = 0; l < original->pyramid_levels(); ++l) {
      EXPECT_EQ(LevelOf(**rebuilt, l).values, LevelOf(*original, l).values);
    }
  }
  const auto features_only = *backend->ImportState(std::make_shared<const Features>());
  EXPECT_EQ(ReasonOf(backend->RebuildPyramid(*features_only).status()), ErrorReason::kInternal);
}

TEST(CpuTrackStateTest, APyramidIsRefusedByAPlanWithout) {
  const auto backend = Backend();
  const TestImage image = SceneImage(64, 64, 1);
  auto job = *testing::MakeJob(*backend, {.image = image.view()});
  job.keep_state = KeepState::kPyramid;
  std::vector<FrameJob> jobs;
  jobs.push_back(std::move(job));
  const FrameBatchAnswer answer =
      testing::RunBatch(*backend, *backend->MakePlan(VioSpec(image, 0)), std::move(jobs));
  EXPECT_EQ(ReasonOf(answer.frames[0].status), ErrorReason::kInternal);
}

}  // namespace
}  // namespace orbserve::cpu
