// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Request and response of a unary call, each on a protobuf arena. The request's arena lives as long
// as somebody holds a part of the request. It is freed before the answer is sent, and a frame that
// is still being decoded when its call ends keeps its pixels.

#ifndef ORBSERVE_SERVER_RPC_ARENA_MESSAGES_H_
#define ORBSERVE_SERVER_RPC_ARENA_MESSAGES_H_

#include <memory>

#include "google/protobuf/arena.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/message_allocator.h"

namespace orbserve {

template <typename Request, typename Response>
class ArenaMessages final : public grpc::MessageHolder<Request, Response> {
 public:
  ArenaMessages() {
    this->set_request(google::protobuf::Arena::CreateMessage<Request>(request_arena_.get()));
    this->set_response(google::protobuf::Arena::CreateMessage<Response>(&response_arena_));
  }

  // Shares a part of the request of the call with this context. The part keeps all of it alive.
  template <typename Part>
  static std::shared_ptr<const Part> Share(grpc::CallbackServerContext* context, const Part* part) {
    auto* const messages = static_cast<ArenaMessages*>(context->GetRpcAllocatorState());
    return std::shared_ptr<const Part>(messages->request_arena_, part);
  }

  // Called when the call does not read its request any more.
  void FreeRequest() override { request_arena_.reset(); }
  // Called when the call has ended.
  void Release() override { delete this; }

  class Allocator final : public grpc::MessageAllocator<Request, Response> {
   public:
    grpc::MessageHolder<Request, Response>* AllocateMessages() override {
      return new ArenaMessages;
    }
  };

 private:
  std::shared_ptr<google::protobuf::Arena> request_arena_ =
      std::make_shared<google::protobuf::Arena>();
  google::protobuf::Arena response_arena_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_ARENA_MESSAGES_H_
