// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The engine that answers a command: a server, or the serving library in this process.

#ifndef ORBSERVE_CLIENT_CLI_ENGINE_H_
#define ORBSERVE_CLIENT_CLI_ENGINE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/images/picture.h"
#include "client/cli/options.h"
#include "orbserve/client.h"

namespace orbserve::cli {

class EmbeddedEngine;

class Engine {
 public:
  // Connects to `options.server`, or starts the embedded engine when it is empty, and asks for its
  // limits and presets. INVALID_ARGUMENT for options that contradict each other or that the engine
  // refuses; UNAVAILABLE when the server cannot be reached; FAILED_PRECONDITION when the embedded
  // engine has no device for its backend. A server that cannot be reached is waited for, for up to
  // `wait`; `on_wait` gets the reason before, once.
  static absl::StatusOr<std::unique_ptr<Engine>> Start(
      const CommonOptions& options, absl::Duration wait = absl::ZeroDuration(),
      const std::function<void(const absl::Status& reason)>& on_wait = nullptr);

  // Start without the first question, for commands that ask something else.
  static absl::StatusOr<std::unique_ptr<Engine>> Connect(const CommonOptions& options);

  ~Engine();

  client::Client* client() { return client_.get(); }
  bool embedded() const { return embedded_ != nullptr; }

  // Limits and presets, as Start received them.
  const v1::GetServerInfoResponse& info() const { return info_; }
  // Limits for images that this program decodes. The server alone judges the number of pixels:
  // its `max_pixels` fit with every preset, and some options need less memory.
  PictureLimits picture_limits() const;

 private:
  Engine() = default;

  std::unique_ptr<EmbeddedEngine> embedded_;  // outlives the client
  std::unique_ptr<client::Client> client_;
  v1::GetServerInfoResponse info_;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_ENGINE_H_
