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
MessageBytes ResultEncoder::EncodeWhole(const StreamFrame& frame) {
  const StreamResult& result = frame.result;
  response_.Clear();  // keeps its memory
  v1::FrameResult& proto = *response_.mutable_result();
  proto.set_sequence(frame.sequence);
  proto.set_timestamp_ns(frame.timestamp_ns);
  FrameResultToProto(result, frame.options->omit_features, &proto);
  ExecutionToProto(result.outcome, proto.mutable_execution());
  TimingsToProto(result.outcome, proto.mutable_timings());
  return SerializeToBytes(response_);
}

MessageBytes ResultEncoder::EncodeFailure(const StreamFrame& frame, const absl::Status& status) {
  v1::StreamFramesResponse failed;
  v1::FrameResult& proto = *failed.mutable_result();
  proto.set_sequence(frame.sequence);
  proto.set_timestamp_ns(frame.timestamp_ns);
  StatusToProto(status, proto.mutable_status());
  FrameOutcome outcome;  // nothing of a batch
  outcome.times = frame.result.outcome.times;
  TimingsToProto(outcome, proto.mutable_timings());
  return SerializeToBytes(failed);
}

MessageBytes ResultEncoder::Encode(StreamFrame& frame) {
  MessageBytes message;
  const absl::Status encoded = WithoutBadAlloc([&] {
    message = EncodeWhole(frame);
    return absl::OkStatus();
  });
  StreamResult left;
  left.outcome.status = encoded.ok() ? std::move(frame.result.outcome.status) : encoded;
  left.outcome.times = frame.result.outcome.times;
  frame.result = std::move(left);
  if (!encoded.ok()) message = EncodeFailure(frame, encoded);
  if (!encoded.ok() || message.size > kMaxKeptBytes) {
    v1::StreamFramesResponse().Swap(&response_);
  }
  return message;
}

}  // namespace orbserve
