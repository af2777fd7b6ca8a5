// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/call_context.h"

#include "gtest/gtest.h"

namespace orbserve {
namespace {

ExtractOutcome OutcomeOfABatch() {
  ExtractOutcome outcome;
  outcome.frame.batch_frames = 7;
  outcome.frame.cost.backend = "cuda";
  outcome.frame.cost.device = "cuda:1";
  outcome.frame.cost.lane = 3;
  return outcome;
}

TEST(ExecutionToProtoTest, SaysWhereAFrameRan) {
  v1::Execution execution;
  ExecutionToProto(OutcomeOfABatch(), &execution);
  EXPECT_EQ(execution.batch_size(), 7u);
  EXPECT_EQ(execution.backend(), "cuda");
  EXPECT_EQ(execution.device(), "cuda:1");
  EXPECT_EQ(execution.lane(), 3u);
}

TEST(ExecutionToProtoTest, EnergyIsThereOrAbsentAndNeverZeroForUnknown) {
  v1::Execution execution;
  ExtractOutcome outcome = OutcomeOfABatch();
  ExecutionToProto(outcome, &execution);
  EXPECT_FALSE(execution.has_energy_joules());
  outcome.frame.energy_joules = 0.0125;
  ExecutionToProto(outcome, &execution);
  ASSERT_TRUE(execution.has_energy_joules());
  EXPECT_EQ(execution.energy_joules(), 0.0125);
}

TEST(ExecutionToProtoTest, AFrameThatNeverRanHasNone) {
  v1::Execution execution;
  ExecutionToProto({}, &execution);
  EXPECT_EQ(execution.ByteSizeLong(), 0u);
}

}  // namespace
}  // namespace orbserve
