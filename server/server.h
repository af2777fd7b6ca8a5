// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The composition root: the one place that chooses the backend and wires serving, rpc, decoding and
// telemetry. The program orbserve-server and the embedded engine of the command line are this
// library.

#ifndef ORBSERVE_SERVER_SERVER_H_
#define ORBSERVE_SERVER_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "server/config.h"

namespace orbserve {

class Server {
 public:
  // Starts to serve. Fields that `config` does not set take their defaults; an empty `listen` opens
  // no port and an empty `http_listen` no HTTP endpoint, so that a server with both empty is
  // reached through InProcessChannel() only. BAD_OPTIONS, UNSUPPORTED: the configuration.
  // UNAVAILABLE: a port cannot be bound, or the backend asked for does not answer.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const server::Config& config);

  // Ends what is left at once. Call Drain() before to finish it.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // A channel to this server without a socket. The server must outlive its calls.
  std::shared_ptr<grpc::Channel> InProcessChannel(const grpc::ChannelArguments& arguments = {});

  int port() const;       // 0 = none
  int http_port() const;  // 0 = none
  const server::Config& config() const;
  // The page that the HTTP endpoint serves as /metrics.
  std::string RenderMetrics() const;

  // Stops in an order that loses nothing: health says NOT_SERVING and, after `drain.delay_ms`, new
  // calls are refused with DRAINING; open streams get GoingAway, and what they send is answered for
  // half of `drain.timeout_ms`, then they end when their frames in flight are answered. Returns
  // when all calls have ended, true, or were cut at the end of the time, false. Blocks; once only.
  bool Drain();

  // Whether a device of the backend was lost: the process should end. The first time that it is,
  // health turns NOT_SERVING and the loss is counted. To be asked about once a second.
  bool CheckDeviceLost();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVER_H_
