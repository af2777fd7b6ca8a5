// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What all calls share: the parts of the server they use, the count of open calls, and the base of
// a unary call.

#ifndef ORBSERVE_SERVER_RPC_CALL_H_
#define ORBSERVE_SERVER_RPC_CALL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "features/errors.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/frame_intake.h"
#include "server/serving/batcher.h"
#include "server/serving/clock.h"
#include "server/serving/match_queue.h"
#include "server/serving/reference_store.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

struct StreamLimits {
  int max_streams = 256;                            // open at a time, of all clients
  std::chrono::milliseconds open_timeout{10'000};   // for the opening message
  int max_frames_in_flight = 8;                     // of one stream: read and not yet answered
  int64_t max_bytes_in_flight = int64_t{64} << 20;  // of one stream's messages; one always fits
  // Of answers, from the moment that their frame is read until they are sent: of one stream, and of
  // all. The answer to one frame of each stream always fits.
  int64_t max_answer_bytes = int64_t{64} << 20;
  int64_t max_answer_bytes_of_all = int64_t{1} << 30;
};

struct UnaryLimits {
  // Of answers, from the admission of their calls until they are sent. One always fits.
  int64_t max_answer_bytes = int64_t{1} << 30;
};

// The parts of the server that calls use; all outlive every call.
struct CallServices {
  FeatureBackend* backend = nullptr;
  Clock* clock = nullptr;
  Batcher* batcher = nullptr;
  FrameIntake* intake = nullptr;
  MatchQueue* matcher = nullptr;
  ReferenceStore* references = nullptr;
  Metrics* metrics = nullptr;
  StreamLimits streams;
  UnaryLimits unary;
};

// Open calls, what the answers of the unary ones hold, and whether new ones are taken. Thread-safe.
class CallGate {
 public:
  void Enter();
  void Leave();

  // From now on refusal() has this reason: kDraining, or, then or later, kDeviceLost.
  void Close(ErrorReason reason);
  // OK while new calls are taken.
  absl::Status refusal() const;
  // Of a frame on a stream that is open already: while the server drains it is still taken.
  absl::Status frame_refusal() const;

  // An answer that counted for `from` bytes counts for `to`. False, and nothing changes, where all
  // would come to more than `max_bytes` by it; the answer of one call alone always fits.
  bool ChangeAnswer(int64_t from, int64_t to, int64_t max_bytes);

  // Waits until no call is open and none came for a tenth of a second; false when `timeout` passed
  // before. gRPC cancels what reaches a server that is shutting down, so those who still come are
  // told why until they stay away.
  bool WaitUntilQuiet(std::chrono::milliseconds timeout);

 private:
  enum class State { kOpen, kDraining, kDeviceLost };
  std::atomic<State> state_{State::kOpen};
  std::atomic<int64_t> answer_bytes_{0};
  std::mutex mutex_;
  std::condition_variable left_;
  int open_ = 0;
  int64_t entered_ = 0;
};

// Finishes exactly once, whatever happens; counts itself; deletes itself when gRPC and all holders
// are done with it. A call's Start() runs inside the service method, where the reactor is not bound
// yet: neither OnCancel() nor OnDone() can come before it returns, even when the call was finished
// inside.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const CallServices& services, CallGate& gate, grpc::CallbackServerContext* context,
            absl::string_view method);

  void OnDone() final;

 protected:
  ~UnaryCall() override = default;

  // Counts what the answer is expected to have on the wire, until it is sent. QUEUE_FULL when those
  // of all calls hold too much: clients do not read them, or ask for more than they can take.
  absl::Status ExpectAnswer(int64_t wire_bytes);
  // OK sends the response, which has `wire_bytes`, if there is room for it until it is sent. Frees
  // the request. From here on the call may be gone, unless it is held.
  void FinishWith(const absl::Status& status, size_t wire_bytes = 0);
  // The request has one frame more, whose duration is recorded when the call finishes.
  void CountFrame() { ++frames_; }
  // The request is not read any more, but by those who share a part of it.
  void FreeRequest();
  // Keeps the object while a thread works in it that is not one of gRPC's reactions.
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void Drop();

  const CallServices& services_;
  CallGate& gate_;
  grpc::CallbackServerContext* const context_;
  const SteadyTime begin_;  // the request had arrived

 private:
  const absl::string_view method_;
  absl::StatusCode code_ = absl::StatusCode::kUnknown;
  int64_t answer_bytes_ = 0;   // counted
  int frames_ = 0;             // counted by CountFrame()
  std::atomic<int> holds_{1};  // gRPC's, until OnDone()
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CALL_H_
