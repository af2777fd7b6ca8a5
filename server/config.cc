// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/input_limits.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "gpu/gpu_backend.h"
#include "server/files/text_file.h"
#include "server/memory/memory_limit.h"
#include "server/rpc/peer_set.h"

namespace orbserve {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kMaxConnections = 30'000;

// Keeps the first error; lines and columns count from 1 as editors do.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(absl::string_view origin) : origin_(origin) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = line < 0 ? absl::StrCat(origin_, ": ", message)
                     : absl::StrCat(origin_, ":", line + 1, ":", column + 1, ": ", message);
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber column,
                  const std::string& message) override {
    AddError(line, column, message);
  }
  const std::string& text() const { return text_; }

 private:
  const absl::string_view origin_;
  std::string text_;
};

absl::Status Range(absl::string_view name, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be in [", low, ", ", high, "]; got ", value));
}

absl::Status OneOf(absl::string_view name, absl::string_view value,
                   std::initializer_list<absl::string_view> allowed) {
  std::string names;
  for (const absl::string_view candidate : allowed) {
    if (value == candidate) return absl::OkStatus();
    absl::StrAppend(&names, names.empty() ? "" : ", ", candidate);
  }
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat(name, " must be one of ", names, "; got \"", value, "\""));
}

absl::Status ValidateShares(const server::Config& config) {
  std::set<std::string> owners;
  for (const server::Config::Share& share : config.shares()) {
    if (share.owner().empty()) {
      return MakeError(ErrorReason::kBadOptions,
                       "shares.owner must name an owner, such as \"addr:192.0.2.7\"");
    }
    if (!owners.insert(share.owner()).second) {
      return MakeError(
          ErrorReason::kBadOptions,
          absl::StrCat("shares.owner must name each owner once; got ", share.owner(), " twice"));
    }
    if (!(share.weight() >= 0.01 && share.weight() <= 100)) {
      return MakeError(ErrorReason::kBadOptions,
                       absl::StrCat("shares.weight must be in [0.01, 100]; got ", share.weight(),
                                    " for ", share.owner()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

server::Config DefaultConfig() { return DefaultConfig(FindMemoryLimit().bytes); }

server::Config DefaultConfig(int64_t memory_bytes) {
  const auto memory = static_cast<uint64_t>(memory_bytes);
  // Thousandths of the memory (docs/configuration.md has them). All together they are 850: the rest
  // is for the program, messages that are being parsed, and free heap. Plans count twice, as those
  // in use may be others than those that are kept.
  const auto part = [memory](uint64_t thousandths, uint64_t most) {
    return std::min(memory / 1000 * thousandths, most);
  };
  server::Config config;
  config.set_listen("127.0.0.1:50051");
  config.set_http_listen("127.0.0.1:9464");
  config.set_log_level("info");
  config.set_insecure(false);
  server::Config::Backend& backend = *config.mutable_backend();
  backend.set_name("auto");
  backend.set_threads(0);
  backend.set_gpu_memory_limit_bytes(0);
  backend.set_read_in_place("auto");
  backend.set_max_input_bytes(part(100, uint64_t{1} << 40));
  backend.set_device_deadline_ms(10'000);
  server::Config::Batching& batching = *config.mutable_batching();
  batching.set_max_batch(16);
  batching.set_max_delay_us(0);
  batching.set_max_batches_in_flight(2);
  batching.set_max_queue_frames(1024);
  batching.set_max_queue_frames_per_client(256);
  batching.set_max_queue_bytes(part(100, kGiB));
  batching.set_decode_threads(0);
  batching.set_max_plans(64);
  batching.set_max_batch_time_ms(10);
  batching.set_max_large_batches_in_flight(2);
  batching.set_max_work_bytes(part(100, kGiB));
  batching.set_max_plan_bytes(part(100, 2 * kGiB));
  batching.set_max_match_queue_bytes(part(50, kGiB));
  batching.set_max_track_queue_bytes(part(50, kGiB));
  server::Config::Limits& limits = *config.mutable_limits();
  limits.set_max_side_px(8192);
  limits.set_max_pixels(67'108'864);
  limits.set_max_jpeg_scans(64);
  limits.set_memory_bytes(memory);
  limits.set_max_message_bytes(part(50, 96 * kMiB));
  limits.set_max_streams(256);
  limits.set_max_stream_frames_in_flight(8);
  limits.set_max_stream_bytes_in_flight(64 * kMiB);
  limits.set_max_stream_frames_waiting(4);
  limits.set_max_stream_bytes_waiting(64 * kMiB);
  limits.set_max_reference_bytes(part(100, kGiB));
  limits.set_max_references(100'000);
  limits.set_max_reference_bytes_per_client(0);
  limits.set_max_references_per_client(0);
  limits.set_max_calls_per_connection(256);
  limits.set_max_receive_buffer_bytes(part(150, 2 * kGiB));
  limits.set_max_stream_answer_bytes(64 * kMiB);
  limits.set_max_answer_bytes(part(50, kGiB));
  limits.set_stream_open_timeout_ms(10'000);
  limits.set_max_streams_per_client(0);
  limits.set_stream_idle_timeout_ms(300'000);
  limits.set_stalled_reader_timeout_ms(30'000);
  limits.set_max_connections(4096);
  limits.set_max_connections_per_address(1024);
  config.mutable_tls();
  server::Config::Drain& drain = *config.mutable_drain();
  drain.set_delay_ms(0);
  drain.set_timeout_ms(10'000);
  server::Config::Keepalive& keepalive = *config.mutable_keepalive();
  keepalive.set_time_ms(20'000);
  keepalive.set_timeout_ms(10'000);
  config.mutable_power()->set_source("auto");
  config.mutable_telemetry()->set_stage_sampling(64);
  config.mutable_telemetry()->set_busiest_clients(20);
  config.mutable_telemetry()->set_show_frames(false);
  return config;
}

server::Config CompleteConfig(const server::Config& config) {
  const server::Config::Backend& backend = config.backend();
  const bool may_use_gpu = !absl::StartsWith(backend.name(), "cpu");
  return CompleteConfig(config, may_use_gpu && gpu::SharesHostMemory({backend.devices().begin(),
                                                                      backend.devices().end()}));
}

server::Config CompleteConfig(const server::Config& config, bool gpu_shares_memory) {
  const uint64_t given = config.limits().memory_bytes();
  // Nonsense is refused by ValidateConfig().
  const uint64_t memory =
      given == 0 ? static_cast<uint64_t>(FindMemoryLimit().bytes)
                 : std::clamp<uint64_t>(given, static_cast<uint64_t>(kLeastMemoryBytes),
                                        uint64_t{1} << 40);
  if (!gpu_shares_memory || config.backend().gpu_memory_limit_bytes() != 0) {
    return Overlay(DefaultConfig(static_cast<int64_t>(memory)), config);
  }
  const uint64_t of_gpu = std::min(memory / 4, memory - static_cast<uint64_t>(kLeastMemoryBytes));
  server::Config shared = config;
  shared.mutable_backend()->set_gpu_memory_limit_bytes(of_gpu);
  if (given != 0) shared.mutable_limits()->set_memory_bytes(given - of_gpu);
  return Overlay(DefaultConfig(static_cast<int64_t>(memory - of_gpu)), shared);
}

uint64_t MemoryBudgets(const server::Config& config) {
  const auto& batching = config.batching();
  const auto& limits = config.limits();
  return config.backend().max_input_bytes() + batching.max_queue_bytes() +
         batching.max_match_queue_bytes() + batching.max_track_queue_bytes() +
         2 * batching.max_plan_bytes() + limits.max_reference_bytes() +
         limits.max_receive_buffer_bytes() + 2 * limits.max_answer_bytes();
}

absl::StatusOr<server::Config> ParseConfig(absl::string_view text, absl::string_view origin) {
  FirstError error(origin);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  server::Config config;
  if (!parser.ParseFromString(std::string(text), &config)) {
    return MakeError(ErrorReason::kBadOptions, error.text().empty()
                                                   ? absl::StrCat(origin,
                                                                  ": cannot be read as protobuf "
                                                                  "text of orbserve.server.Config")
                                                   : error.text());
  }
  return config;
}

absl::StatusOr<server::Config> ReadConfigFile(const std::string& path) {
  ORBSERVE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseConfig(text, path);
}

server::Config Overlay(server::Config base, const server::Config& over) {
  if (over.backend().devices_size() > 0) base.mutable_backend()->clear_devices();
  if (over.shares_size() > 0) base.clear_shares();
  if (over.trusted_proxies_size() > 0) base.clear_trusted_proxies();
  base.MergeFrom(over);
  return base;
}

absl::Status ValidateConfig(const server::Config& config) {
  const auto& backend = config.backend();
  ORBSERVE_RETURN_IF_ERROR(
      OneOf("backend.name", backend.name(), {"auto", "cpu", "cpu-reference", "cuda"}));
  ORBSERVE_RETURN_IF_ERROR(
      OneOf("backend.read_in_place", backend.read_in_place(), {"auto", "always", "never"}));
  ORBSERVE_RETURN_IF_ERROR(Range("backend.threads", backend.threads(), 0, 1024));
  std::set<uint32_t> devices;
  for (const uint32_t device : backend.devices()) {
    ORBSERVE_RETURN_IF_ERROR(Range("backend.devices", device, 0, 255));
    if (!devices.insert(device).second) {
      return MakeError(
          ErrorReason::kBadOptions,
          absl::StrCat("backend.devices must name each device once; got ", device, " twice"));
    }
  }
  ORBSERVE_RETURN_IF_ERROR(Range("backend.gpu_memory_limit_bytes", backend.gpu_memory_limit_bytes(),
                                 0, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(
      Range("backend.max_input_bytes", backend.max_input_bytes(), kMiB, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(
      Range("backend.device_deadline_ms", backend.device_deadline_ms(), 1, 600'000));
  ORBSERVE_RETURN_IF_ERROR(OneOf("log_level", config.log_level(),
                                 {"trace", "debug", "info", "warning", "warn", "error", "off"}));
  const auto& batching = config.batching();
  ORBSERVE_RETURN_IF_ERROR(Range("batching.max_batch", batching.max_batch(), 1, 256));
  ORBSERVE_RETURN_IF_ERROR(Range("batching.max_delay_us", batching.max_delay_us(), 0, 1'000'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_batches_in_flight", batching.max_batches_in_flight(), 1, 64));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_queue_frames", batching.max_queue_frames(), 1, 100'000));
  ORBSERVE_RETURN_IF_ERROR(Range("batching.max_queue_frames_per_client",
                                 batching.max_queue_frames_per_client(), 1, 100'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_queue_bytes", batching.max_queue_bytes(), kMiB, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(Range("batching.decode_threads", batching.decode_threads(), 0, 256));
  ORBSERVE_RETURN_IF_ERROR(Range("batching.max_plans", batching.max_plans(), 1, 10'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_plan_bytes", batching.max_plan_bytes(), 0, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_batch_time_ms", batching.max_batch_time_ms(), 1, 10'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_large_batches_in_flight", batching.max_large_batches_in_flight(), 1, 64));
  ORBSERVE_RETURN_IF_ERROR(
      Range("batching.max_work_bytes", batching.max_work_bytes(), kMiB, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(Range("batching.max_match_queue_bytes", batching.max_match_queue_bytes(),
                                 kMiB, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(Range("batching.max_track_queue_bytes", batching.max_track_queue_bytes(),
                                 kMiB, uint64_t{1} << 40));
  const auto& limits = config.limits();
  ORBSERVE_RETURN_IF_ERROR(Range("limits.memory_bytes", limits.memory_bytes(),
                                 static_cast<uint64_t>(kLeastMemoryBytes), uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_side_px", limits.max_side_px(), 1, kMaxSidePx));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_pixels", limits.max_pixels(), 1, kGiB));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_jpeg_scans", limits.max_jpeg_scans(), 1, 1000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_message_bytes", limits.max_message_bytes(), 64 * kKiB, kGiB));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_streams", limits.max_streams(), 1, 100'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_stream_frames_in_flight", limits.max_stream_frames_in_flight(), 1, 256));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_stream_bytes_in_flight",
                                 limits.max_stream_bytes_in_flight(), 1, 64 * kGiB));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_stream_frames_waiting", limits.max_stream_frames_waiting(), 1, 256));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_stream_bytes_waiting", limits.max_stream_bytes_waiting(), 1, 64 * kGiB));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_reference_bytes", limits.max_reference_bytes(), kKiB, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_references", limits.max_references(), 1, 10'000'000));
  if (limits.max_reference_bytes_per_client() != 0) {
    ORBSERVE_RETURN_IF_ERROR(Range("limits.max_reference_bytes_per_client",
                                   limits.max_reference_bytes_per_client(), kKiB,
                                   uint64_t{1} << 40));
  }
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_references_per_client", limits.max_references_per_client(), 0, 10'000'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_calls_per_connection", limits.max_calls_per_connection(), 1, 100'000));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_receive_buffer_bytes",
                                 limits.max_receive_buffer_bytes(), kMiB, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_stream_answer_bytes", limits.max_stream_answer_bytes(),
                                 1, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_answer_bytes", limits.max_answer_bytes(), 1, uint64_t{1} << 40));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.stream_open_timeout_ms", limits.stream_open_timeout_ms(), 1, 600'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_streams_per_client", limits.max_streams_per_client(), 0, 100'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.stream_idle_timeout_ms", limits.stream_idle_timeout_ms(), 0, 86'400'000));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.stalled_reader_timeout_ms",
                                 limits.stalled_reader_timeout_ms(), 100, 3'600'000));
  ORBSERVE_RETURN_IF_ERROR(ValidateShares(config));
  ORBSERVE_RETURN_IF_ERROR(
      Range("limits.max_connections", limits.max_connections(), 1, kMaxConnections));
  ORBSERVE_RETURN_IF_ERROR(Range("limits.max_connections_per_address",
                                 limits.max_connections_per_address(), 1, kMaxConnections));
  const auto& tls = config.tls();
  if (tls.cert_file().empty() != tls.key_file().empty()) {
    return MakeError(ErrorReason::kBadOptions,
                     "tls.cert_file and tls.key_file must be given together");
  }
  if (!tls.client_ca_file().empty() && tls.cert_file().empty()) {
    return MakeError(ErrorReason::kBadOptions,
                     "tls.client_ca_file needs tls.cert_file and tls.key_file");
  }
  if (!tls.client_ca_file().empty() && !config.token_file().empty()) {
    return MakeError(ErrorReason::kBadOptions,
                     "tls.client_ca_file and token_file exclude each other: a client is its "
                     "certificate or its token");
  }
  const std::vector<std::string> proxies(config.trusted_proxies().begin(),
                                         config.trusted_proxies().end());
  ORBSERVE_RETURN_IF_ERROR(PeerSet::Create(proxies, "trusted_proxies").status());
  ORBSERVE_RETURN_IF_ERROR(Range("drain.delay_ms", config.drain().delay_ms(), 0, 600'000));
  ORBSERVE_RETURN_IF_ERROR(Range("drain.timeout_ms", config.drain().timeout_ms(), 0, 600'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("keepalive.time_ms", config.keepalive().time_ms(), 1000, 3'600'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("telemetry.stage_sampling", config.telemetry().stage_sampling(), 0, 1'000'000));
  ORBSERVE_RETURN_IF_ERROR(
      Range("telemetry.busiest_clients", config.telemetry().busiest_clients(), 0, 1000));
  ORBSERVE_RETURN_IF_ERROR(OneOf("power.source", config.power().source(), {"auto", "none"}));
  return Range("keepalive.timeout_ms", config.keepalive().timeout_ms(), 1000, 600'000);
}

std::string ConfigToText(const server::Config& config) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return text;
}

}  // namespace orbserve
