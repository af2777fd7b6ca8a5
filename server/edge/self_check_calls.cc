// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace orbserve {

struct SelfCheckCalls::Call {
  explicit Call(int connection)
      : stub(grpc::CreateInsecureChannelFromFd("orbserve-server", connection)) {}

  grpc::GenericStub stub;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  bool has_ended = false;
};

SelfCheckCalls::SelfCheckCalls() = default;

SelfCheckCalls::~SelfCheckCalls() {
  for (Call& call : calls_) call.context.TryCancel();  // nobody changes the list any more
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] {
    return std::all_of(calls_.begin(), calls_.end(),
                       [](const Call& call) { return call.has_ended; });
  });
}

void SelfCheckCalls::Begin(FileDescriptor connection, std::chrono::milliseconds limit,
                           std::function<void(const absl::Status&)> done) {
  std::list<Call> over;  // freed after the lock
  Call* call = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    for (auto at = calls_.begin(); at != calls_.end();) {
      const auto next = std::next(at);
      if (at->has_ended) over.splice(over.end(), calls_, at);
      at = next;
    }
    call = &calls_.emplace_back(connection.Release());
  }
  call->context.set_deadline(std::chrono::system_clock::now() + limit);
  const grpc::Slice no_fields;  // the health of the whole server
  call->request = grpc::ByteBuffer(&no_fields, 1);
  call->stub.UnaryCall(
      &call->context, "/grpc.health.v1.Health/Check", {}, &call->request, &call->response,
      [this, call, done = std::move(done)](const grpc::Status& status) {
        done(status.ok() ? absl::OkStatus()
                         : absl::UnavailableError(absl::StrCat(
                               "a call of the server to itself failed: ", status.error_message())));
        const std::scoped_lock lock(mutex_);
        call->has_ended = true;
        ended_.notify_all();
      });
}

}  // namespace orbserve
