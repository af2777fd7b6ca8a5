// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Ends unary and reflection calls whose answers are not read; a stream of frames ends itself by the
// same limit (serving/stream/stream.h). An answer holds memory from the end of its call
// until HTTP/2 flow control lets it go. A client that opens no window would hold it as long as it
// likes.

#ifndef ORBSERVE_SERVER_RPC_SEND_TIMEOUTS_H_
#define ORBSERVE_SERVER_RPC_SEND_TIMEOUTS_H_

#include <atomic>
#include <chrono>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "server/process/clock.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// Thread-safe.
class SendTimeouts {
 public:
  // A call that is watched. Belongs to the call.
  class Watch {
   private:
    friend class SendTimeouts;
    grpc::CallbackServerContext* context = nullptr;  // null = is not watched
    SteadyTime since;
    std::list<Watch*>::iterator place;
  };

  static constexpr std::chrono::milliseconds kPeriod{1000};

  // `limit`: time in which a client must have read an answer. Both pointers must outlive the
  // object.
  SendTimeouts(Clock* clock, Metrics* metrics, std::chrono::milliseconds limit);

  std::chrono::milliseconds limit() const { return limit_.load(std::memory_order_relaxed); }
  // Clients have `limit` from now on, if that is less. The server is about to stop.
  void Shorten(std::chrono::milliseconds limit);
  // The answer of the call is about to be handed to gRPC.
  void Begin(Watch& watch, grpc::CallbackServerContext* context) ABSL_LOCKS_EXCLUDED(mutex_);
  // The answer was sent or the call has ended. The context is not used afterwards. Does nothing
  // without Begin().
  void End(Watch& watch) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the calls whose time is over. To be called every kPeriod, because each time may have a
  // line in the log.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Clock* const clock_;
  Metrics* const metrics_;
  std::atomic<std::chrono::milliseconds> limit_;
  absl::Mutex mutex_;
  std::list<Watch*> watched_ ABSL_GUARDED_BY(mutex_);  // longest first
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_SEND_TIMEOUTS_H_
