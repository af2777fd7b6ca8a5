// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/self_check_call.h"

#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"

namespace orbserve {
namespace {

constexpr std::chrono::milliseconds kSlack{500};  // gRPC tells that a deadline has passed

// Lives until gRPC's last callback, which may come after the caller has given up.
struct SelfCheckCall {
  explicit SelfCheckCall(int connection)
      : stub(grpc::CreateInsecureChannelFromFd("orbserve-server", connection)) {}

  grpc::GenericStub stub;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  std::promise<grpc::Status> ended;
};

}  // namespace

absl::Status MakeSelfCheckCall(FileDescriptor connection, std::chrono::milliseconds limit) {
  const auto call = std::make_shared<SelfCheckCall>(connection.Release());
  call->context.set_deadline(std::chrono::system_clock::now() + limit);
  const grpc::Slice no_fields;  // the health of the whole server
  call->request = grpc::ByteBuffer(&no_fields, 1);
  std::future<grpc::Status> ended = call->ended.get_future();
  call->stub.UnaryCall(&call->context, "/grpc.health.v1.Health/Check", {}, &call->request,
                       &call->response,
                       [call](grpc::Status status) { call->ended.set_value(std::move(status)); });
  if (ended.wait_for(limit + kSlack) != std::future_status::ready) {
    return absl::UnavailableError("a call of the server to itself does not end");
  }
  const grpc::Status status = ended.get();
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("a call of the server to itself failed: ", status.error_message()));
}

}  // namespace orbserve
