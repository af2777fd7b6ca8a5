// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/part_options.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/resource_quota.h"
#include "server/clients/token_file.h"
#include "server/drain.h"
#include "server/edge/descriptor_limit.h"

namespace orbserve {

namespace {

// Memory that an open call takes of gRPC, with its metadata, and the part of gRPC's buffers that
// calls of unknown clients may take.
constexpr int64_t kGrpcBytesPerCall = int64_t{32} << 10;
constexpr int64_t kUnprovenPart = 16;

// Batches in flight of each device: one computes while the next is prepared. There are as many
// again of frames so large that others overtake them.
constexpr int kBatchesInFlight = 2;
static_assert(2 * kBatchesInFlight <= gpu::kMaxLanes);

}  // namespace

BatcherOptions BatcherOptionsOf(const server::Config& config, const DerivedLimits& derived,
                                size_t devices) {
  const auto& batching = config.batching();
  const auto device_count = static_cast<int>(devices);
  return {.max_batch_frames = static_cast<int>(batching.max_batch()),
          .max_batch_time = std::chrono::milliseconds(batching.max_batch_time_ms()),
          .max_delay = std::chrono::microseconds(batching.max_queue_delay_us()),
          .max_batches_in_flight = kBatchesInFlight * device_count,
          .max_large_batches_in_flight = kBatchesInFlight * device_count,
          .queue = {.max_items = static_cast<int>(batching.max_queue_frames()),
                    .max_items_per_client = derived.queue_frames_per_client,
                    .max_bytes = derived.queue_bytes}};
}

WorkerPoolOptions DecodePoolOptionsOf(const DerivedLimits& derived, bool on_cpu) {
  return {.threads = derived.decode_threads,
          // One fewer, so that large images leave a processor to small ones also where nothing else
          // does.
          .large_threads = std::max(1, derived.decode_threads - 1),
          .max_bytes = on_cpu ? derived.workspace_bytes : derived.decoding_bytes};
}

gpu::GpuBackendOptions GpuBackendOptionsOf(const server::Config& config,
                                           const DerivedLimits& derived) {
  const auto& backend = config.backend();
  const auto max_batch = static_cast<int>(config.batching().max_batch());
  return {.devices = {backend.devices().begin(), backend.devices().end()},
          .memory_limit_bytes = static_cast<int64_t>(backend.gpu_memory_limit_bytes()),
          .input_budget_bytes = derived.input_bytes,
          .decodes_jpeg = backend.jpeg() != "host",
          // A lane is busy until its batch is answered, so another lane takes the next batch.
          .lanes = 2 * kBatchesInFlight,
          .large_lanes = kBatchesInFlight,
          .max_batch_frames = std::min(max_batch, gpu::kMaxFramesInBatch),
          .deadline_ms = backend.device_deadline_ms(),
          .stage_sampling = static_cast<int>(config.telemetry().stage_sampling())};
}

cpu::CpuBackendOptions CpuBackendOptionsOf(const server::Config& config,
                                           const DerivedLimits& derived) {
  const auto threads = static_cast<int>(config.backend().threads());
  return {.threads = threads == 0 ? derived.decode_threads : threads,
          .reference = config.backend().name() == "cpu-reference",
          .input_budget_bytes = derived.input_bytes,
          .workspace_budget_bytes = derived.workspace_bytes};
}

PlanCacheOptions PlanCacheOptionsOf(const server::Config& config, const DerivedLimits& derived,
                                    bool on_cpu) {
  return {.max_plans = static_cast<int>(config.batching().max_plans()),
          .max_bytes = static_cast<size_t>(on_cpu ? derived.workspace_bytes : derived.plan_bytes)};
}

ReferenceStoreOptions ReferenceStoreOptionsOf(const server::Config::Limits& config,
                                              const DerivedLimits& derived) {
  return {.max_bytes = static_cast<size_t>(derived.reference_bytes),
          .max_references = derived.references,
          .max_bytes_per_owner = static_cast<size_t>(config.max_reference_bytes_per_client()),
          .max_references_per_owner = derived.references_per_client};
}

ImageLimits ImageLimitsOf(const server::Config::Limits& config) {
  return {.max_side_px = static_cast<int>(config.max_side_px()),
          .max_pixels = static_cast<int64_t>(config.max_pixels())};
}

StreamLimits StreamLimitsOf(const server::Config::Limits& config, const DerivedLimits& derived) {
  const auto most = static_cast<int>(config.max_streams());
  const auto most_of_client = static_cast<int>(config.max_streams_per_client());
  return {.max_streams = most,
          .max_streams_per_client = most_of_client == 0 ? most : most_of_client,
          .open_timeout = derived.stream_open_timeout,
          .idle_timeout = std::chrono::milliseconds(config.stream_idle_timeout_ms()),
          .max_frames_in_flight = derived.stream_frames_in_flight,
          .max_bytes_in_flight = derived.stream_bytes_in_flight,
          .max_frames_waiting = derived.stream_frames_waiting,
          .max_bytes_waiting = derived.stream_bytes_waiting,
          .max_response_bytes = derived.stream_response_bytes};
}

IdentityOptions IdentityOptionsOf(const server::Config& config) {
  const auto& proxies = config.trusted_proxies();
  return {.by_certificate = !config.tls().client_ca_file().empty(),
          .by_token = !config.token_file().empty(),
          // The configuration is valid.
          .trusted_proxies = *PeerSet::Create({proxies.begin(), proxies.end()}, "trusted_proxies")};
}

OwnerWeights OwnerWeightsOf(const server::Config& config) {
  OwnerWeights weights;
  for (const server::Config::Share& share : config.shares()) {
    weights[share.owner()] = share.weight();
  }
  if (config.token_file().empty()) return weights;
  // A file that cannot be read keeps the server from starting.
  const std::vector<TokenEntry> tokens =
      ReadTokenFile(config.token_file()).value_or(std::vector<TokenEntry>());
  for (const TokenEntry& entry : tokens) {
    weights.try_emplace(absl::StrCat("token:", entry.name), entry.weight);
  }
  return weights;
}

TlsPaths TlsPathsOf(const server::Config& config) {
  return {.cert_file = config.tls().cert_file(),
          .key_file = config.tls().key_file(),
          .client_ca_file = config.tls().client_ca_file()};
}

HttpEndpointOptions HttpEndpointOptionsOf(const server::Config& config) {
  HttpEndpointOptions options;
  options.listen_address = config.http_listen();
  options.max_connections = AffordableHttpConnections(options.max_connections);
  return options;
}

ListenerOptions ListenerOptionsOf(const server::Config& config, const DerivedLimits& derived) {
  ListenerOptions options;
  options.address = config.listen();
  options.is_plain = config.tls().cert_file().empty();
  options.max_connections = static_cast<int>(config.limits().max_connections());
  options.max_connections_per_address = derived.connections_per_address;
  // gRPC ends calls of anybody when its own buffers are full. Two of the largest messages fit,
  // where gRPC has room for them.
  const int64_t buffer_bytes = derived.receive_buffer_bytes;
  const int64_t message_bytes = derived.message_bytes;
  options.guard.max_unfinished_bytes =
      std::max(buffer_bytes / 2, std::min(2 * message_bytes, buffer_bytes / 4 * 3));
  // One of the largest has room in any case, and small messages have half of what is left.
  options.guard.shared_message_bytes =
      std::max<int64_t>(options.guard.max_unfinished_bytes - message_bytes, 0) / 2;
  options.has_credentials = !config.tls().client_ca_file().empty() || !config.token_file().empty();
  // A small part of the buffers, and enough for two connections that make all the calls they may.
  options.guard.max_unproven_calls = std::max(buffer_bytes / kUnprovenPart / kGrpcBytesPerCall,
                                              2 * int64_t{options.guard.max_calls_per_connection});
  options.user_timeout = derived.keepalive_timeout;
  if (!config.http_listen().empty()) {
    options.reserved_descriptors = HttpEndpointOptionsOf(config).max_connections;
  }
  return options;
}

void SetChannelLimits(const server::Config& config, const DerivedLimits& derived,
                      grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(derived.message_bytes));
  builder.SetMaxSendMessageSize(-1);  // the number of keypoints bounds answers
  // gRPC inflates a message before it looks at its size, and counts the memory in no quota: a
  // megabyte could become a gigabyte of zeros. Compression does not make images smaller anyway.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             ListenerOptions().guard.max_calls_per_connection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(kHandshakeLimit.count()));
  // A robot that lost its network is noticed after time + timeout. Robots probe an idle stream once
  // a second, to notice a silent cut within three.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             static_cast<int>(config.keepalive().time_ms()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             static_cast<int>(derived.keepalive_timeout.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  // GRPC_ARG_HTTP2_BDP_PROBE stays on. Without it three times as many frames of overloaded streams
  // are computed, but a frame of more than 64 KiB takes two round trips.
  grpc::ResourceQuota quota("orbserve");
  quota.Resize(static_cast<size_t>(derived.receive_buffer_bytes));
  builder.SetResourceQuota(quota);
}

}  // namespace orbserve
