// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Presets on the CUDA backend: their published reference values, and the bits of the CPU backend
// where rooms are exceeded, levels are tiny or keypoints are given.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/backend_pair_test.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/match_oracle.h"
#include "tests/support/reference_answers.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::DotLattice;
using ::orbserve::testing::FrameInput;
using ::orbserve::testing::MakeJob;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

class GpuPresetsTest : public BackendPairTest {};

TEST_F(GpuPresetsTest, VioGivesThePublishedValues) {
  ExpectPublishedValues(testing::VioReferenceAnswers());
}

TEST_F(GpuPresetsTest, BFrostGivesThePublishedValues) {
  ExpectPublishedValues(testing::BFrostReferenceAnswers());
}

TEST_F(GpuPresetsTest, Orb32GivesThePublishedValues) {
  ExpectPublishedValues(testing::Orb32ReferenceAnswers());
}

TEST_F(GpuPresetsTest, OrientedFastGivesThePublishedValues) {
  ExpectPublishedValues(testing::OrientedFastReferenceAnswers());
}

// Every corner is an answer here, so that large images take the slow path, too.
TEST_F(GpuPresetsTest, OrientedFastEqualsTheCpuOnEveryShapeOfImage) {
  const Preset& oriented_fast = **FindPreset("oriented-fast");
  size_t features = 0;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {1, 1}, {33, 33}, {32, 90}, {70, 67}, {333, 241}, {641, 481}, {1920, 1080}}) {
    for (const int levels : {1, 4}) {
      PlanSpec spec = {width, height, oriented_fast.pipeline};
      spec.pipeline.pyramid.levels = levels;
      const TestImage scene = SceneImage(width, height, 73);
      const TestImage noise = NoiseImage(width, height, 74);
      const TestImage mask = RandomMask(width, height, 75);
      const std::vector<FrameInput> batch = {
          {.image = scene.view(), .parameters = oriented_fast.frame},
          {.image = noise.view(), .parameters = {.max_features = 1000}},
          {.image = scene.view(), .mask = mask.view(), .parameters = oriented_fast.frame},
          {.image = noise.view(),
           .parameters = {.max_features = 20'000, .fast_threshold_grey = 5}}};
      SCOPED_TRACE(::testing::Message() << width << "x" << height << ", " << levels << " levels");
      features += ExpectSame(spec, batch);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(features, 10'000u);
}

TEST_F(GpuPresetsTest, OrbSlamGivesThePublishedValues) {
  ExpectPublishedValues(testing::OrbSlamReferenceAnswers());
}

TEST_F(GpuPresetsTest, Orb32EqualsTheCpuOnEveryShapeOfImage) {
  const Preset& orb32 = **FindPreset("orb-32");
  size_t features = 0;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {1, 1}, {21, 21}, {20, 90}, {22, 23}, {33, 47}, {333, 241}, {641, 481}, {1920, 1080}}) {
    for (const int levels : {1, 3}) {
      for (const Orientation orientation :
           {Orientation::kIntensityCentroid, Orientation::kArcMiddle}) {
        PlanSpec spec = {width, height, orb32.pipeline};
        spec.pipeline.pyramid.levels = levels;
        spec.pipeline.describe.orientation = orientation;
        const TestImage scene = SceneImage(width, height, 67);
        const TestImage noise = NoiseImage(width, height, 68);
        const TestImage mask = RandomMask(width, height, 69);
        const std::vector<FrameInput> batch = {
            {.image = scene.view(), .parameters = orb32.frame},
            {.image = noise.view(), .parameters = {.max_features = 1000}},
            {.image = scene.view(), .mask = mask.view(), .parameters = orb32.frame},
            {.image = noise.view(),
             .parameters = {.max_features = 20'000, .fast_threshold_grey = 5}}};
        SCOPED_TRACE(::testing::Message()
                     << width << "x" << height << ", " << levels << " levels, orientation "
                     << static_cast<int>(orientation));
        features += ExpectSame(spec, batch);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 10'000u);
}

TEST_F(GpuPresetsTest, Orb32DescribesGivenKeypointsAsOnTheCpu) {
  const TestImage image = SceneImage(700, 500, 70);
  PlanSpec spec = {700, 500, (*FindPreset("orb-32"))->pipeline};
  spec.pipeline.pyramid = {.levels = 3, .scale_factor = 4.0f};
  std::mt19937 random(71);
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  auto given = std::make_shared<GivenKeypoints>();
  for (int i = 0; i < 12'000; ++i) {
    given->x.push_back(unit(random) * 700.0f);
    given->y.push_back(unit(random) * 500.0f);
    given->size.push_back(10.0f);
    given->angle_deg.push_back(i % 3 == 0 ? -1.0f : unit(random) * 1440.0f - 720.0f);
    given->response.push_back(unit(random));
    given->octave.push_back(i % 3);
  }
  const size_t features = ExpectSame(
      spec, {{.image = image.view(), .given_keypoints = given}, {.image = image.view()}});
  EXPECT_GT(features, 5'000u);
}

// Descriptors that stay on the device are 4 bytes apart.
TEST_F(GpuPresetsTest, Orb32MatchesAReferenceFromStatesOfFramesAsOnTheCpu) {
  const Preset& orb32 = **FindPreset("orb-32");
  const PlanSpec spec = {640, 480, orb32.pipeline};
  std::vector<MatchBatchAnswer> answers;
  for (FeatureBackend* const backend : {cpu_.get(), gpu_.get()}) {
    const auto plan = *backend->MakePlan(spec);
    std::vector<FrameJob> jobs;
    for (unsigned seed = 0; seed < 9; ++seed) {
      const TestImage image = SceneImage(640, 480, 90 + seed / 2);
      FrameJob job = *MakeJob(*backend, {.image = image.view(), .parameters = orb32.frame});
      job.keep_state = KeepState::kFeatures;
      jobs.push_back(std::move(job));
    }
    const FrameBatchAnswer frames = testing::RunBatch(*backend, plan, std::move(jobs));
    std::vector<MatchJob> matches;
    ASSERT_TRUE(frames.frames[0].status.ok()) << frames.frames[0].status;
    const auto reference = *backend->ImportState(frames.frames[0].features);
    for (const FrameAnswer& frame : frames.frames) {
      ASSERT_TRUE(frame.status.ok()) << frame.status;
      ASSERT_NE(frame.state, nullptr);
      for (const MatchOptions& options : {orb32.match, MatchOptions{}, MatchOptions{.k = 2}}) {
        matches.push_back({frame.state, reference, options});
      }
    }
    answers.push_back(testing::RunMatches(*backend, std::move(matches)));
  }
  size_t matched = 0;
  for (size_t i = 0; i < answers[0].pairs.size(); ++i) {
    ASSERT_EQ(answers[0].pairs[i].status, answers[1].pairs[i].status);
    const Matches& want = answers[0].pairs[i].matches;
    const Matches& got = answers[1].pairs[i].matches;
    EXPECT_EQ(want.query_index, got.query_index) << i;
    EXPECT_EQ(want.train_index, got.train_index) << i;
    EXPECT_EQ(want.distance, got.distance) << i;
    matched += want.query_index.size();
  }
  EXPECT_GT(matched, 1'000u);
}

TEST_F(GpuPresetsTest, BFrostEqualsTheCpuOnEveryShapeOfImage) {
  size_t features = 0;
  // Sides around the smallest that hold a keypoint, around strips of 8 rows, and wider than one
  // pass over the columns.
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{{1, 1},
                                                                      {89, 89},
                                                                      {88, 200},
                                                                      {96, 104},
                                                                      {333, 241},
                                                                      {1023, 97},
                                                                      {2049, 120},
                                                                      {5000, 130},
                                                                      {120, 4000},
                                                                      {1920, 1080}}) {
    for (const int levels : {1, 3}) {
      PlanSpec spec = {width, height, (*FindPreset("bfrost"))->pipeline};
      spec.pipeline.pyramid.levels = levels;
      spec.pipeline.pyramid.scale_factor = 1.3f;
      const TestImage scene = SceneImage(width, height, 61);
      const TestImage noise = NoiseImage(width, height, 62);
      const TestImage mask = RandomMask(width, height, 63);
      std::vector<FrameInput> batch = {
          {.image = scene.view()},
          {.image = noise.view(), .parameters = {.max_features = 1000}},
          {.image = scene.view(), .mask = mask.view(), .parameters = {.max_features = 33}},
          {.image = noise.view(),
           .parameters = {.max_features = 20'000, .fast_threshold_grey = 5}}};
      SCOPED_TRACE(::testing::Message() << width << "x" << height << ", " << levels << " levels");
      features += ExpectSame(spec, batch);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(features, 10'000u);
}

TEST_F(GpuPresetsTest, ExactCutsWithMassiveTiesOnTheFastAndOnTheSlowPath) {
  const TestImage lattice = DotLattice(1280, 960, 7);
  const TestImage noise = NoiseImage(1280, 960, 64);
  for (const Score score : {Score::kFast, Score::kHarris}) {
    for (const int levels : {1, 4}) {
      for (const int capacity : {kMaxFeatures, 700}) {
        PlanSpec spec = {1280, 960, (*FindPreset("bfrost"))->pipeline};
        spec.pipeline.pyramid = {.levels = levels, .scale_factor = 1.4f};
        spec.pipeline.detect.score = score;
        spec.pipeline.select.capacity = capacity;
        std::vector<FrameInput> batch;
        for (const int wanted : {1, 500, 9000, 100'000}) {
          batch.push_back({.image = lattice.view(), .parameters = {.max_features = wanted}});
          batch.push_back({.image = noise.view(), .parameters = {.max_features = wanted}});
        }
        SCOPED_TRACE(::testing::Message() << levels << " levels, capacity " << capacity
                                          << ", score " << static_cast<int>(score));
        ExpectSame(spec, batch);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(GpuPresetsTest, GivenKeypointsAreDescribedAsOnTheCpu) {
  const TestImage image = SceneImage(700, 500, 65);
  PlanSpec spec = {700, 500, (*FindPreset("bfrost"))->pipeline};
  spec.pipeline.pyramid = {.levels = 3, .scale_factor = 1.5f};
  std::mt19937 random(66);
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  auto given = std::make_shared<GivenKeypoints>();
  for (int i = 0; i < 12'000; ++i) {
    given->x.push_back(unit(random) * 700.0f);
    given->y.push_back(unit(random) * 500.0f);
    given->size.push_back(89.0f);
    given->angle_deg.push_back(i % 3 == 0 ? 11.25f * static_cast<float>(i % 32)
                                          : unit(random) * 1440.0f - 720.0f);
    given->response.push_back(unit(random));
    given->octave.push_back(i % 3);
  }
  const size_t features = ExpectSame(
      spec, {{.image = image.view(), .given_keypoints = given}, {.image = image.view()}});
  EXPECT_GT(features, 5'000u);
}

// ORBSERVE_TEST_ROUNDS: images of each size, 1 by default.
TEST_F(GpuPresetsTest, TeblidAndBeblidAreDescribedAsOnTheCpu) {
  const char* const asked = std::getenv("ORBSERVE_TEST_ROUNDS");
  const int rounds = asked == nullptr ? 1 : std::atoi(asked);
  std::mt19937 random(69);
  const auto from = [&random](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  // The last image ends one row behind a strip of its integral image.
  const std::pair<int, int> sizes[] = {{700, 500}, {2051, 1091}, {131, 97}, {640, 33}};
  size_t features = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [width_px, height_px] : sizes) {
      const TestImage image = SceneImage(width_px, height_px, 68 + static_cast<unsigned>(round));
      auto given = std::make_shared<GivenKeypoints>();
      for (int i = 0; i < 6'000; ++i) {
        const bool whole = i % 4 == 0;
        const float x = from(-2.0f, static_cast<float>(width_px) + 2.0f);
        const float y = from(-2.0f, static_cast<float>(height_px) + 2.0f);
        given->x.push_back(whole ? std::rint(x) : x);
        given->y.push_back(whole ? std::rint(y) : y);
        given->size.push_back(i % 5 == 0 ? 31.0f : from(12.0f, i % 7 == 0 ? 800.0f : 120.0f));
        given->angle_deg.push_back(i % 3 == 0   ? -1.0f
                                   : i % 3 == 1 ? 22.5f * static_cast<float>(i % 17)
                                                : from(0.0f, 720.0f));
        given->response.push_back(0.0f);
        given->octave.push_back(0);
      }
      for (const Descriptor descriptor : {Descriptor::kTeblid256, Descriptor::kTeblid512,
                                          Descriptor::kBeblid256, Descriptor::kBeblid512}) {
        SCOPED_TRACE(DescriptorName(descriptor));
        for (const char* const name : {"orb", "vio"}) {  // at an angle, and upright
          PlanSpec spec = {width_px, height_px, (*FindPreset(name))->pipeline};
          spec.pipeline.describe.descriptor = descriptor;
          spec.pipeline.select.border_px = BorderRange(spec.pipeline).low;  // squares are cut
          features += ExpectSame(
              spec, {{.image = image.view(), .given_keypoints = given}, {.image = image.view()}});
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(features, 50'000u);
  RecordProperty("features", static_cast<int>(features));
}

TEST_F(GpuPresetsTest, FramesAndGivenKeypointsMatchInAWindowAsOnTheCpu) {
  const TestImage image = SceneImage(700, 500, 67);
  for (const char* const name : {"orb", "bfrost", "orb-32"}) {
    SCOPED_TRACE(name);
    const Preset& preset = **FindPreset(name);
    const auto detected = testing::RunFrame(*cpu_, preset.pipeline,
                                            {.image = image.view(), .parameters = preset.frame});
    ASSERT_TRUE(detected.ok()) << detected.status();
    // Every second one, 10 pixels to the right.
    auto given = std::make_shared<GivenKeypoints>();
    for (size_t i = 0; i < (*detected)->count(); i += 2) {
      given->x.push_back((*detected)->x[i] + 10.0f);
      given->y.push_back((*detected)->y[i]);
      given->size.push_back((*detected)->size[i]);
      given->angle_deg.push_back((*detected)->angle_deg[i]);
      given->response.push_back((*detected)->response[i]);
      given->octave.push_back((*detected)->octave[i]);
    }
    MatchOptions options = preset.match;
    options.cross_check = true;
    options.window_px = 3.0f;
    options.offset_x_px = -10.0f;
    for (FeatureBackend* const backend : {cpu_.get(), gpu_.get()}) {
      const auto plan = backend->MakePlan({700, 500, preset.pipeline});
      ASSERT_TRUE(plan.ok()) << plan.status();
      std::vector<FrameJob> jobs;
      jobs.push_back(*MakeJob(*backend, {.image = image.view(), .parameters = preset.frame}));
      jobs.push_back(*MakeJob(*backend, {.image = image.view(), .given_keypoints = given}));
      for (FrameJob& job : jobs) job.keep_state = KeepState::kFeatures;
      const FrameBatchAnswer frames = testing::RunBatch(*backend, *plan, std::move(jobs));
      ASSERT_TRUE(frames.frames[0].status.ok()) << frames.frames[0].status;
      ASSERT_TRUE(frames.frames[1].status.ok()) << frames.frames[1].status;
      const Matches expected = testing::OracleMatch(
          *frames.frames[1].features, *frames.frames[0].features, options, {3.0f, -10.0f, 0.0f});
      EXPECT_GT(expected.count(), given->count() / 4);
      const MatchBatchAnswer matched = testing::RunMatches(
          *backend, {{frames.frames[1].state, frames.frames[0].state, options}});
      ASSERT_TRUE(matched.pairs[0].status.ok()) << matched.pairs[0].status;
      EXPECT_EQ(matched.pairs[0].matches.query_index, expected.query_index);
      EXPECT_EQ(matched.pairs[0].matches.train_index, expected.train_index);
      EXPECT_EQ(matched.pairs[0].matches.distance, expected.distance);
    }
  }
}

}  // namespace
}  // namespace orbserve::gpu
