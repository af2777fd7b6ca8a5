// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config/derived_limits.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config/config.h"
#include "tests/server/config/read_config.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

TEST(DerivedLimitsTest, BudgetsArePartsOfTheMemoryAndStayBelowIt) {
  for (const int64_t mib : {64, 256, 512, 1024, 2048, 4096, 16'384, 262'144}) {
    const int64_t memory = mib * kMiB;
    const server::Config config = DefaultConfig(memory);
    EXPECT_TRUE(ValidateConfig(config).ok()) << mib << " " << ValidateConfig(config);
    const DerivedLimits limits = Derive(config);
    EXPECT_LE(BudgetSum(limits), memory / 100 * 95) << mib;
    // A message that is taken also fits into gRPC's buffers and the queue.
    EXPECT_LE(limits.message_bytes, limits.receive_buffer_bytes);
    EXPECT_LE(limits.message_bytes, limits.kept_queue_bytes);
    EXPECT_LE(limits.kept_queue_bytes, limits.queue_bytes);
  }
}

TEST(DerivedLimitsTest, ALargeMachineHasTheLargestBudgets) {
  const DerivedLimits limits = Derive(DefaultConfig(64 * kGiB));
  EXPECT_EQ(limits.queue_bytes, kGiB);
  EXPECT_EQ(limits.reference_bytes, kGiB);
  EXPECT_EQ(limits.response_bytes, kGiB);
  EXPECT_EQ(limits.plan_bytes, 2 * kGiB);
  EXPECT_EQ(limits.receive_buffer_bytes, 2 * kGiB);
  EXPECT_EQ(limits.message_bytes, 96 * kMiB);
  EXPECT_EQ(limits.references, 100'000);
  EXPECT_EQ(limits.queue_frames_per_client, 256);
  EXPECT_EQ(limits.keepalive_timeout, std::chrono::seconds(10));
}

TEST(DerivedLimitsTest, OtherBudgetsMakeRoomForReferences) {
  server::Config config = DefaultConfig(4 * kGiB);
  const DerivedLimits usual = Derive(config);
  config.mutable_limits()->set_max_reference_bytes(static_cast<uint64_t>(2 * kGiB));
  ASSERT_TRUE(ValidateConfig(config).ok());
  const DerivedLimits limits = Derive(config);
  EXPECT_EQ(limits.reference_bytes, 2 * kGiB);
  EXPECT_LT(limits.queue_bytes, usual.queue_bytes);
  EXPECT_LT(BudgetSum(limits), 4 * kGiB);
  EXPECT_EQ(limits.references, 2 * kGiB / (11 << 10));
  // Fewer references leave the others as they are.
  config.mutable_limits()->set_max_reference_bytes(1024);
  EXPECT_EQ(Derive(config).queue_bytes, usual.queue_bytes);
}

TEST(DerivedLimitsTest, AnOwnerHasAsLargeAPartOfTheNumberOfReferencesAsOfTheirBytes) {
  server::Config config = DefaultConfig(64 * kGiB);
  EXPECT_EQ(Derive(config).references_per_client, 100'000);
  config.mutable_limits()->set_max_reference_bytes_per_client(static_cast<uint64_t>(kGiB / 4));
  EXPECT_EQ(Derive(config).references_per_client, 25'000);
  config.mutable_limits()->set_max_reference_bytes_per_client(static_cast<uint64_t>(4 * kGiB));
  EXPECT_EQ(Derive(config).references_per_client, 100'000);
}

TEST(DerivedLimitsTest, AMessageHasRoomForTheLargestImage) {
  server::Config config = DefaultConfig(64 * kGiB);
  config.mutable_limits()->set_max_pixels(uint64_t{1} << 28);
  EXPECT_EQ(Derive(config).message_bytes, 384 * kMiB);
  config.mutable_limits()->set_max_pixels(uint64_t{1} << 30);
  EXPECT_EQ(Derive(config).message_bytes, kGiB);
  config.mutable_limits()->set_max_pixels(1000);  // matches and references need messages, too
  EXPECT_EQ(Derive(config).message_bytes, 96 * kMiB);
}

TEST(DerivedLimitsTest, OneClientHasAQuarterOfTheQueue) {
  server::Config config = DefaultConfig();
  config.mutable_batching()->set_max_queue_frames(1);
  EXPECT_EQ(Derive(config).queue_frames_per_client, 1);
  config.mutable_batching()->set_max_queue_frames(40);
  EXPECT_EQ(Derive(config).queue_frames_per_client, 10);
}

TEST(DerivedLimitsTest, OneAddressHasAQuarterOfTheConnectionsAndNoFewerThanSixteen) {
  server::Config config = DefaultConfig();
  EXPECT_EQ(Derive(config).connections_per_address, 1024);
  config.mutable_limits()->set_max_connections(63);
  EXPECT_EQ(Derive(config).connections_per_address, 16);
  config.mutable_limits()->set_max_connections(3);
  EXPECT_EQ(Derive(config).connections_per_address, 3);
}

TEST(DerivedLimitsTest, AsManyThreadsDecodeAsCompute) {
  server::Config config = DefaultConfig();
  EXPECT_GE(Derive(config).decode_threads, 1);
  config.mutable_backend()->set_threads(3);
  EXPECT_EQ(Derive(config).decode_threads, 3);
}

TEST(DerivedLimitsTest, AProbeIsWaitedForHalfOfTheSilenceBeforeIt) {
  server::Config config = DefaultConfig();
  config.mutable_keepalive()->set_time_ms(60'000);
  EXPECT_EQ(Derive(config).keepalive_timeout, std::chrono::seconds(30));
  config.mutable_keepalive()->set_time_ms(1'000);
  EXPECT_EQ(Derive(config).keepalive_timeout, std::chrono::seconds(1));
}

TEST(DerivedLimitsTest, TheTableIsMadeOfCommentsAndShowsEveryBudget) {
  const server::Config config = DefaultConfig(int64_t{1000} * kMiB);
  const std::string text = DerivedLimitsText(config, Derive(config));
  const auto parsed = ParseConfig(text, "table");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ConfigToText(*parsed), "");
  for (const Budget& budget : Budgets()) EXPECT_THAT(text, HasSubstr(std::string(budget.name)));
  EXPECT_THAT(text, HasSubstr("150 MiB"));  // receive buffers: 15 %
}

}  // namespace
}  // namespace orbserve
