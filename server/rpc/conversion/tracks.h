// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks of a stream's frames.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_TRACKS_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_TRACKS_H_

#include "features/types.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve {

// Appends the tracks of a frame and the tracks that have ended, in their order.
void TracksToProto(const FrameTracks& tracks, v1::FrameResult* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_TRACKS_H_
