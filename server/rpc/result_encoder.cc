// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/result_encoder.h"

#include <cstddef>
#include <utility>

#include "server/process/memory/out_of_memory.h"
#include "server/rpc/conversion/frame_result.h"
#include "server/rpc/conversion/timings.h"
#include "server/rpc/status.h"
#include "server/rpc/wire_message.h"

namespace orbserve {
namespace {

// Largest message whose memory is kept.
constexpr size_t kMaxKeptBytes = 256 << 10;

}  // namespace

// May throw std::bad_alloc.
grpc::ByteBuffer ResultEncoder::EncodeWhole(const ResultHead& head, StreamResult result) {
  response_.Clear();  // keeps its memory
  v1::FrameResult& proto = *response_.mutable_result();
  proto.set_sequence(head.sequence);
  proto.set_timestamp_ns(head.timestamp_ns);
  FrameResultToProto(result, head.omit_features, &proto);
  const ExtractOutcome outcome{std::move(result.outcome), head.decode_time};
  ExecutionToProto(outcome, proto.mutable_execution());
  TimingsToProto(outcome, head.arrival, proto.mutable_timings());
  AddMatchTime(result.match_time, proto.mutable_timings());
  AddTrackTime(result.track_time, proto.mutable_timings());
  return SerializeMessage(response_);
}

grpc::ByteBuffer ResultEncoder::EncodeFailure(const ResultHead& head, const absl::Status& status) {
  v1::StreamFramesResponse failed;
  v1::FrameResult& proto = *failed.mutable_result();
  proto.set_sequence(head.sequence);
  proto.set_timestamp_ns(head.timestamp_ns);
  StatusToProto(status, proto.mutable_status());
  TimingsToProto(ExtractOutcome{{}, head.decode_time}, head.arrival, proto.mutable_timings());
  return SerializeMessage(failed);
}

grpc::ByteBuffer ResultEncoder::Encode(const ResultHead& head, StreamResult result,
                                       absl::Status* status) {
  grpc::ByteBuffer message;
  const absl::Status encoded = WithoutBadAlloc([&] {
    message = EncodeWhole(head, std::move(result));
    return absl::OkStatus();
  });
  if (!encoded.ok()) {
    *status = encoded;
    message = EncodeFailure(head, encoded);
  }
  if (!encoded.ok() || message.Length() > kMaxKeptBytes) {
    v1::StreamFramesResponse().Swap(&response_);
  }
  return message;
}

}  // namespace orbserve
