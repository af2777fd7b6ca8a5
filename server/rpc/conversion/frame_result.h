// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results of a stream's frames.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_FRAME_RESULT_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_FRAME_RESULT_H_

#include "absl/status/status.h"
#include "features/types.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/serving/stream/stream_frame.h"

namespace orbserve {

// May throw std::bad_alloc.
void FrameResultToProto(const StreamFrame& frame, v1::FrameResult* proto);
// A result with `status`, which is not OK, in place of the frame's own.
void FrameFailureToProto(const StreamFrame& frame, const absl::Status& status,
                         v1::FrameResult* proto);

// Appends the tracks of a frame and the tracks that have ended, in their order.
void TracksToProto(const FrameTracks& tracks, v1::FrameResult* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_FRAME_RESULT_H_
