// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "orbserve/client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/src/answer_check.h"
#include "client/src/status.h"
#include "client/src/tls_files.h"
#include "client/src/token.h"
#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/byte_buffer.h"

namespace orbserve::client {
namespace {

// Calls learn within 30 seconds that their server is gone. Large ones on a slow link need the time:
// the answer to a probe waits behind them.
constexpr absl::Duration kKeepaliveOfCalls = absl::Seconds(30);
// Shortest silence before a probe: gRPC sends no more than one a second.
constexpr absl::Duration kProbeAfter = absl::Seconds(1);
constexpr absl::Duration kShortestKeepalive = absl::Seconds(2);
// A server that was restarted is found again within a second. gRPC's own longest wait is two
// minutes. It makes each wait up to a fifth longer or shorter, which spreads the robots.
constexpr int kFirstReconnectMs = 100;
constexpr int kLongestReconnectMs = 500;
// Longest time of one attempt, with the TLS handshake: gRPC 1.51 takes it from this argument. A
// host that does not answer is asked again after it; a slow link has to connect within it.
constexpr int kConnectTimeoutMs = 5'000;

// For targets that may stand for several servers. A call that one of them cannot take is tried
// again at the next, after a random part of the wait.
constexpr char kServerGroup[] = R"json({
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [
      {"service": "orbserve.v1.Features", "method": "Extract"},
      {"service": "orbserve.v1.Features", "method": "Match"},
      {"service": "orbserve.v1.Features", "method": "GetServerInfo"},
      {"service": "orbserve.v1.Features", "method": "ListReferences"}
    ],
    "retryPolicy": {
      "maxAttempts": 5, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 3,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
})json";
// gRPC does not try a call again whose message is larger than this. Its own limit is 256 KiB, less
// than a frame.
constexpr int kRetryBufferBytes = 256 << 20;

bool MayBeSeveralServers(absl::string_view address) {
  return absl::StartsWith(address, "dns:") || absl::StartsWith(address, "ipv4:") ||
         absl::StartsWith(address, "ipv6:");
}

// More than any server takes; metadata is limited to 16 KiB.
constexpr size_t kMaxClientIdBytes = 1024;

// gRPC ends the process for metadata and for a name of a host that HTTP/2 does not allow.
bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

// Milliseconds for gRPC, which takes `int`.
int GrpcMilliseconds(absl::Duration duration) {
  return static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(duration), 1 << 30));
}

