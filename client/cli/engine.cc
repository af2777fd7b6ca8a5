// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/engine.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/embedded_engine.h"
#include "client/cli/exit_code.h"
#include "grpc/grpc.h"

namespace orbserve::cli {
namespace {

// How long the first question to a server may take: whoever waits longer is told that it is not
// there.
constexpr absl::Duration kFirstAnswer = absl::Seconds(10);

// References and quotas belong to this name, so that it must be the same in every run.
std::string DefaultClientId() {
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return absl::StrCat("orbserve@", host[0] == '\0' ? "localhost" : host);
}

client::ClientOptions ToClientOptions(const CommonOptions& options) {
  return {.client_id = options.client_id.empty() ? DefaultClientId() : options.client_id,
          .tls_ca_file = options.tls_ca_file,
          .tls_cert_file = options.tls_cert_file,
          .tls_key_file = options.tls_key_file,
          .timeout =
              options.timeout_s > 0 ? absl::Seconds(options.timeout_s) : absl::InfiniteDuration()};
}

// UNAVAILABLE is for a server that cannot be reached. A backend that cannot be had in this program,
// for want of a device, is none.
absl::Status StartError(const absl::Status& error) {
  if (!absl::IsUnavailable(error)) return error;
  return absl::FailedPreconditionError(error.message());
}

absl::Status CheckOptions(const CommonOptions& options) {
  // Never passed over: whoever gives a token counts on its being shown.
  if (options.token_file.has_value()) {
    return absl::UnimplementedError(
        "--token-file is not available in this version: no server takes tokens yet; leave it out");
  }
  if (options.tls_cert_file.empty() != options.tls_key_file.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key must be given together");
  }
  if (options.tls_ca_file.empty() && !options.tls_cert_file.empty()) {
    return absl::InvalidArgumentError("--tls-cert needs --tls-ca");
  }
  if (options.server.empty() && !options.tls_ca_file.empty()) {
    return absl::InvalidArgumentError("--tls-ca needs --server");
  }
  if (options.server.empty()) return absl::OkStatus();
  if (!options.backend.empty() || options.threads != 0 || !options.log_level.empty()) {
    return absl::InvalidArgumentError(
        "--backend, --threads and --log-level are for the embedded engine; with --server they "
        "cannot be given");
  }
  return absl::OkStatus();
}

}  // namespace

Engine::~Engine() = default;

absl::StatusOr<std::unique_ptr<Engine>> Engine::Connect(const CommonOptions& options) {
  if (const absl::Status status = CheckOptions(options); !status.ok()) return status;
  std::unique_ptr<Engine> engine(new Engine());
  if (options.server.empty()) {
    absl::StatusOr<std::unique_ptr<EmbeddedEngine>> embedded = EmbeddedEngine::Start(options);
    if (!embedded.ok()) return StartError(embedded.status());
    engine->embedded_ = *std::move(embedded);
    engine->client_ =
        std::make_unique<client::Client>(engine->embedded_->Channel(), ToClientOptions(options));
    return engine;
  }
  // gRPC ends with its last user and waits for its threads then, one of which may sleep for ten
  // seconds when a large message was sent. A process that ends does not need that.
  grpc_init();
  absl::StatusOr<std::unique_ptr<client::Client>> client =
      client::Client::Connect(options.server, ToClientOptions(options));
  // Nothing has been asked yet: a file of certificates or keys cannot be used.
  if (!client.ok()) return absl::InvalidArgumentError(client.status().message());
  engine->client_ = *std::move(client);
  return engine;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Start(const CommonOptions& options) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Connect(options);
  if (!engine.ok()) return engine.status();
  absl::StatusOr<v1::GetServerInfoResponse> info;
  if ((*engine)->embedded()) {
    info = (*engine)->client()->GetServerInfo();
  } else {
    client::ClientOptions first = ToClientOptions(options);
    first.timeout = std::min(first.timeout, kFirstAnswer);
    absl::StatusOr<std::unique_ptr<client::Client>> client =
        client::Client::Connect(options.server, first);
    if (!client.ok()) return client.status();
    info = (*client)->GetServerInfo();
    if (info.status().code() == absl::StatusCode::kUnavailable ||
        info.status().code() == absl::StatusCode::kDeadlineExceeded) {
      return absl::UnavailableError(
          absl::StrCat("the server ", options.server,
                       " cannot be reached: ", std::string(info.status().message())));
    }
  }
  if (!info.ok()) return info.status();
  (*engine)->info_ = *std::move(info);
  return engine;
}

PictureLimits Engine::picture_limits() const {
  PictureLimits limits;
  if (info_.limits().max_side_px() > 0) limits.max_side_px = info_.limits().max_side_px();
  if (info_.limits().max_pixels() > 0) {
    limits.max_pixels = static_cast<int64_t>(info_.limits().max_pixels());
  }
  return limits;
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
      return kExitUnreachable;
    default:
      return kExitFailed;
  }
}

}  // namespace orbserve::cli
