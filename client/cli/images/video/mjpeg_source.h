// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_MJPEG_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_MJPEG_SOURCE_H_

#include <memory>
#include <string>

#include "client/cli/images/frame_source.h"
#include "client/cli/images/video/video_file.h"

namespace orbserve::cli {

// Makes a source of the frames of a Motion JPEG video. Takes ownership of the file of `video`. A
// broken frame is an item with an error, and the frames behind it follow.
std::unique_ptr<FrameSource> MakeMjpegSource(VideoFile video, const PictureLimits& limits,
                                             bool keep_pictures);

// True if the file at `path`, which begins with a JPEG, is a video: further JPEGs follow, and are
// not previews that the first one announces.
bool HoldsManyJpegs(const std::string& path);

// Makes the item of a frame that is a JPEG, with its picture if that is wanted. The item has an
// error if the picture cannot be decoded.
FrameSource::Item ItemOfJpeg(std::string name, std::string jpeg, const PictureLimits& limits,
                             bool keep_picture);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_MJPEG_SOURCE_H_
