// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/images/camera/camera_device.h"
#include "client/cli/images/frame_source.h"

namespace orbserve::cli {

// Makes a source of the frames of a camera. MJPEG is sent as it comes; of other formats, grey
// pixels are sent. `calls` must outlive the source. Errors: as CameraDevice::Open, and
// INVALID_ARGUMENT for frames above `limits`.
absl::StatusOr<std::unique_ptr<FrameSource>> MakeCameraSource(const std::string& path,
                                                              const CameraOptions& options,
                                                              const PictureLimits& limits,
                                                              bool keep_pictures,
                                                              CameraCalls* calls);

// True if `path` is a device of Video4Linux, or is called like one.
bool IsCamera(const std::string& path);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_CAMERA_CAMERA_SOURCE_H_
