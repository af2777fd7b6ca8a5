// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config.h"

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(ConfigTest, TheDefaultsAreValidAndSurviveTheirText) {
  const server::Config config = DefaultConfig();
  EXPECT_TRUE(ValidateConfig(config).ok()) << ValidateConfig(config);
  const auto again = ParseConfig(ConfigToText(config), "text");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), config.SerializeAsString());
}

TEST(ConfigTest, TheSampleFileShowsTheDefaults) {
  const auto sample = ReadConfigFile(ORBSERVE_SAMPLE_CONFIG);
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_EQ(ConfigToText(Overlay(DefaultConfig(), *sample)), ConfigToText(DefaultConfig()));
}

TEST(ConfigTest, BudgetsArePartsOfTheMemoryAndStayBelowIt) {
  for (const int64_t mib : {64, 256, 512, 1024, 2048, 4096, 16'384, 262'144}) {
    const int64_t memory = mib << 20;
    const server::Config config = DefaultConfig(memory);
    EXPECT_TRUE(ValidateConfig(config).ok()) << mib << " " << ValidateConfig(config);
    EXPECT_LE(MemoryBudgets(config), static_cast<uint64_t>(memory) / 100 * 85) << mib;
    // A message that is taken also fits into gRPC's buffers and the queue.
    EXPECT_LE(config.limits().max_message_bytes(), config.limits().max_receive_buffer_bytes());
    EXPECT_LE(config.limits().max_message_bytes(), config.batching().max_queue_bytes());
  }
  const server::Config large = DefaultConfig(int64_t{64} << 30);
  EXPECT_EQ(large.batching().max_queue_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(large.limits().max_reference_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(large.limits().max_message_bytes(), uint64_t{96} << 20);
}

TEST(ConfigTest, BudgetsThatAreSetAreKeptAndTheOthersFollowTheMemory) {
  server::Config given;
  given.mutable_limits()->set_memory_bytes(uint64_t{1} << 30);
  given.mutable_limits()->set_max_reference_bytes(uint64_t{3} << 30);
  const server::Config config = CompleteConfig(given);
  EXPECT_TRUE(ValidateConfig(config).ok());
  EXPECT_EQ(config.limits().max_reference_bytes(), uint64_t{3} << 30);
  EXPECT_LT(config.batching().max_queue_bytes(), uint64_t{128} << 20);
  EXPECT_GT(MemoryBudgets(config), config.limits().memory_bytes());
  given.mutable_limits()->set_memory_bytes(1000);
  EXPECT_THAT(MessageOf(ValidateConfig(CompleteConfig(given))), HasSubstr("limits.memory_bytes"));
}

TEST(ConfigTest, AGpuThatSharesTheMemoryGetsAQuarterOfIt) {
  server::Config given;
  given.mutable_limits()->set_memory_bytes(uint64_t{4} << 30);
  const server::Config config = CompleteConfig(given, /*gpu_shares_memory=*/true);
  EXPECT_TRUE(ValidateConfig(config).ok());
  EXPECT_EQ(config.backend().gpu_memory_limit_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(config.limits().memory_bytes(), uint64_t{3} << 30);
  EXPECT_LT(MemoryBudgets(config) + config.backend().gpu_memory_limit_bytes(), uint64_t{4} << 30);
  // Completing again changes nothing.
  EXPECT_EQ(ConfigToText(CompleteConfig(config, true)), ConfigToText(config));
  // With a limit of its own.
  given.mutable_backend()->set_gpu_memory_limit_bytes(uint64_t{2} << 30);
  EXPECT_EQ(CompleteConfig(given, true).limits().memory_bytes(), uint64_t{4} << 30);
  // All of the machine's memory.
  given = {};
  EXPECT_LT(CompleteConfig(given, true).limits().memory_bytes(),
            CompleteConfig(given, false).limits().memory_bytes());
  EXPECT_EQ(CompleteConfig(given, false).backend().gpu_memory_limit_bytes(), 0u);
}

TEST(ConfigTest, AnUnknownKeyIsAnErrorWithItsPlace) {
  const auto config =
      ParseConfig("listen: \"a:1\"\n  batching { max_bach: 3 }\n", "server.textproto");
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(ReasonOf(config.status()), ErrorReason::kBadOptions);
  EXPECT_THAT(MessageOf(config.status()), HasSubstr("server.textproto:2:22"));
  EXPECT_THAT(MessageOf(config.status()), HasSubstr("max_bach"));
}

TEST(ConfigTest, AWrongTypeAndARepeatedKeyAreErrors) {
  EXPECT_FALSE(ParseConfig("listen: 5", "x").ok());
  EXPECT_FALSE(ParseConfig("batching { max_batch: -1 }", "x").ok());
  EXPECT_FALSE(ParseConfig("listen: \"a\" listen: \"b\"", "x").ok());
}

TEST(ConfigTest, AFileThatIsMissingIsNamed) {
  const auto config = ReadConfigFile("/nonexistent/server.textproto");
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(MessageOf(config.status()), HasSubstr("/nonexistent/server.textproto"));
}

TEST(ConfigTest, AFolderIsNotAnEmptyFile) {
  const auto config = ReadConfigFile(::testing::TempDir());
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(MessageOf(config.status()), HasSubstr("Is a directory"));
}

TEST(ConfigTest, AnOverlayReplacesWhatItSets) {
  server::Config base = DefaultConfig();
  base.mutable_backend()->add_devices(0);
  base.mutable_backend()->add_devices(1);
  server::Config over;
  over.mutable_backend()->add_devices(3);
  over.mutable_batching()->set_max_delay_us(0);
  over.set_http_listen("");
  const server::Config result = Overlay(base, over);
  ASSERT_EQ(result.backend().devices_size(), 1);
  EXPECT_EQ(result.backend().devices(0), 3u);
  EXPECT_EQ(result.http_listen(), "");
  EXPECT_EQ(result.listen(), base.listen());
  EXPECT_EQ(result.batching().max_batch(), base.batching().max_batch());
}

TEST(ConfigTest, ValuesOutOfRangeAreNamed) {
  const struct {
    const char* text;
    const char* field;
  } rows[] = {
      {"log_level: \"loud\"", "log_level"},
      {"backend { name: \"tpu\" }", "backend.name"},
      {"backend { threads: 1025 }", "backend.threads"},
      {"backend { devices: 256 }", "backend.devices"},
      {"backend { devices: 2 devices: 0 devices: 2 }",
       "backend.devices must name each device once; got 2 twice"},
      {"backend { gpu_memory_limit_bytes: 18446744073709551615 }",
       "backend.gpu_memory_limit_bytes"},
      {"batching { max_batch: 0 }", "batching.max_batch"},
      {"batching { max_delay_us: 1000001 }", "batching.max_delay_us"},
      {"batching { max_batches_in_flight: 0 }", "batching.max_batches_in_flight"},
      {"batching { max_queue_frames: 0 }", "batching.max_queue_frames"},
      {"batching { max_queue_bytes: 1 }", "batching.max_queue_bytes"},
      {"batching { max_plans: 0 }", "batching.max_plans"},
      {"batching { max_batch_time_ms: 0 }", "batching.max_batch_time_ms"},
      {"batching { max_work_bytes: 1 }", "batching.max_work_bytes"},
      {"batching { max_large_batches_in_flight: 65 }", "batching.max_large_batches_in_flight"},
      {"limits { max_side_px: 0 }", "limits.max_side_px"},
      // A backend takes images of up to 32,767 pixels a side.
      {"limits { max_side_px: 32768 }", "limits.max_side_px must be in [1, 32767]; got 32768"},
      {"limits { max_message_bytes: 4294967296 }", "limits.max_message_bytes"},
      {"limits { max_streams: 0 }", "limits.max_streams"},
      {"limits { max_stream_frames_in_flight: 257 }", "limits.max_stream_frames_in_flight"},
      {"limits { max_stream_frames_waiting: 0 }", "limits.max_stream_frames_waiting"},
      {"limits { max_stream_frames_waiting: 257 }", "limits.max_stream_frames_waiting"},
      {"limits { max_stream_bytes_waiting: 0 }", "limits.max_stream_bytes_waiting"},
      {"limits { max_stream_answer_bytes: 0 }", "limits.max_stream_answer_bytes"},
      {"limits { max_answer_bytes: 0 }", "limits.max_answer_bytes"},
      {"limits { stream_open_timeout_ms: 0 }", "limits.stream_open_timeout_ms"},
      {"limits { max_streams_per_client: 100001 }", "limits.max_streams_per_client"},
      {"limits { stream_idle_timeout_ms: 86400001 }", "limits.stream_idle_timeout_ms"},
      {"limits { stalled_reader_timeout_ms: 99 }", "limits.stalled_reader_timeout_ms"},
      {"trusted_proxies: \"proxy\"", "trusted_proxies"},
      {"shares { weight: 2 }", "shares.owner"},
      {"shares { owner: \"unix:\" }", "shares.weight"},
      {"shares { owner: \"unix:\" weight: 101 }", "shares.weight"},
      {"shares { owner: \"a\" weight: 1 } shares { owner: \"a\" weight: 2 }", "shares.owner"},
      {"tls { cert_file: \"c\" }", "tls.key_file"},
      {"tls { client_ca_file: \"c\" }", "tls.client_ca_file"},
      {"drain { timeout_ms: 600001 }", "drain.timeout_ms"},
      {"backend { device_deadline_ms: 0 }", "backend.device_deadline_ms"},
      {"keepalive { time_ms: 1 }", "keepalive.time_ms"},
      {"power { source: \"guess\" }", "power.source"},
      {"telemetry { stage_sampling: 1000001 }", "telemetry.stage_sampling"},
      {"telemetry { busiest_clients: 1001 }", "telemetry.busiest_clients"},
      {"backend { read_in_place: \"sometimes\" }", "backend.read_in_place"},
  };
  for (const auto& row : rows) {
    const auto over = ParseConfig(row.text, "x");
    ASSERT_TRUE(over.ok()) << row.text << over.status();
    const absl::Status status = ValidateConfig(Overlay(DefaultConfig(), *over));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(MessageOf(status), HasSubstr(row.field));
  }
}

TEST(ConfigTest, AClientIsItsCertificateOrItsToken) {
  server::Config config = DefaultConfig();
  config.set_token_file("tokens");
  EXPECT_TRUE(ValidateConfig(config).ok());
  config.mutable_tls()->set_cert_file("cert");
  config.mutable_tls()->set_key_file("key");
  EXPECT_TRUE(ValidateConfig(config).ok());
  config.mutable_tls()->set_client_ca_file("ca");
  EXPECT_EQ(ReasonOf(ValidateConfig(config)), ErrorReason::kBadOptions);
}

}  // namespace
}  // namespace orbserve
