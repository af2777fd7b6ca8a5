// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Request and response of a unary call on protobuf arenas. The request's lives as long as anybody
// holds a part of it: neither is it kept until the answer is sent, nor does a frame that is being
// decoded when its call ends lose its pixels.

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

  // A part of the request of the call with this context, keeping all of it alive.
  template <typename Part>
  static std::shared_ptr<const Part> Share(grpc::CallbackServerContext* context, const Part* part) {
    auto* const messages = static_cast<ArenaMessages*>(context->GetRpcAllocatorState());
    return std::shared_ptr<const Part>(messages->request_arena_, part);
  }

  // The call reads its request no more.
  void FreeRequest() override { request_arena_.reset(); }
  // The call has ended.
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
