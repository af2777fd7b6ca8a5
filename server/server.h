// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The composition root: the one place that chooses the backend and wires serving, rpc, decoding and
// telemetry. The program orbserve-server and the embedded engine of the command line are this
// library.

#ifndef ORBSERVE_SERVER_SERVER_H_
#define ORBSERVE_SERVER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "server/config/config.h"
#include "server/config/derived_limits.h"
#include "server/failover/failover_backend.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// Hooks for the program that runs the server.
struct ServerHooks {
  // Stands before every path of the files that sensors are read from; for tests.
  std::string sensor_root;
  // Changes what follows from the configuration, before anything is made; for tests. May be null.
  std::function<void(DerivedLimits*)> change_limits;
  // Applied to the backend that the configuration chose, before anything else knows the backend.
  BackendWrapper wrap_backend;
  // Looks at the heap of the process every second and gives back to the system what has long been
  // free there. May be null. Called from one thread.
  std::function<void()> look_at_heap;
  // True while the heap has no memory: nothing new is begun then. May be null. Called from one
  // thread.
  std::function<bool()> heap_is_exhausted;
  // A device was lost, see device_lost(). Called once, from any thread; must not block.
  std::function<void()> on_device_lost;
  // The server no longer answers calls to its own address, see self_check_failed(). Called once,
  // from any thread; must not block.
  std::function<void()> on_self_check_failed;
};

class Server {
 public:
  // Starts to serve. Fields that `config` does not set take their defaults; an empty `listen` opens
  // no port and an empty `http_listen` no HTTP endpoint, so that a server with both empty is
  // reached through InProcessChannel() only. BAD_OPTIONS, UNSUPPORTED: the configuration.
  // UNAVAILABLE: a port cannot be bound, or the backend asked for does not answer.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const server::Config& config,
                                                        ServerHooks hooks = {});

  // Cuts the calls that are open. Call Drain() before, to finish them.
  virtual ~Server() = default;

  // A channel to this server without a socket. The server must outlive its calls.
  virtual std::shared_ptr<grpc::Channel> InProcessChannel(
      const grpc::ChannelArguments& arguments) = 0;

  virtual int port() const = 0;       // 0 = none, or a Unix socket
  virtual int http_port() const = 0;  // 0 = none
  virtual const server::Config& config() const = 0;
  // The page that the HTTP endpoint serves as /metrics.
  virtual std::string RenderMetrics() const = 0;

  // Stops in an order that loses nothing: health says NOT_SERVING and, after `drain.delay_ms`, new
  // calls are refused with DRAINING; open streams get GoingAway, their frames are answered for half
  // of `drain.timeout_ms`, then they end when their frames in flight are answered. Returns true
  // when all calls have ended, false when the time was over and the rest was cut. Blocks; once
  // only. After the loss of a device it takes a second and a half at most, whatever `drain` says.
  virtual bool Drain() = 0;

  // True when a device of the backend was lost: the process should drain and end. At the loss
  // health turns NOT_SERVING, the loss is counted, new calls and frames are refused with
  // DEVICE_LOST, and the CPU backend answers the frames that were accepted; streams end after that.
  virtual bool device_lost() const = 0;

  // OK, or why the server takes no requests: DRAINING, DEVICE_LOST, or UNAVAILABLE when a call to
  // its own address is not answered. Makes such a call if the last one was a second ago; waits for
  // it for a second at most.
  virtual absl::Status Ready() = 0;
  // OK, or why another process may have to take this one's place: calls to its own address are not
  // answered (as Ready() has it), or the backend has held work since the last call that returned OK
  // and none of it has ended. A batch may take long, so the caller gives it time.
  virtual absl::Status Alive() = 0;
  // True when calls of the server to its own address have failed for half a minute: the process
  // should drain and end, and another one take its place.
  virtual bool self_check_failed() const = 0;

  // Reads certificates and tokens again, soon and on another thread. What cannot be used is logged,
  // and the old ones stay. Without a call files are read when they change.
  virtual void Reload() = 0;

  virtual FrameCounts frame_counts() const = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVER_H_
