// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Times and places of computed frames, as answers report them.

#ifndef ORBSERVE_SERVER_RPC_CONVERSION_TIMINGS_H_
#define ORBSERVE_SERVER_RPC_CONVERSION_TIMINGS_H_

#include <chrono>

#include "orbserve/v1/orbserve.pb.h"
#include "server/serving/frame/frame_record.h"

namespace orbserve {

// Times of an answered frame until now, with stages for its tracks and matches.
void TimingsToProto(const FrameOutcome& outcome, v1::FrameTimings* proto);

// Adds the wait and the time of matching: `match_queue_ns`, `match_ns`, and the stage of that name.
void AddMatchTime(std::chrono::nanoseconds queued, std::chrono::nanoseconds time,
                  v1::FrameTimings* proto);

// Sets `total_ns`, and `send_ns` to what the other times leave of it.
void SetTotalTime(std::chrono::nanoseconds total, v1::FrameTimings* proto);

// Times of two images that one answer is made from: the longer waits and the sum of the work.
// Stages are added up by name. They are left out unless both images were timed, as a sum would then
// stand for one image and look like two. Matches and `total_ns` are the caller's.
v1::FrameTimings SumOfTimings(const v1::FrameTimings& a, const v1::FrameTimings& b);

// Batch and device that computed a frame; empty if no batch has computed it.
void ExecutionToProto(const FrameOutcome& outcome, v1::Execution* proto);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_CONVERSION_TIMINGS_H_
