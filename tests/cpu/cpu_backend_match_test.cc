// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frame states and matches of the CPU backend.

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "cpu/matching/match_descriptors.h"
#include "features/errors.h"
#include "gtest/gtest.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/image_makers.h"
#include "tests/support/match_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::MakeJob;
using ::orbserve::testing::OracleMatch;
using ::orbserve::testing::RunBatch;
using ::orbserve::testing::RunMatches;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

FrameAnswer ComputeWithState(FeatureBackend& backend, const TestImage& image) {
  const auto plan = backend.MakePlan({image.width_px(), image.height_px(), {}});
  std::vector<FrameJob> jobs;
  jobs.push_back(*MakeJob(backend, {.image = image.view()}));
  jobs[0].keep_state = KeepState::kFeatures;
  return RunBatch(backend, *plan, std::move(jobs)).frames[0];
}

TEST(CpuFrameStateTest, IsTheFeaturesThemselves) {
  const auto backend = Backend();
  const FrameAnswer answer = ComputeWithState(*backend, SceneImage(300, 200, 20));
  ASSERT_NE(answer.state, nullptr);
  EXPECT_EQ(answer.state->feature_count(), answer.features->count());
  EXPECT_EQ(answer.state->descriptor_bytes(), 32);
  EXPECT_EQ(answer.state->size_bytes(), answer.features->count() * (24 + 32));
  EXPECT_EQ(*backend->ExportState(*answer.state), answer.features);
  const auto imported = *backend->ImportState(answer.features);
  EXPECT_EQ(*backend->ExportState(*imported), answer.features);
  EXPECT_FALSE(backend->ImportState(nullptr).ok());
}

TEST(CpuFrameStateTest, LivesAsLongAsSomebodyHoldsIt) {
  const auto backend = Backend();
  std::shared_ptr<const FrameState> state =
      ComputeWithState(*backend, SceneImage(300, 200, 20)).state;
  for (uint32_t i = 0; i < 5; ++i) ComputeWithState(*backend, SceneImage(300, 200, 21 + i));
  const auto kept = *backend->ExportState(*state);
  EXPECT_EQ(FirstDifference(*Compute(*backend, SceneImage(300, 200, 20)), *kept), "");
}

TEST(CpuMatchTest, AFrameMatchesItself) {
  const auto backend = Backend();
  const FrameAnswer answer = ComputeWithState(*backend, SceneImage(400, 300, 30));
  std::vector<MatchJob> jobs(3);
  for (MatchJob& job : jobs) job = {answer.state, answer.state, {.cross_check = true}};
  const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
  ASSERT_EQ(matched.pairs.size(), 3u);
  for (const MatchAnswer& pair : matched.pairs) {
    ASSERT_TRUE(pair.status.ok());
    ASSERT_GT(pair.matches.count(), answer.features->count() * 9 / 10);
    for (const uint32_t distance : pair.matches.distance) EXPECT_EQ(distance, 0u);
  }
}

