// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results of a stream's frames as the bytes of messages.

#ifndef ORBSERVE_SERVER_RPC_RESULT_ENCODER_H_
#define ORBSERVE_SERVER_RPC_RESULT_ENCODER_H_

#include "absl/status/status.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/serving/stream/stream_frame.h"

namespace orbserve {

// Keeps the memory of a message for the next one. Not thread-safe.
class ResultEncoder {
 public:
  // Returns the message with the frame's result, and frees the result but for its status. Where
  // there is no memory for it, the status becomes OUT_OF_MEMORY, and the message has that in place
  // of the result.
  MessageBytes Encode(StreamFrame& frame);
  // Returns the message with `status`, which is not OK, in place of the result.
  static MessageBytes EncodeFailure(const StreamFrame& frame, const absl::Status& status);

 private:
  MessageBytes EncodeWhole(const StreamFrame& frame);

  v1::StreamFramesResponse response_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_RESULT_ENCODER_H_
