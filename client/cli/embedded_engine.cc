// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/embedded_engine.h"

#include <utility>

#include "grpcpp/support/channel_arguments.h"
#include "server/config/config.h"
#include "server/process/log.h"
#include "server/server.h"

namespace orbserve::cli {
namespace {

// The command prints its own messages; the engine adds warnings and errors.
constexpr char kDefaultLogLevel[] = "warning";

class ServerInProcess : public EmbeddedEngine {
 public:
  explicit ServerInProcess(std::unique_ptr<Server> server) : server_(std::move(server)) {}

  std::shared_ptr<grpc::Channel> Channel() override {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    return server_->InProcessChannel(arguments);
  }

 private:
  const std::unique_ptr<Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedEngine>> EmbeddedEngine::Start(
    const CommonOptions& options) {
  server::Config config = DefaultConfig();
  config.set_listen("");
  config.set_http_listen("");
  config.set_log_level(options.log_level.empty() ? kDefaultLogLevel : options.log_level);
  if (!options.backend.empty()) config.mutable_backend()->set_name(options.backend);
  if (options.threads > 0) {
    config.mutable_backend()->set_threads(static_cast<uint32_t>(options.threads));
  }
  if (options.time_stages) config.mutable_telemetry()->set_stage_sampling(1);
  if (absl::Status status = ValidateConfig(config); !status.ok()) return status;
  if (absl::Status status = SetUpLog({.level = config.log_level()}); !status.ok()) {
    return status;
  }
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Create(config);
  if (!server.ok()) return server.status();
  return std::make_unique<ServerInProcess>(*std::move(server));
}

}  // namespace orbserve::cli
