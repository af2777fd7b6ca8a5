// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_SIMULATED_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_SIMULATED_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/images/frame_source.h"

namespace orbserve::cli {

// Makes a source of the frames of a camera that flies over the photograph `options.photo`
// (SimulatedFlight). Every item has its true motion. INVALID_ARGUMENT: a size or a photograph that
// is too small or above `limits`; other errors as LoadPicture.
absl::StatusOr<std::unique_ptr<FrameSource>> MakeSimulatedSource(const FrameSourceOptions& options,
                                                                 const PictureLimits& limits);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_SIMULATED_SOURCE_H_