absl::Status CheckClientId(absl::string_view id) {
  if (id.size() > kMaxClientIdBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the client id has ", id.size(), " bytes; allowed are ", kMaxClientIdBytes));
  }
  if (IsPrintable(id)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the client id must be printable ASCII; got ", std::string(id)));
}

absl::Status CheckTarget(absl::string_view address) {
  // The name of a file is not sent.
  if (absl::StartsWith(address, "unix:") || IsPrintable(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the address of a server must be printable ASCII; got ", std::string(address)));
}

// The answer of a call that ended well, if it keeps to the wire contract.
template <typename Response>
absl::StatusOr<Response> IfRight(absl::Status check, Response&& response) {
  if (!check.ok()) return check;
  return std::forward<Response>(response);
}

// Messages of grpc.health.v1: {string service = 1} and {ServingStatus status = 1}. They are written
// by hand, because a program may hold one definition of them only, and may have its own.
grpc::ByteBuffer HealthRequest(const std::string& service) {
  std::string bytes;
  if (!service.empty()) {
    google::protobuf::io::StringOutputStream sink(&bytes);
    google::protobuf::io::CodedOutputStream out(&sink);
    out.WriteTag(1 << 3 | 2);
    out.WriteVarint32(static_cast<uint32_t>(service.size()));
    out.WriteString(service);
  }
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<Health> ParseHealthResponse(const grpc::ByteBuffer& buffer) {
  constexpr uint32_t kServing = 1;
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return absl::InternalError("health answer cannot be read");
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  uint32_t status = 0;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  while (const uint32_t tag = in.ReadTag()) {
    if (tag != 1 << 3 || !in.ReadVarint32(&status)) {
      return absl::InternalError("health answer has an unknown shape");
    }
  }
  return status == kServing ? Health::kServing : Health::kNotServing;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address,
                                                        const ClientOptions& options) {
  if (absl::Status target = CheckTarget(address); !target.ok()) return target;
  if (options.keepalive < kShortestKeepalive) {
    return absl::InvalidArgumentError(
        absl::StrCat("keepalive must be ", absl::FormatDuration(kShortestKeepalive),
                     " or more; got ", absl::FormatDuration(options.keepalive)));
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!options.tls_ca_file.empty() || !options.tls_cert_file.empty() ||
      !options.tls_key_file.empty()) {
    const absl::StatusOr<grpc::SslCredentialsOptions> tls = ReadTlsFiles(options);
    if (!tls.ok()) return tls.status();
    credentials = grpc::SslCredentials(*tls);
  }
  std::string authorization;
  if (!options.token_file.empty()) {
    absl::StatusOr<std::string> token =
        ReadToken(options.token_file, address, !options.tls_ca_file.empty());
    if (!token.ok()) return token.status();
    authorization = absl::StrCat("Bearer ", *token);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  if (options.own_connection) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (MayBeSeveralServers(address)) {
    arguments.SetServiceConfigJSON(kServerGroup);
    arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kRetryBufferBytes);
  }
  const auto make_channel = [=](absl::Duration keepalive) {
    grpc::ChannelArguments own = arguments;
    if (keepalive != absl::InfiniteDuration()) {
      const absl::Duration probe_after = std::max(kProbeAfter, keepalive / 3);
      own.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, GrpcMilliseconds(probe_after));
      // This is also TCP's limit for data that nobody acknowledges (TCP_USER_TIMEOUT).
      own.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, GrpcMilliseconds(keepalive - probe_after));
      // An idle stream is probed, too: gRPC would stop after two probes.
      own.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    }
    return grpc::CreateCustomChannel(address, credentials, own);
  };
  absl::StatusOr<std::unique_ptr<Client>> client =
      Connect(make_channel(std::max(kKeepaliveOfCalls, options.keepalive)), options);
  if (!client.ok()) return client.status();
  (*client)->authorization_ = std::move(authorization);
  (*client)->make_channel_ = make_channel;
  return client;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(std::shared_ptr<grpc::Channel> channel,
                                                        const ClientOptions& options) {
  if (absl::Status id = CheckClientId(options.client_id); !id.ok()) return id;
  return std::unique_ptr<Client>(new Client(std::move(channel), options));
}

Client::Client(std::shared_ptr<grpc::Channel> channel, const ClientOptions& options)
    : channel_(std::move(channel)), stub_(v1::Features::NewStub(channel_)), options_(options) {}

v1::Features::StubInterface* Client::StreamStub(absl::Duration keepalive) {
  absl::MutexLock lock(&stream_stubs_mutex_);
  std::unique_ptr<v1::Features::StubInterface>& stub = stream_stubs_[keepalive];
  if (stub == nullptr) stub = v1::Features::NewStub(make_channel_(keepalive));
  return stub.get();
}

void Client::AddIdentity(grpc::ClientContext* context) const {
  if (!options_.client_id.empty()) context->AddMetadata("x-client-id", options_.client_id);
  if (!authorization_.empty()) context->AddMetadata("authorization", authorization_);
}

void Client::Prepare(grpc::ClientContext* context) const {
  AddIdentity(context);
  context->set_wait_for_ready(options_.wait_for_server);
  if (options_.timeout != absl::InfiniteDuration()) {
    context->set_deadline(absl::ToChronoTime(absl::Now() + options_.timeout));
  }
}

absl::StatusOr<v1::ExtractResponse> Client::Extract(const v1::ExtractRequest& request) {
  grpc::ClientContext context;
  Prepare(&context);
  v1::ExtractResponse response;
  if (const grpc::Status status = stub_->Extract(&context, request, &response); !status.ok()) {
    return FromGrpc(status);
  }
  return IfRight(CheckExtractAnswer(request, response), std::move(response));
}

absl::StatusOr<v1::MatchResponse> Client::Match(const v1::MatchRequest& request) {
  grpc::ClientContext context;
  Prepare(&context);
  v1::MatchResponse response;
  if (const grpc::Status status = stub_->Match(&context, request, &response); !status.ok()) {
    return FromGrpc(status);
  }
  return IfRight(CheckMatchAnswer(request, response), std::move(response));
}

absl::StatusOr<v1::PutReferenceResponse> Client::PutReference(
    const v1::PutReferenceRequest& request) {
  grpc::ClientContext context;
  Prepare(&context);
  v1::PutReferenceResponse response;
  if (const grpc::Status status = stub_->PutReference(&context, request, &response); !status.ok()) {
    return FromGrpc(status);
  }
  return IfRight(CheckPutReferenceAnswer(request, response), std::move(response));
}

absl::Status Client::DeleteReference(const std::string& name) {
  grpc::ClientContext context;
  Prepare(&context);
  v1::DeleteReferenceRequest request;
  request.set_name(name);
  v1::DeleteReferenceResponse response;
  return FromGrpc(stub_->DeleteReference(&context, request, &response));
}

absl::StatusOr<v1::ListReferencesResponse> Client::ListReferences() {
  v1::ListReferencesResponse all;
  v1::ListReferencesRequest request;
  for (;;) {
    const std::string last =
        all.references().empty() ? "" : all.references(all.references_size() - 1).name();
    absl::StatusOr<v1::ListReferencesResponse> page = ListReferences(request, last);
    if (!page.ok()) return page.status();
    if (page->references_size() > kMaxListedReferences - all.references_size()) {
      return absl::DataLossError(absl::StrCat("the server's answer is wrong: it lists more than ",
                                              kMaxListedReferences, " references"));
    }
    for (v1::ReferenceInfo& reference : *page->mutable_references()) {
      *all.add_references() = std::move(reference);
    }
    all.set_used_bytes(page->used_bytes());
    all.set_capacity_bytes(page->capacity_bytes());
    if (page->next_page_token().empty()) return all;
    request.set_page_token(page->next_page_token());
  }
}

absl::StatusOr<v1::ListReferencesResponse> Client::ListReferences(
    const v1::ListReferencesRequest& request) {
  return ListReferences(request, "");
}

absl::StatusOr<v1::ListReferencesResponse> Client::ListReferences(
    const v1::ListReferencesRequest& request, const std::string& last_name) {
  grpc::ClientContext context;
  Prepare(&context);
  v1::ListReferencesResponse response;
  if (const grpc::Status status = stub_->ListReferences(&context, request, &response);
      !status.ok()) {
    return FromGrpc(status);
  }
  return IfRight(CheckReferencesPage(request, last_name, response), std::move(response));
}

absl::StatusOr<v1::GetServerInfoResponse> Client::GetServerInfo() {
  grpc::ClientContext context;
  Prepare(&context);
  v1::GetServerInfoResponse response;
  if (const grpc::Status status =
          stub_->GetServerInfo(&context, v1::GetServerInfoRequest(), &response);
      !status.ok()) {
    return FromGrpc(status);
  }
  return IfRight(CheckServerInfoAnswer(response), std::move(response));
}

absl::StatusOr<Health> Client::CheckHealth(const std::string& service) {
  grpc::ClientContext context;
  Prepare(&context);
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check",
                                          HealthRequest(service), &queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return FromGrpc(status);
  return ParseHealthResponse(response);
}

}  // namespace orbserve::client
