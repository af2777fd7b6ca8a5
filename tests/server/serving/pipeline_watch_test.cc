// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/pipeline_watch.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

class PipelineWatchTest : public ::testing::Test {
 protected:
  BatchMotion frames_;
  BatchMotion matches_;
  uint64_t progress_ = 0;
  PipelineWatch watch_{{[this] { return frames_; }, [this] { return matches_; }},
                       [this] { return progress_; }};
};

TEST_F(PipelineWatchTest, IdleQueuesAreNoStandstill) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(watch_.Moves());
}

TEST_F(PipelineWatchTest, ABatchThatDoesNotEndIsAStandstill) {
  frames_ = {.in_flight = 2, .ended = 5};
  EXPECT_TRUE(watch_.Moves()) << "five have ended since nobody looked";
  EXPECT_FALSE(watch_.Moves());
  EXPECT_FALSE(watch_.Moves());
  frames_.ended = 6;
  EXPECT_TRUE(watch_.Moves());
  EXPECT_FALSE(watch_.Moves());
  frames_ = {.in_flight = 0, .ended = 8};
  EXPECT_TRUE(watch_.Moves());
}

TEST_F(PipelineWatchTest, OneQueueThatMovesDoesNotHideAnother) {
  matches_ = {.in_flight = 1, .ended = 1};
  EXPECT_TRUE(watch_.Moves());
  for (int i = 1; i < 4; ++i) {
    frames_ = {.in_flight = 1, .ended = i};
    EXPECT_FALSE(watch_.Moves());
  }
}

TEST_F(PipelineWatchTest, ProgressInsideABatchCounts) {
  matches_ = {.in_flight = 1, .ended = 1};
  EXPECT_TRUE(watch_.Moves());
  EXPECT_FALSE(watch_.Moves());
  ++progress_;
  EXPECT_TRUE(watch_.Moves());
  EXPECT_FALSE(watch_.Moves());
}

}  // namespace
}  // namespace orbserve
