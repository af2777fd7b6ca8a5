// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/status.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"

namespace orbserve {
namespace {

// A text is sent three times: as the gRPC message, where each '%' takes three bytes, and twice in
// the details, in base64. All of it stays below 6 KiB; gRPC peers accept 8 KiB of metadata.
constexpr size_t kMaxTextBytes = 1024;

std::string TextFor(const absl::Status& status, ErrorReason reason) {
  if (reason == ErrorReason::kInternal) return "internal error; the server's log has the details";
  const absl::string_view message = status.message();
  std::string text(message.substr(0, kMaxTextBytes));
  if (message.size() > kMaxTextBytes) text += "...";
  for (char& c : text) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return text;
}

}  // namespace

void StatusToProto(const absl::Status& status, v1::Status* proto) {
  proto->Clear();
  if (status.ok()) return;
  const ErrorReason reason = ReasonOf(status);
  const ErrorReasonInfo& info = InfoOf(reason);
  proto->set_code(static_cast<int>(info.code));
  proto->set_reason(info.name.data(), info.name.size());
  proto->set_message(TextFor(status, reason));
  proto->set_retry_after_ms(static_cast<uint32_t>(info.retry_after_ms));
}

grpc::Status StatusToGrpc(const absl::Status& status, grpc::ServerContextBase* context) {
  if (status.ok()) return grpc::Status::OK;
  v1::Status entry;
  StatusToProto(status, &entry);
  if (context != nullptr && entry.retry_after_ms() > 0) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(entry.retry_after_ms()));
  }
  v1::CallStatus call;
  call.set_code(entry.code());
  call.set_message(entry.message());
  call.add_details()->PackFrom(entry);
  // Abseil's codes are gRPC's.
  return grpc::Status(static_cast<grpc::StatusCode>(entry.code()), entry.message(),
                      call.SerializeAsString());
}

}  // namespace orbserve
