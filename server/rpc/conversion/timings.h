// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Times and places of computed frames, as answers report them.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_TIMINGS_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_TIMINGS_H_

#include <chrono>

#include "orbserve/v1/orbserve.pb.h"
#include "server/serving/frame/frame_record.h"

namespace orbserve {

// Times of an answered frame without its matches. `begin`: when its message had arrived.
void TimingsToProto(const FrameOutcome& outcome, SteadyTime begin, v1::FrameTimings* proto);

// Adds the time from features to matches: `match_ns`, and the stage of that name. Adds nothing
// where `time` is zero, that is, nothing was matched.
void AddMatchTime(std::chrono::nanoseconds time, v1::FrameTimings* proto);
// Adds the time from features to tracks in the same way: `track_ns`, and the stage of that name.
// Called after AddMatchTime(), whose stage comes first.
void AddTrackTime(std::chrono::nanoseconds time, v1::FrameTimings* proto);

// Times of two images that one answer is made from: the longer wait for a batch and the sum of the
// work. Stages are added up by name. They are left out unless both images were timed, as a sum
// would then stand for one image and look like two. `match_ns` and `total_ns` are the caller's.
v1::FrameTimings SumOfTimings(const v1::FrameTimings& a, const v1::FrameTimings& b);

// Batch and device that computed a frame; empty if no batch has computed it.
void ExecutionToProto(const FrameOutcome& outcome, v1::Execution* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_TIMINGS_H_
