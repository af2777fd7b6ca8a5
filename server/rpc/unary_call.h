// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_UNARY_CALL_H_
#define ORBSERVE_SERVER_RPC_UNARY_CALL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/client_id.h"
#include "server/clients/ledger.h"
#include "server/process/clock.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/call_services.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/rpc/drain_gate.h"
#include "server/rpc/send_timeouts.h"
#include "server/serving/frame/frame_record.h"

namespace orbserve {

// Base of a unary call. The call finishes exactly once, counts itself at the gate, and deletes
// itself when gRPC and all holders are done with it. Its Start() runs inside the service method,
// where the reactor is not bound yet: neither OnCancel() nor OnDone() comes before Start() returns,
// even when the call was finished inside.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(const CallServices& services, DrainGate& gate, grpc::CallbackServerContext* context,
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
  absl::Status ExpectResponse(int64_t wire_bytes);
  // Submits a frame of the request, which was refused if `refusal` is not OK, and counts it: it
  // ends with the call. `message_bytes`: size of the request, if the frame keeps all of it. Returns
  // the ticket of the batcher; `done` may be called inside.
  WorkTicket SubmitFrame(std::shared_ptr<const v1::Frame> frame,
                         std::shared_ptr<const ResolvedPipeline> pipeline, KeepState keep_state,
                         size_t message_bytes, const absl::Status& refusal, FrameDone done);
  // The response has so many keypoints more.
  void AddKeypoints(size_t count) { keypoints_ += static_cast<int64_t>(count); }
  // Ends the call. If `status` is OK, sends the response, or fails as ExpectResponse() does, or
  // because the deadline has passed or the client is gone. What the client is told is counted for
  // each frame of the request (frame_account.h). Frees the request. The call may be deleted before
  // this returns, unless it is held.
  void FinishWith(const absl::Status& status);
  // Drops the call's own hold on its request. Parts that are shared stay alive.
  virtual void FreeRequest() = 0;
  // Keeps the object alive until Drop(), for threads other than gRPC's reactions.
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void Drop();

  const CallServices& services_;
  DrainGate& gate_;
  grpc::CallbackServerContext* const context_;
  const SteadyTime begin_;  // when the request had arrived
  const SteadyTime deadline_;
  ClientId client_;                  // set by Identify()
  std::array<FrameTimes, 2> times_;  // of the frames that were submitted, once they have ended

 private:
  // Size of the response on the wire.
  virtual size_t ResponseBytes() const = 0;
  // Makes the response ready to be sent.
  virtual void SendResponse() = 0;

  const absl::string_view method_;
  absl::StatusCode code_ = absl::StatusCode::kUnknown;
  Holding held_response_;  // memory for the answer
  SendTimeouts::Watch watch_;
  int frames_ = 0;             // of the request
  int64_t keypoints_ = 0;      // of all frames
  std::atomic<int> holds_{1};  // gRPC's, until OnDone()
  const DrainGate::Ticket ticket_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_UNARY_CALL_H_