TEST(CpuMatchTest, StatesWithoutOrWithOtherDescriptorsAreRefused) {
  const auto backend = Backend();
  auto bare = std::make_shared<Features>();
  auto short_ones = std::make_shared<Features>();
  short_ones->descriptor_bytes = 4;
  auto full = std::make_shared<Features>();
  full->descriptor_bytes = 32;
  const auto bare_state = *backend->ImportState(bare);
  const auto short_state = *backend->ImportState(short_ones);
  const auto full_state = *backend->ImportState(full);
  std::vector<MatchJob> jobs = {{bare_state, bare_state, {}},
                                {full_state, short_state, {}},
                                {full_state, nullptr, {}},
                                {full_state, full_state, {.k = 0}},
                                {full_state, full_state, {}}};
  const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
  EXPECT_EQ(matched.pairs[0].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(matched.pairs[1].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(matched.pairs[2].status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(matched.pairs[3].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(matched.pairs[4].status.ok());
}

// Random descriptors: no match can be cut short.
std::shared_ptr<const Features> RandomDescriptors(size_t count, uint32_t seed) {
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = 32;
  features->Resize(count);
  std::mt19937 random(seed);
  for (uint8_t& byte : features->descriptors) byte = static_cast<uint8_t>(random());
  return features;
}

TEST(CpuMatchTest, LargeMatchesHaveTheSameAnswerBesideFrames) {
  const auto backend = Backend();
  const auto query = RandomDescriptors(3000, 1);
  const auto train = RandomDescriptors(2500, 2);
  const auto query_state = *backend->ImportState(query);
  const auto train_state = *backend->ImportState(train);
  const MatchOptions options = {.k = 1, .cross_check = true};
  const Matches expected = MatchDescriptors(SimdMatchKernels(), *query, *train, options);
  ASSERT_GT(expected.count(), 100u);
  const TestImage image = SceneImage(320, 240, 31);
  const auto plan = backend->MakePlan({320, 240, {}});
  const FrameBatchAnswer alone =
      RunBatch(*backend, *plan, {*MakeJob(*backend, {.image = image.view()})});
  std::atomic<bool> stop = false;
  std::jthread frames([&] {
    while (!stop) {
      const FrameBatchAnswer answer =
          RunBatch(*backend, *plan, {*MakeJob(*backend, {.image = image.view()})});
      EXPECT_EQ(FirstDifference(*answer.frames[0].features, *alone.frames[0].features), "");
    }
  });
  const absl::Cleanup end_frames = [&] { stop = true; };  // also when something fails
  for (int round = 0; round < 5; ++round) {
    std::vector<MatchJob> jobs(3);
    for (MatchJob& job : jobs) job = {query_state, train_state, options};
    const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
    for (const MatchAnswer& pair : matched.pairs) {
      ASSERT_TRUE(pair.status.ok());
      EXPECT_EQ(pair.matches.query_index, expected.query_index);
      EXPECT_EQ(pair.matches.train_index, expected.train_index);
      EXPECT_EQ(pair.matches.distance, expected.distance);
    }
  }
  stop = true;
  frames.join();
}

TEST(CpuMatchTest, WindowsReachSmallAndLargeMatches) {
  const auto backend = Backend();
  std::mt19937 random(5);
  const auto scattered = [&random](size_t count, uint32_t seed) {
    auto features = std::make_shared<Features>(*RandomDescriptors(count, seed));
    for (size_t i = 0; i < count; ++i) {
      features->x[i] = static_cast<float>(random() % 640);
      features->y[i] = static_cast<float>(random() % 480);
    }
    return features;
  };
  // The second pair is large enough to be matched in slices.
  for (const size_t count : {100, 2500}) {
    const auto query = scattered(count, 6);
    const auto train = scattered(count, 7);
    MatchOptions options = {.k = 1, .ratio = 0.95f, .cross_check = true, .window_px = 30.0f};
    options.offset_x_px = 12.0f;
    const Matches expected = OracleMatch(*query, *train, options, {30.0f, 12.0f, 0.0f});
    EXPECT_GT(expected.count(), count / 10);
    EXPECT_LT(expected.count(), count);
    const MatchBatchAnswer matched = RunMatches(
        *backend, {{*backend->ImportState(query), *backend->ImportState(train), options}});
    ASSERT_TRUE(matched.pairs[0].status.ok()) << matched.pairs[0].status;
    EXPECT_EQ(matched.pairs[0].matches.query_index, expected.query_index);
    EXPECT_EQ(matched.pairs[0].matches.train_index, expected.train_index);
    EXPECT_EQ(matched.pairs[0].matches.distance, expected.distance);
  }
  const auto state = *backend->ImportState(scattered(10, 8));
  MatchOptions refused;
  refused.offset_y_px = 1.0f;
  EXPECT_EQ(ReasonOf(RunMatches(*backend, {{state, state, refused}}).pairs[0].status),
            ErrorReason::kBadOptions);
}

TEST(CpuMatchTest, ACancelledMatchStops) {
  const auto backend = Backend();
  const auto large = *backend->ImportState(RandomDescriptors(100'000, 3));
  const auto small = *backend->ImportState(RandomDescriptors(100, 4));
  const auto flag = std::make_shared<std::atomic<bool>>(false);
  // Minutes of one processor: the test would time out.
  std::vector<MatchJob> jobs(20, {large, large, {}, flag});
  jobs.push_back({small, small, {}, std::make_shared<const std::atomic<bool>>(true)});
  jobs.push_back({small, small, {}, std::make_shared<const std::atomic<bool>>(false)});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    *flag = true;
  });
  const MatchBatchAnswer matched = RunMatches(*backend, std::move(jobs));
  canceller.join();
  for (size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(ReasonOf(matched.pairs[i].status), ErrorReason::kCancelled) << i;
    EXPECT_EQ(matched.pairs[i].matches.count(), 0u);
  }
  EXPECT_TRUE(matched.pairs[21].status.ok());
  EXPECT_EQ(matched.pairs[21].matches.count(), 100u);
}

}  // namespace
}  // namespace orbserve::cpu
