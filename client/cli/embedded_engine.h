// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The serving library inside this process, called through gRPC's in-process channel. Code and
// answers are those of a server; no socket is opened.

#ifndef ORBSERVE_CLIENT_CLI_EMBEDDED_ENGINE_H_
#define ORBSERVE_CLIENT_CLI_EMBEDDED_ENGINE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/options.h"
#include "grpcpp/channel.h"

namespace orbserve::cli {

class EmbeddedEngine {
 public:
  // Starts with the `backend`, `threads`, `log_level` and `time_stages` of `options`.
  // INVALID_ARGUMENT: a value is unknown. UNIMPLEMENTED, UNAVAILABLE: this build has no such
  // backend, or its device is missing.
  static absl::StatusOr<std::unique_ptr<EmbeddedEngine>> Start(const CommonOptions& options);

  virtual ~EmbeddedEngine() = default;

  virtual std::shared_ptr<grpc::Channel> Channel() = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_EMBEDDED_ENGINE_H_
