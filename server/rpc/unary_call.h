// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Unary calls. Request and response lie each on a protobuf arena, and gRPC sees their bytes only.
// The request is scanned before it is parsed (wire_scan.h), and its bytes are freed then. Its arena
// lives as long as somebody holds a part of the request: it is freed before the answer is sent, and
// a frame that is still being decoded when its call ends keeps its pixels. The response becomes
// bytes when the call finishes, and its arena is freed.

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
#include "google/protobuf/arena.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
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
#include "server/rpc/wire_scan.h"
#include "server/serving/frame/frame_record.h"

namespace orbserve {

// A unary call as gRPC hands it over.
struct CallBegin {
  grpc::CallbackServerContext* context = nullptr;
  const grpc::ByteBuffer* request = nullptr;
  grpc::ByteBuffer* response = nullptr;
};

// Base of a unary call. The call finishes exactly once, counts itself at the gate, and deletes
// itself when gRPC and all holders are done with it.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  // `request` and `response`: prototypes.
  UnaryCall(const CallServices& services, DrainGate& gate, const CallBegin& begin,
            const google::protobuf::Message& request, const google::protobuf::Message& response);

  // Begins the call, inside the service method, where the reactor is not bound yet: neither
  // OnCancel() nor OnDone() comes before this returns, even when the call was finished inside.
  // `rules`: of the request.
  void Begin(const WireRules& rules);
  void OnCancel() override;
  void OnDone() final;

 protected:
  ~UnaryCall() override = default;

  // The request was read.
  virtual void Start() = 0;

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
  // Reserves memory for an answer of `wire_bytes`, until it is sent. QUOTA_EXCEEDED when the
  // answers of this client's calls hold too much, because it does not read them or asks for too
  // much at a time; QUEUE_FULL when those of all clients do.
  absl::Status ExpectResponse(int64_t wire_bytes);
  // Submits a frame of the request, which was refused if `refusal` is not OK, and counts it: it
  // ends with the call. `message_bytes`: size of the request, if the frame keeps all of it. `done`
  // may be called inside.
  void SubmitFrame(std::shared_ptr<const v1::Frame> frame,
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
  void FreeRequest() { request_arena_.reset(); }
  // Keeps the object alive until Drop(), for threads other than gRPC's reactions.
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void Drop();

  const CallServices& services_;
  DrainGate& gate_;
  grpc::CallbackServerContext* const context_;
  const SteadyTime begin_;  // when the request had arrived
  const SteadyTime deadline_;
  ClientId client_;
  std::array<FrameTimes, 2> times_;  // of the frames that were submitted, once they have ended
  std::shared_ptr<google::protobuf::Arena> request_arena_;
  google::protobuf::Message* const request_message_;  // until FreeRequest()
  std::unique_ptr<google::protobuf::Arena> response_arena_;
  google::protobuf::Message* const response_message_;  // until FinishWith()

 private:
  // Finds out who calls (identity.h) and parses the request, which costs nothing where the client
  // is not known. UNAUTHENTICATED, BAD_REQUEST, TOO_LARGE, OUT_OF_MEMORY.
  absl::Status ReadRequest(const WireRules& rules);

  // gRPC keeps the buffer, not the bytes, until the call ends, and does not read it again.
  grpc::ByteBuffer& request_bytes_;
  grpc::ByteBuffer& response_bytes_;
  const absl::string_view method_;
  absl::StatusCode code_ = absl::StatusCode::kUnknown;
  Holding held_response_;  // memory for the answer
  SendTimeouts::Watch watch_;
  int frames_ = 0;  // of the request, submitted inside Start()
  std::array<WorkTicket, 2> tickets_ = {};
  int64_t keypoints_ = 0;      // of all frames
  std::atomic<int> holds_{1};  // gRPC's, until OnDone()
  const DrainGate::Ticket ticket_;
};

// A unary call with the types of its messages.
template <typename RequestMessage, typename ResponseMessage>
class MessageCall : public UnaryCall {
 public:
  using Request = RequestMessage;

  MessageCall(const CallServices& services, DrainGate& gate, const CallBegin& begin)
      : UnaryCall(services, gate, begin, RequestMessage::default_instance(),
                  ResponseMessage::default_instance()),
        request_(static_cast<RequestMessage&>(*request_message_)),
        response_(static_cast<ResponseMessage&>(*response_message_)) {}

 protected:
  // Shares a part of the request. The part keeps all of it alive.
  template <typename Part>
  std::shared_ptr<const Part> Share(const Part* part) const {
    return std::shared_ptr<const Part>(request_arena_, part);
  }

  RequestMessage& request_;
  ResponseMessage& response_;
};

// A unary method of the service.
struct UnaryMethod {
  const google::protobuf::Descriptor* request;
  // Makes the object of a call and begins it. The object deletes itself when gRPC is done with it.
  UnaryCall* (*begin)(const CallServices& services, DrainGate& gate, const CallBegin& begin);
};
// "Extract" for the type of ExtractRequest.
absl::string_view MethodOf(const google::protobuf::Descriptor& request);

template <typename Call>
UnaryMethod MethodOfCall() {
  return {Call::Request::descriptor(),
          [](const CallServices& services, DrainGate& gate, const CallBegin& begin) -> UnaryCall* {
            auto* const call = new Call(services, gate, begin);
            call->Begin(WireRules::Of<typename Call::Request>());
            return call;
          }};
}

UnaryMethod ExtractMethod();                    // extract_call.cc
UnaryMethod MatchMethod();                      // match_call.cc
std::array<UnaryMethod, 3> ReferenceMethods();  // reference_calls.cc

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_UNARY_CALL_H_
