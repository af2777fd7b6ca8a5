// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/failover/device_watch.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

class DeviceWatchTest : public ::testing::Test {
 protected:
  // Batches that each take so long, one after the other.
  void Batches(int count, milliseconds each) {
    for (int i = 0; i < count; ++i) {
      watch_.Begin(DeviceWork::kBatch);
      clock_.Advance(each);
      watch_.End(DeviceWork::kBatch);
    }
  }

  FakeClock clock_;
  uint64_t progress_ = 0;
  std::vector<bool> stalls_;
  int silences_ = 0;
  DeviceWatch watch_{&clock_,
                     {.stall = milliseconds(50),
                      .silence = milliseconds(500),
                      .on_stall = [this](bool stalled) { stalls_.push_back(stalled); },
                      .on_silence = [this] { ++silences_; },
                      .progress = [this] { return progress_; }}};
};

TEST_F(DeviceWatchTest, SilenceCountsFromTheLastAnswerWhileThereIsWork) {
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(400));
  watch_.Begin(DeviceWork::kBatch);  // no answer
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(99));
  watch_.End(DeviceWork::kBatch);
  clock_.Advance(milliseconds(499));
  EXPECT_EQ(silences_, 0);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(silences_, 1);
}

TEST_F(DeviceWatchTest, ABatchThatIsNotTakenIsNeitherWorkNorAnAnswer) {
  watch_.Begin(DeviceWork::kBatch);
  watch_.BatchRefused();
  clock_.Advance(milliseconds(10'000));
  EXPECT_EQ(silences_, 0);
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(499));
  watch_.Begin(DeviceWork::kBatch);
  watch_.BatchRefused();
  EXPECT_EQ(silences_, 0);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(silences_, 1);
}

TEST_F(DeviceWatchTest, TimeInWhichTheProcessStoodStillIsNoSilence) {
  Batches(20, milliseconds(1));
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(10));
  clock_.StandStill(milliseconds(10'000));
  clock_.Advance(milliseconds(19));
  EXPECT_TRUE(stalls_.empty());
  EXPECT_EQ(silences_, 0);
  // The time in which it did run counts as ever.
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  clock_.Advance(milliseconds(449));
  EXPECT_EQ(silences_, 0);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(silences_, 1);
}

TEST_F(DeviceWatchTest, WithoutWorkThereIsNoSilence) {
  clock_.Advance(milliseconds(10'000));
  Batches(1, milliseconds(1));
  clock_.Advance(milliseconds(10'000));
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(499));
  EXPECT_EQ(silences_, 0);
  EXPECT_TRUE(stalls_.empty());
}

TEST_F(DeviceWatchTest, AStallIsFourTimesWhatIsUsualAndForgottenSlowly) {
  Batches(16 + 1, milliseconds(40));  // the first are not judged
  Batches(1, milliseconds(100));
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(399));
  EXPECT_TRUE(stalls_.empty());
  watch_.End(DeviceWork::kBatch);
  EXPECT_TRUE(stalls_.empty());
  // 399 ms are usual now; after a thousand answers they are no more than the stall's own limit.
  Batches(1000, milliseconds(1));
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(49));
  EXPECT_TRUE(stalls_.empty());
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  watch_.End(DeviceWork::kBatch);
  EXPECT_EQ(stalls_, (std::vector<bool>{true, false}));
  EXPECT_EQ(silences_, 0);
}

TEST_F(DeviceWatchTest, WhilePlansAreMadeNothingIsAStallButSilenceIs) {
  Batches(20, milliseconds(1));
  watch_.Begin(DeviceWork::kPlan);
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(499));
  EXPECT_TRUE(stalls_.empty());
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(silences_, 1);
  watch_.End(DeviceWork::kPlan);
  clock_.Advance(milliseconds(60));
  watch_.End(DeviceWork::kBatch);
  // What took long because of the plan did not become usual.
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(240));
  EXPECT_EQ(stalls_, std::vector<bool>{true});
}

TEST_F(DeviceWatchTest, ProgressCountsAsAnAnswer) {
  Batches(16, milliseconds(1));
  progress_ = 7;
  Batches(1, milliseconds(1));
  // A match that takes thirty times as long as silence, of which something is done all the time.
  watch_.Begin(DeviceWork::kBatch);
  for (int i = 0; i < 750; ++i) {
    clock_.Advance(milliseconds(20));
    ++progress_;
  }
  EXPECT_EQ(silences_, 0);
  EXPECT_TRUE(stalls_.empty());
  // It stands still, goes on, and stands still for good.
  clock_.Advance(milliseconds(120));
  EXPECT_EQ(stalls_, (std::vector<bool>{true}));
  ++progress_;
  clock_.Advance(milliseconds(60));
  EXPECT_EQ(stalls_, (std::vector<bool>{true, false}));
  clock_.Advance(milliseconds(120));
  EXPECT_EQ(stalls_, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(silences_, 0);
  clock_.Advance(milliseconds(500));
  EXPECT_GE(silences_, 1);
}

TEST_F(DeviceWatchTest, OnceStoppedItTellsNothing) {
  Batches(20, milliseconds(1));
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(50));
  ASSERT_EQ(stalls_, std::vector<bool>{true});
  watch_.Stop();
  watch_.End(DeviceWork::kBatch);
  watch_.Begin(DeviceWork::kBatch);
  clock_.Advance(milliseconds(10'000));
  EXPECT_EQ(stalls_, std::vector<bool>{true});
  EXPECT_EQ(silences_, 0);
}

TEST(DeviceWatchLifeTest, OnceClosedItNeedsNoClock) {
  auto clock = std::make_unique<FakeClock>();
  DeviceWatch watch(clock.get(), {.on_stall = [](bool) { ADD_FAILURE(); },
                                  .on_silence = [] { ADD_FAILURE(); },
                                  .progress = [] { return uint64_t{0}; }});
  watch.Begin(DeviceWork::kBatch);
  watch.Close();
  clock.reset();
  watch.End(DeviceWork::kBatch);
  watch.Begin(DeviceWork::kBatch);
}

}  // namespace
}  // namespace orbserve
