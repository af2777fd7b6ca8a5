// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_FRAME_PHASE_H_
#define ORBSERVE_SERVER_TELEMETRY_FRAME_PHASE_H_

#include <array>
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

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_FRAME_PHASE_H_
