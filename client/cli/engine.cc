// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/engine.h"

#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/embedded_engine.h"
#include "client/cli/server_address.h"
#include "grpc/grpc.h"

namespace orbserve::cli {
namespace {

// Time limit of the first question to a server. After it the server counts as unreachable.
constexpr absl::Duration kFirstAnswer = absl::Seconds(10);

// Longest time between two questions to a server, or a proxy, that refuses them. A random share of
// it is waited, one half to all, as robots may start together.
constexpr absl::Duration kNextQuestion = absl::Milliseconds(500);

// References and quotas belong to this name: it must be the same in every run.
std::string DefaultClientId() {
  char host[256] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  // Nobody chose this name to be sent.
  for (char* c = host; *c != '\0'; ++c) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(*c))) *c = '?';
  }
  return absl::StrCat("orbserve@", host[0] == '\0' ? "localhost" : host);
}

client::ClientOptions ToClientOptions(const CommonOptions& options) {
  // A server that knows the caller by certificate or token takes no other name for it.
  const bool has_name = !options.tls_cert_file.empty() || !options.token_file.empty();
  return {
      .client_id = options.client_id.empty() && !has_name ? DefaultClientId() : options.client_id,
      .tls_ca_file = options.tls_ca_file,
      .tls_cert_file = options.tls_cert_file,
      .tls_key_file = options.tls_key_file,
      .token_file = options.token_file,
      .timeout =
          options.timeout_s > 0 ? absl::Seconds(options.timeout_s) : absl::InfiniteDuration(),
      .own_connection = options.own_connection,
      .keepalive = options.keepalive_s.has_value() ? absl::Seconds(*options.keepalive_s)
                                                   : client::ClientOptions().keepalive};
}

// Replaces UNAVAILABLE, which means a server that cannot be reached: the embedded engine returns it
// when the device of its backend is missing.
absl::Status StartError(const absl::Status& error) {
  if (!absl::IsUnavailable(error)) return error;
  return absl::FailedPreconditionError(error.message());
}

// Asks for limits and presets, again and again for up to `wait` while the server is unreachable.
absl::StatusOr<v1::GetServerInfoResponse> AskServer(
    const std::string& address, client::ClientOptions options, absl::Duration wait,
    const std::function<void(const absl::Status& reason)>& on_wait) {
  const absl::Time give_up = absl::Now() + wait;
  std::mt19937_64 random(std::random_device{}());
  absl::Status reason;
  options.timeout = std::min(options.timeout, kFirstAnswer);
  for (;;) {
    const absl::StatusOr<std::unique_ptr<client::Client>> client =
        client::Client::Connect(address, options);
    if (!client.ok()) return client.status();
    absl::StatusOr<v1::GetServerInfoResponse> info = (*client)->GetServerInfo();
    const bool late = absl::IsDeadlineExceeded(info.status());
    if (!late && !absl::IsUnavailable(info.status())) return info;
    // A question that waited for the server in vain does not know why.
    if (!late || !options.wait_for_server) {
      reason = absl::UnavailableError(absl::StrCat(
          "the server ", address, " cannot be reached: ", std::string(info.status().message())));
    }
    const absl::Time now = absl::Now();
    if (now >= give_up) return reason;
    if (!options.wait_for_server) on_wait(reason);
    const double share = std::uniform_real_distribution<double>(0.5, 1.0)(random);
    absl::SleepFor(std::min(kNextQuestion * share, give_up - now));
    options.wait_for_server = true;
    options.timeout = give_up - absl::Now();
  }
}

absl::Status CheckOptions(const CommonOptions& options) {
  if (options.server.empty() && !options.token_file.empty()) {
    return absl::InvalidArgumentError("--token-file needs --server");
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
  if (options.server.empty() && options.keepalive_s.has_value()) {
    return absl::InvalidArgumentError("--keepalive needs --server");
  }
  if (options.server.empty()) return absl::OkStatus();
  if (absl::Status address = CheckServerAddress(options.server); !address.ok()) return address;
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
    absl::StatusOr<std::unique_ptr<client::Client>> client =
        client::Client::Connect(engine->embedded_->Channel(), ToClientOptions(options));
    if (!client.ok()) return client.status();
    engine->client_ = *std::move(client);
    return engine;
  }
  // Keeps gRPC running until the process ends. Otherwise its last user would wait for gRPC's
  // threads, one of which may sleep for ten seconds after a large message.
  grpc_init();
  absl::StatusOr<std::unique_ptr<client::Client>> client =
      client::Client::Connect(options.server, ToClientOptions(options));
  // No call was made yet: the error is about a file of certificates or keys.
  if (!client.ok()) return absl::InvalidArgumentError(client.status().message());
  engine->client_ = *std::move(client);
  return engine;
}

absl::StatusOr<std::unique_ptr<Engine>> Engine::Start(
    const CommonOptions& options, absl::Duration wait,
    const std::function<void(const absl::Status& reason)>& on_wait) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = Connect(options);
  if (!engine.ok()) return engine.status();
  absl::StatusOr<v1::GetServerInfoResponse> info =
      (*engine)->embedded() ? (*engine)->client()->GetServerInfo()
                            : AskServer(options.server, ToClientOptions(options), wait, on_wait);
  if (!info.ok()) return info.status();
  (*engine)->info_ = *std::move(info);
  return engine;
}

PictureLimits Engine::picture_limits() const {
  PictureLimits limits = kWidestPictureLimits;
  if (info_.limits().max_side_px() > 0) limits.max_side_px = info_.limits().max_side_px();
  return limits;
}

}  // namespace orbserve::cli
