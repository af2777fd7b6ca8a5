// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/part_options.h"

#include <cmath>

#include "gtest/gtest.h"
#include "server/config/config.h"
#include "server/process/limits.h"

namespace orbserve {
namespace {

TEST(PartOptionsTest, EveryDeviceHasItsOwnBatchesInFlight) {
  server::Config config = DefaultConfig();
  const DerivedLimits derived = Derive(config);
  EXPECT_EQ(BatcherOptionsOf(config, derived, 1).max_batches_in_flight, 2);
  EXPECT_EQ(BatcherOptionsOf(config, derived, 4).max_batches_in_flight, 8);
  EXPECT_EQ(BatcherOptionsOf(config, derived, 4).max_large_batches_in_flight, 8);
  EXPECT_GT(GpuBackendOptionsOf(config, derived).lanes, 2);  // while one answers, another computes
}

TEST(PartOptionsTest, OwnersHaveTheWeightsOfTheirShares) {
  server::Config config = DefaultConfig();
  config.add_shares()->set_owner("heavy");
  config.mutable_shares(0)->set_weight(4.0);
  EXPECT_EQ(OwnerWeightsOf(config).at("heavy"), 4.0);
}

TEST(PartOptionsTest, LargeImagesNeverHaveAllThreadsThatDecode) {
  server::Config config = DefaultConfig();
  config.mutable_backend()->set_threads(4);
  EXPECT_EQ(DecodePoolOptionsOf(Derive(config), true).threads, 4);
  EXPECT_EQ(DecodePoolOptionsOf(Derive(config), true).large_threads, 3);
  config.mutable_backend()->set_threads(1);
  EXPECT_EQ(DecodePoolOptionsOf(Derive(config), true).threads, 1);
  EXPECT_EQ(DecodePoolOptionsOf(Derive(config), true).large_threads, 1);
}

TEST(PartOptionsTest, AsManyThreadsComputeAsThereAreProcessorsUnlessTheirNumberIsGiven) {
  server::Config config = DefaultConfig();
  DerivedLimits derived = Derive(config);
  EXPECT_EQ(derived.decode_threads, std::ceil(FindProcessorLimit()));
  derived.decode_threads = 7;
  EXPECT_EQ(CpuBackendOptionsOf(config, derived).threads, 7);
  config.mutable_backend()->set_threads(4);
  EXPECT_EQ(CpuBackendOptionsOf(config, derived).threads, 4);
}

TEST(PartOptionsTest, FramesReserveTheirWorkspacesOnTheCpu) {
  const server::Config config = DefaultConfig(int64_t{1} << 30);
  const DerivedLimits derived = Derive(config);
  EXPECT_EQ(CpuBackendOptionsOf(config, derived).workspace_budget_bytes, derived.workspace_bytes);
  EXPECT_EQ(DecodePoolOptionsOf(derived, true).max_bytes, derived.workspace_bytes);
  EXPECT_EQ(DecodePoolOptionsOf(derived, false).max_bytes, derived.decoding_bytes);
  const auto max_bytes = [&](bool on_cpu) {
    return static_cast<int64_t>(PlanCacheOptionsOf(config, derived, on_cpu).max_bytes);
  };
  EXPECT_EQ(max_bytes(true), derived.workspace_bytes);
  EXPECT_EQ(max_bytes(false), derived.plan_bytes);
}

TEST(PartOptionsTest, TheGpuIsAskedForWhatTheServerUses) {
  server::Config config = DefaultConfig();
  config.mutable_batching()->set_max_batch(5);
  config.mutable_backend()->add_devices(2);
  config.mutable_backend()->set_gpu_memory_limit_bytes(uint64_t{3} << 30);
  config.mutable_backend()->set_device_deadline_ms(1234);
  config.mutable_telemetry()->set_stage_sampling(7);
  const gpu::GpuBackendOptions options = GpuBackendOptionsOf(config, Derive(config));
  EXPECT_EQ(options.max_batch_frames, 5);
  EXPECT_EQ(options.devices, std::vector<int>{2});
  EXPECT_EQ(options.memory_limit_bytes, int64_t{3} << 30);
  EXPECT_EQ(options.deadline_ms, 1234);
  EXPECT_EQ(options.stage_sampling, 7);
  EXPECT_EQ(options.input_reads, gpu::InputReads::kAuto);
  EXPECT_TRUE(options.decodes_jpeg);
  config.mutable_backend()->set_jpeg("host");
  EXPECT_FALSE(GpuBackendOptionsOf(config, Derive(config)).decodes_jpeg);
}

TEST(PartOptionsTest, TheGpuIsNotAskedForMoreThanItTakes) {
  server::Config config = DefaultConfig();
  config.mutable_batching()->set_max_batch(256);
  ASSERT_TRUE(ValidateConfig(config).ok());
  const gpu::GpuBackendOptions options = GpuBackendOptionsOf(config, Derive(config));
  EXPECT_EQ(options.max_batch_frames, gpu::kMaxFramesInBatch);
}

}  // namespace
}  // namespace orbserve
