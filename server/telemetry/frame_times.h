// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_FRAME_TIMES_H_
#define ORBSERVE_SERVER_TELEMETRY_FRAME_TIMES_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace orbserve {

// Phases of a frame's way through the server, in their order. The stages of the pipeline
// (features/pipeline/stage.h) from kPyramid to kDescribe are the parts of kCompute. Tracks and
// matches of a frame are made at the same time: kMatchQueue and kMatch are what matches took beyond
// the tracks.
enum class FramePhase {
  kAdmit,  // message arrived to its decoding wanted: checks, its place in the stream, its plan
  kDecodeQueue,  // waits for a thread that decodes
  kDecode,       // client's bytes to grey pixels
  kQueue,        // waits for a batch, and with it for the device
  kUpload,       // host to device
  kCompute,      // the whole pipeline
  kDownload,     // device to host
  kTrackQueue,   // waits for the frame before, and for a place
  kTrack,        // features to tracks
  kMatchQueue,   // as kTrackQueue
  kMatch,        // features to matches
  kEncode,       // features to an answer's bytes
  kSend,         // waits for the results before it
};

// By number of the phase.
inline constexpr std::array<absl::string_view, 13> kFramePhaseNames = {
    "admit",       "decode_queue", "decode",      "queue", "upload", "compute", "download",
    "track_queue", "track",        "match_queue", "match", "encode", "send"};
static_assert(kFramePhaseNames.size() == static_cast<size_t>(FramePhase::kSend) + 1);

// True for phases of the host; the others belong to the device that computed the frame, if one has.
inline constexpr bool IsOfHost(FramePhase phase) {
  return phase <= FramePhase::kDecode || phase >= FramePhase::kEncode;
}

// Says where the time of a frame went, from the arrival of its whole message until its result is
// handed to gRPC. A frame is in one phase at a time, so the phases add up to its duration.
class FrameTimes {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  void Begin(Time arrival) {
    arrival_ = at_ = arrival;
    phase_ = FramePhase::kAdmit;
  }
  // The time that is not assigned yet was spent in the phase in which the frame was.
  void Enter(FramePhase next, Time now) {
    Spend(phase_, now - at_, now);
    phase_ = next;
  }
  // So much of the time that is not assigned yet, or all of it if that is less, was spent in
  // `phase`.
  void Spend(FramePhase phase, Duration time, Time now) {
    time = std::min(time, Duration(now - at_));
    if (time.count() <= 0) return;
    spent_[static_cast<size_t>(phase)] += time;
    at_ += time;
  }

  Time arrival() const { return arrival_; }
  Duration spent(FramePhase phase) const { return spent_[static_cast<size_t>(phase)]; }
  // From the arrival to the last change of phase: the sum of the phases.
  Duration total() const { return at_ - arrival_; }

  // Of the backend that computed the frame; empty if none has.
  absl::string_view backend;
  absl::string_view device;

 private:
  Time arrival_;
  Time at_;  // the time before it is assigned
  FramePhase phase_ = FramePhase::kAdmit;
  std::array<Duration, kFramePhaseNames.size()> spent_{};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_FRAME_TIMES_H_
