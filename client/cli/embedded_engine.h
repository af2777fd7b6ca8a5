// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The serving library inside this process, called through gRPC's in-process channel: the same code
// and the same answers as a server, without a socket.

#ifndef ORBSERVE_CLIENT_CLI_EMBEDDED_ENGINE_H_
#define ORBSERVE_CLIENT_CLI_EMBEDDED_ENGINE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/options.h"
#include "grpcpp/channel.h"

namespace orbserve::cli {

class EmbeddedEngine {
 public:
  // Starts with `backend`, `threads` and `log_level`. INVALID_ARGUMENT when one is not known;
  // UNIMPLEMENTED or UNAVAILABLE when the backend cannot be had.
  static absl::StatusOr<std::unique_ptr<EmbeddedEngine>> Start(const CommonOptions& options);

  virtual ~EmbeddedEngine() = default;

  virtual std::shared_ptr<grpc::Channel> Channel() = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_EMBEDDED_ENGINE_H_
