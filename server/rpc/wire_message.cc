// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/wire_message.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace orbserve {

absl::Status ParseMessage(grpc::ByteBuffer& buffer, const WireRules& rules,
                          google::protobuf::Message* message) {
  {
    grpc::ProtoBufferReader reader(&buffer);
    ORBSERVE_RETURN_IF_ERROR(WireScan(rules).Check(&reader, buffer.Length()));
  }
  grpc::ProtoBufferReader reader(&buffer);
  return message->ParseFromZeroCopyStream(&reader) ? absl::OkStatus() : UnparsedStatus(*message);
}

absl::Status UnparsedStatus(const google::protobuf::Message& message) {
  return MakeError(
      ErrorReason::kBadRequest,
      absl::StrCat("the bytes are not a message of the type ", message.GetDescriptor()->name()));
}

MessageBytes SerializeToBytes(const google::protobuf::Message& message) {
  const size_t size = message.ByteSizeLong();
  if (size > std::numeric_limits<int32_t>::max()) return {};
  MessageBytes bytes;
  bytes.data.reset(static_cast<uint8_t*>(::operator new(size)));
  bytes.size = size;
  message.SerializeWithCachedSizesToArray(bytes.data.get());
  return bytes;
}

grpc::ByteBuffer ToByteBuffer(MessageBytes bytes) {
  if (bytes.data == nullptr) return grpc::ByteBuffer();
  uint8_t* const data = bytes.data.release();
  const grpc::Slice slice(
      data, bytes.size, [](void* block) { ::operator delete(block); }, data);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace orbserve
