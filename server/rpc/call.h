// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Parts that all calls share: the services that they use, the gate that counts them, and the base
// of a unary call.

#ifndef ORBSERVE_SERVER_RPC_CALL_H_
#define ORBSERVE_SERVER_RPC_CALL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "features/errors.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/client_activity.h"
#include "server/clients/client_id.h"
#include "server/clients/identity.h"
#include "server/clients/ledger.h"
#include "server/process/memory/memory_watch.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/frame_message.h"
#include "server/rpc/send_timeouts.h"
#include "server/serving/batcher.h"
#include "server/serving/clock.h"
#include "server/serving/frame/frame_account.h"
#include "server/serving/frame/frame_intake.h"
#include "server/serving/match/match_queue.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/stream/stream.h"
#include "server/serving/track/track_queue.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// The parts of the server that calls use; all outlive every call.
struct CallServices : StreamParts {
  Executor* lists = nullptr;  // builds lists of references; may do other work, too
  const MemoryWatch* memory = nullptr;
  SendTimeouts* send_timeouts = nullptr;
  const Identity* identity = nullptr;
  v1::ServerLimits server_limits;  // as clients are told
};

// Counts open calls, and refuses new calls once it is closed. Thread-safe.
class CallGate {
 public:
  // Says whether the call came before Close().
  enum class Ticket { kAccepted, kRefused };

  // Returns the ticket to leave with.
  [[nodiscard]] Ticket Enter();
  void Leave(Ticket ticket);

  // Makes refusal() answer `reason` from now on: kDraining or kDeviceLost. kDeviceLost may follow
  // kDraining, not the other way round.
  void Close(ErrorReason reason);
  // OK while new calls are taken, else the reason of Close().
  absl::Status refusal() const;
  // refusal() for a frame on an open stream. A server that drains still takes it.
  absl::Status frame_refusal() const;

  // Waits until every call that came before Close() has ended, and a tenth of a second more. False
  // when `timeout` passed before. gRPC cancels calls that reach a server while it shuts down.
  // Waiting first gives late calls a status with a reason. Calls that are refused are not waited
  // for: clients may try again as fast as they like.
  bool WaitUntilQuiet(std::chrono::milliseconds timeout);

 private:
  enum class State { kOpen, kDraining, kDeviceLost };
  std::atomic<State> state_{State::kOpen};
  std::mutex mutex_;
  std::condition_variable left_;
  int accepted_ = 0;  // calls with kAccepted that are open
};

// Base of a unary call. The call finishes exactly once, counts itself at the gate, and deletes
// itself when gRPC and all holders are done with it. Its Start() runs inside the service method,
// where the reactor is not bound yet: neither OnCancel() nor OnDone() comes before Start() returns,
// even when the call was finished inside.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const CallServices& services, CallGate& gate, grpc::CallbackServerContext* context,
            absl::string_view method);

  void OnDone() final;

  // Calls `work`. If it throws std::bad_alloc, finishes the call with OUT_OF_MEMORY. `work` must
  // not throw once something else will finish the call.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      FinishWith(OutOfMemoryStatus());
    }
  }

 protected:
  ~UnaryCall() override = default;

  // Finds out who calls (identity.h), before an answer is expected. UNAUTHENTICATED, BAD_REQUEST.
  absl::Status Identify();
  // Reserves memory for an answer of `wire_bytes`, until it is sent. QUOTA_EXCEEDED when the
  // answers of this client's calls hold too much, because it does not read them or asks for too
  // much at a time; QUEUE_FULL when those of all clients do.
  absl::Status ExpectAnswer(int64_t wire_bytes);
  // Ends the call. If `status` is OK, sends the response of `wire_bytes`, or fails as
  // ExpectAnswer() does, or because the deadline has passed or the client is gone. What the client
  // is told is decided here and counted for each frame of the request. Frees the request. The call
  // may be deleted before this returns, unless it is held.
  void FinishWith(const absl::Status& status, size_t wire_bytes = 0);
  // Counts one frame more of the request as received. It ends with the call.
  void CountFrame(const v1::Frame& frame);
  // The response has so many keypoints more.
  void AddKeypoints(size_t count) { keypoints_ += static_cast<int64_t>(count); }
  // Drops the call's own hold on its request. Parts that are shared stay alive.
  void FreeRequest();
  // Keeps the object alive until Drop(), for threads other than gRPC's reactions.
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void Drop();

  const CallServices& services_;
  CallGate& gate_;
  grpc::CallbackServerContext* const context_;
  const SteadyTime begin_;  // when the request had arrived
  const SteadyTime deadline_;
  ClientId client_;  // set by Identify()

 private:
  // Frees the request.
  virtual void DropRequest() = 0;
  // Makes the response ready to be sent.
  virtual void SendResponse() = 0;
  // DEADLINE_EXCEEDED once the deadline has passed, CANCELLED once the client is gone.
  absl::Status StillWanted() const;

  const absl::string_view method_;
  absl::StatusCode code_ = absl::StatusCode::kUnknown;
  Holding answer_;  // memory for the answer
  SendTimeouts::Watch watch_;
  int frames_ = 0;             // counted by CountFrame()
  int64_t keypoints_ = 0;      // of all frames
  std::atomic<int> holds_{1};  // gRPC's, until OnDone()
  const CallGate::Ticket ticket_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CALL_H_
