// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Request and response of a unary call, each on a protobuf arena. gRPC sees their bytes only. The
// request is scanned before it is parsed (wire_scan.h), and its bytes are freed then. Its arena
// lives as long as somebody holds a part of the request: it is freed before the answer is sent, and
// a frame that is still being decoded when its call ends keeps its pixels. The response becomes
// bytes when the call finishes, and its arena is freed.

#ifndef ORBSERVE_SERVER_RPC_MESSAGE_CALL_H_
#define ORBSERVE_SERVER_RPC_MESSAGE_CALL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "features/errors.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/wire_message.h"
#include "server/rpc/wire_scan.h"

namespace orbserve {

// Messages of a unary call as gRPC hands them over.
struct CallBytes {
  const grpc::ByteBuffer* request = nullptr;
  grpc::ByteBuffer* response = nullptr;
};

// The derived class adds Start(), which calls ReadRequest() first.
template <typename Request, typename Response>
class MessageCall : public UnaryCall {
 public:
  MessageCall(const CallServices& services, DrainGate& gate, grpc::CallbackServerContext* context,
              const CallBytes& bytes)
      // The method of ExtractRequest is Extract.
      : UnaryCall(services, gate, context,
                  absl::StripSuffix(Request::descriptor()->name(), "Request")),
        // gRPC keeps the buffer, not the bytes, until the call ends, and does not read it again.
        request_bytes_(const_cast<grpc::ByteBuffer&>(*bytes.request)),
        response_bytes_(*bytes.response),
        request_arena_(std::make_shared<google::protobuf::Arena>()),
        response_arena_(std::make_unique<google::protobuf::Arena>()),
        request_(*google::protobuf::Arena::CreateMessage<Request>(request_arena_.get())),
        response_(*google::protobuf::Arena::CreateMessage<Response>(response_arena_.get())) {}

 protected:
  // Finds out who calls and parses the request, which costs nothing where the client is not known.
  // UNAUTHENTICATED, BAD_REQUEST, TOO_LARGE, OUT_OF_MEMORY.
  absl::Status ReadRequest() {
    ORBSERVE_RETURN_IF_ERROR(Identify());
    absl::Status status = services_.memory->Check(request_bytes_.Length());
    if (status.ok()) {
      status = WithoutBadAlloc([this] {
        return ParseMessage(request_bytes_, WireRules::Of<Request>(), &request_);
      });
    }
    request_bytes_.Clear();
    return status;
  }

  void FreeRequest() final { request_arena_.reset(); }
  // Shares a part of the request. The part keeps all of it alive.
  template <typename Part>
  std::shared_ptr<const Part> Share(const Part* part) const {
    return std::shared_ptr<const Part>(request_arena_, part);
  }

 private:
  size_t ResponseBytes() const final { return response_.ByteSizeLong(); }
  void SendResponse() final {
    response_bytes_ = ToByteBuffer(SerializeToBytes(response_));
    response_arena_.reset();
  }

  grpc::ByteBuffer& request_bytes_;
  grpc::ByteBuffer& response_bytes_;
  std::shared_ptr<google::protobuf::Arena> request_arena_;
  std::unique_ptr<google::protobuf::Arena> response_arena_;

 protected:
  Request& request_;    // until FreeRequest()
  Response& response_;  // until FinishWith()
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_MESSAGE_CALL_H_
