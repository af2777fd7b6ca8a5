// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results of a stream's frames as the bytes of messages.

#ifndef ORBSERVE_SERVER_RPC_RESULT_ENCODER_H_
#define ORBSERVE_SERVER_RPC_RESULT_ENCODER_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/frame_intake.h"
#include "server/serving/clock.h"
#include "server/serving/stream/stream_session.h"

namespace orbserve {

// The parts of a frame that its result repeats.
struct ResultHead {
  uint64_t sequence = 0;
  int64_t timestamp_ns = 0;
  SteadyTime arrival;
  std::chrono::nanoseconds decode_time{};
  bool omit_features = false;
};

// Keeps the memory of a message for the next one. Not thread-safe.
class ResultEncoder {
 public:
  // Returns the message with the result. Where there is no memory for it, `*status` becomes
  // OUT_OF_MEMORY, and the message has that in place of the result.
  grpc::ByteBuffer Encode(const ResultHead& head, StreamResult result, absl::Status* status);
  // Returns the message with `status`, which is not OK, in place of the result.
  static grpc::ByteBuffer EncodeFailure(const ResultHead& head, const absl::Status& status);

 private:
  grpc::ByteBuffer EncodeWhole(const ResultHead& head, StreamResult result);

  v1::StreamFramesResponse response_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_RESULT_ENCODER_H_
