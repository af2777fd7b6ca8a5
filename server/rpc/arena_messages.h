// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Request and response of a unary call on one protobuf arena, which lives as long as anybody holds
// a part of it. gRPC frees a request when its call ends; a frame that is being decoded at that
// moment must not lose its pixels.

#ifndef ORBSERVE_SERVER_RPC_ARENA_MESSAGES_H_
#define ORBSERVE_SERVER_RPC_ARENA_MESSAGES_H_

#include <memory>
#include <utility>

#include "google/protobuf/arena.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/message_allocator.h"

namespace orbserve {

template <typename Request, typename Response>
class ArenaMessages final : public grpc::MessageHolder<Request, Response> {
 public:
  ArenaMessages() {
    this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
    this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
  }

  // A part of the messages of the call with this context, keeping all of them alive.
  template <typename Part>
  static std::shared_ptr<const Part> Share(grpc::CallbackServerContext* context, const Part* part) {
    auto* const messages = static_cast<ArenaMessages*>(context->GetRpcAllocatorState());
    return std::shared_ptr<const Part>(messages->self_, part);
  }

  // gRPC's hold ends with the call.
  void Release() override { const std::shared_ptr<ArenaMessages> self = std::move(self_); }

  class Allocator final : public grpc::MessageAllocator<Request, Response> {
   public:
    grpc::MessageHolder<Request, Response>* AllocateMessages() override {
      auto messages = std::make_shared<ArenaMessages>();
      messages->self_ = messages;
      return messages.get();
    }
  };

 private:
  google::protobuf::Arena arena_;
  std::shared_ptr<ArenaMessages> self_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_ARENA_MESSAGES_H_
