// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_FRAME_PHASE_H_
#define ORBSERVE_SERVER_TELEMETRY_FRAME_PHASE_H_

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace orbserve {

// Phases of a frame's way through the server, in their order. kDecode and kEncode belong to the
// host, the others to the device that computed the frame. The stages of the pipeline
// (features/pipeline/stage.h) are the parts of kCompute.
enum class FramePhase {
  kDecode,    // client's bytes to grey pixels
  kQueue,     // frame ready to batch handed to the backend
  kUpload,    // host to device
  kCompute,   // the whole pipeline
  kDownload,  // device to host
  kEncode,    // features to an answer's bytes
};

// By number of the phase. No stage of the pipeline has one of these names.
inline constexpr std::array<absl::string_view, 6> kFramePhaseNames = {
    "decode", "queue", "upload", "compute", "download", "encode"};
static_assert(kFramePhaseNames.size() == static_cast<size_t>(FramePhase::kEncode) + 1);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_FRAME_PHASE_H_
