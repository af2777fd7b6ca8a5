// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/extract_run.h"

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

v1::ServerLimits LimitsOf(uint32_t max_batch, uint32_t max_queue_frames) {
  v1::ServerLimits limits;
  limits.set_max_batch(max_batch);
  limits.set_max_queue_frames_per_client(max_queue_frames);
  return limits;
}

TEST(ExtractCallsInFlight, AreTwoBatches) {
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(16, 256), 0), 32);
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(1, 256), 0), 8);
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(1000, 0), 0), 256);
}

TEST(ExtractCallsInFlight, AreNoMoreThanTheServerQueues) {
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(16, 5), 0), 5);
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(16, 5), 64), 5);
}

TEST(ExtractCallsInFlight, AreNoMoreThanThreadsHereUse) {
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(16, 256), 1), 8);
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(16, 256), 2), 16);
  EXPECT_EQ(ExtractCallsInFlight(LimitsOf(16, 256), 64), 32);
}

}  // namespace
}  // namespace orbserve::cli
