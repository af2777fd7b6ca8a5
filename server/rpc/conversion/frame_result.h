// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results of a stream's frames.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_FRAME_RESULT_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_FRAME_RESULT_H_

#include "orbserve/v1/orbserve.pb.h"
#include "server/serving/stream/stream_frame.h"

namespace orbserve {

// Fills in status, features, matches, tracks and keyframe. Sequence, times and places are the
// caller's.
void FrameResultToProto(const StreamResult& result, bool omit_features, v1::FrameResult* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_FRAME_RESULT_H_
