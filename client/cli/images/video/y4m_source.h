// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_Y4M_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_Y4M_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/images/frame_source.h"
#include "client/cli/images/video/video_file.h"

namespace orbserve::cli {

// Makes a source of the frames of a Y4M video. Takes ownership of the file of `video`. Errors: as
// Y4mReader::Create.
absl::StatusOr<std::unique_ptr<FrameSource>> MakeY4mSource(VideoFile video,
                                                           const PictureLimits& limits,
                                                           bool keep_pictures);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_Y4M_SOURCE_H_
