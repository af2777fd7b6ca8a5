// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Messages on their way from and into gRPC's buffers.

#ifndef ORBSERVE_SERVER_RPC_WIRE_MESSAGE_H_
#define ORBSERVE_SERVER_RPC_WIRE_MESSAGE_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/rpc/wire_scan.h"
#include "server/serving/stream/stream_frame.h"

namespace orbserve {

// Scans `buffer` by `rules`, which are those of `message`, and parses it. BAD_REQUEST or TOO_LARGE,
// see WireScan. May throw std::bad_alloc.
absl::Status ParseMessage(grpc::ByteBuffer& buffer, const WireRules& rules,
                          google::protobuf::Message* message);

// BAD_REQUEST for a message that passed the scan and cannot be parsed: a packed number is too long.
absl::Status UnparsedStatus(const google::protobuf::Message& message);

// The bytes of a message in one block of our own memory: gRPC ends the process when it finds none.
// Empty for messages that are larger than protobuf allows. May throw std::bad_alloc.
MessageBytes SerializeToBytes(const google::protobuf::Message& message);
grpc::ByteBuffer ToByteBuffer(MessageBytes bytes);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_WIRE_MESSAGE_H_
