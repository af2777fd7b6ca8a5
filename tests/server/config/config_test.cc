// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config/config.h"

#include "features/errors.h"
#include "features/input_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config/derived_limits.h"
#include "server/process/limits.h"
#include "tests/server/config/read_config.h"

namespace orbserve {
namespace {

using ::google::protobuf::FieldDescriptor;
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

TEST(ConfigTest, EveryFieldSaysWhatItMeansAndWhyItIsThere) {
  EXPECT_LE(ConfigFields().size(), 40u);
  const server::Config defaults = DefaultConfig();
  for (const ConfigField& field : ConfigFields()) {
    const server::Rule& rule = *field.rule;
    EXPECT_FALSE(rule.about().empty()) << field.key;
    EXPECT_FALSE(rule.why().empty()) << field.key;
    const bool is_number = field.field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                           field.field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ||
                           field.field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    EXPECT_EQ(is_number, rule.max() > 0) << field.key;
    EXPECT_LE(rule.min(), rule.max()) << field.key;
    if (rule.default_value().empty()) continue;
    server::Config config = defaults;
    EXPECT_TRUE(SetFromText(field, rule.default_value(), &config).ok()) << field.key;
    EXPECT_EQ(ConfigToText(config), ConfigToText(defaults)) << field.key;
  }
}

TEST(ConfigTest, RangesAgreeWithThoseOfTheCode) {
  for (const ConfigField& field : ConfigFields()) {
    if (field.key == "limits.max_side_px") {
      EXPECT_EQ(field.rule->max(), kMaxSidePx);
    }
    if (field.key == "limits.memory_bytes") {
      EXPECT_EQ(field.rule->min(), kLeastMemoryBytes);
    }
  }
}

TEST(ConfigTest, AKeyThatIsGoneIsNamedWithItsPlaceAndWhatReplacesIt) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"limits { max_answer_bytes: 5 }",
       "limits.max_answer_bytes is gone: it is derived from limits.memory_bytes"},
      {"batching { max_delay_us: 5 }",
       "batching.max_delay_us is gone: use batching.max_queue_delay_us"},
      {"limits { stalled_reader_timeout_ms: 5 }",
       "limits.stalled_reader_timeout_ms is gone: use limits.send_timeout_ms"},
      {"keepalive { timeout_ms: 5 }", "keepalive.timeout_ms is gone: it is half of"},
  };
  for (const auto& row : rows) {
    const auto config = ParseConfig(row.text, "server.textproto");
    EXPECT_EQ(ReasonOf(config.status()), ErrorReason::kBadOptions) << row.text;
    EXPECT_THAT(MessageOf(config.status()), HasSubstr(row.message));
    EXPECT_THAT(MessageOf(config.status()), HasSubstr("server.textproto:1:"));
  }
  // A key of another section never existed there.
  const auto config = ParseConfig("batching { max_answer_bytes: 5 }", "server.textproto");
  EXPECT_THAT(MessageOf(config.status()), HasSubstr("there is no key batching.max_answer_bytes"));
}

TEST(ConfigTest, NoKeyThatIsGoneExists) {
  for (const ConfigField& field : ConfigFields()) {
    EXPECT_EQ(ReplacementOf(field.key), "");
    if (!field.rule->flag().empty()) {
      EXPECT_EQ(ReplacementOf(field.rule->flag()), "");
    }
  }
}

TEST(ConfigTest, TextsForTheCommandLineHaveNoMarksOfMarkdown) {
  EXPECT_EQ(PlainText("[IPV6]:PORT of `a` ([below](#b)), `[::]`: every"),
            "[IPV6]:PORT of a (below), [::]: every");
}

TEST(ConfigTest, AGpuThatSharesTheMemoryGetsAQuarterOfIt) {
  server::Config given;
  given.mutable_limits()->set_memory_bytes(uint64_t{4} << 30);
  const server::Config config = CompleteConfig(given, /*gpu_shares_memory=*/true);
  EXPECT_TRUE(ValidateConfig(config).ok());
  EXPECT_EQ(config.backend().gpu_memory_limit_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(config.limits().memory_bytes(), uint64_t{3} << 30);
  EXPECT_LT(
      static_cast<uint64_t>(BudgetSum(Derive(config))) + config.backend().gpu_memory_limit_bytes(),
      uint64_t{4} << 30);
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
  over.mutable_batching()->set_max_queue_delay_us(0);
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
      {"batching { max_queue_delay_us: 1000001 }", "batching.max_queue_delay_us"},
      {"batching { max_queue_frames: 0 }", "batching.max_queue_frames"},
      {"batching { max_plans: 0 }", "batching.max_plans"},
      {"batching { max_batch_time_ms: 0 }", "batching.max_batch_time_ms"},
      {"limits { max_side_px: 0 }", "limits.max_side_px"},
      // A backend takes images of up to 32,767 pixels a side.
      {"limits { max_side_px: 32768 }", "limits.max_side_px must be in [1, 32767]; got 32768"},
      {"limits { max_streams: 0 }", "limits.max_streams"},
      {"limits { memory_bytes: 1000 }", "limits.memory_bytes"},
      {"limits { memory_bytes: 1073741824 max_reference_bytes: 536870913 }",
       "limits.max_reference_bytes must be at most half of limits.memory_bytes, 536870912; got "
       "536870913"},
      {"limits { max_streams_per_client: 100001 }", "limits.max_streams_per_client"},
      {"limits { stream_idle_timeout_ms: 86400001 }", "limits.stream_idle_timeout_ms"},
      {"limits { send_timeout_ms: 99 }", "limits.send_timeout_ms"},
      {"trusted_proxies: \"proxy\"", "trusted_proxies"},
      {"shares { weight: 2 }", "shares.owner"},
      {"shares { owner: \"unix:\" }", "shares.weight"},
      {"shares { owner: \"unix:\" weight: 101 }", "shares.weight"},
      {"shares { owner: \"unix:\" weight: 1 } shares { owner: \"unix:\" weight: 2 }",
       "shares.owner"},
      {"tls { cert_file: \"c\" }", "tls.key_file"},
      {"tls { client_ca_file: \"c\" }", "tls.client_ca_file"},
      {"drain { timeout_ms: 600001 }", "drain.timeout_ms"},
      {"backend { device_deadline_ms: 0 }", "backend.device_deadline_ms"},
      {"backend { jpeg: \"device\" }", "backend.jpeg"},
      {"keepalive { time_ms: 1 }", "keepalive.time_ms"},
      {"power { source: \"guess\" }", "power.source"},
      {"telemetry { stage_sampling: 1000001 }", "telemetry.stage_sampling"},
      {"telemetry { busiest_clients: 1001 }", "telemetry.busiest_clients"},
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
