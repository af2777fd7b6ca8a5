// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Image files as frames for the service and as pictures to draw on. The first bytes decide the type
// of a file; its name does not matter.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_IMAGE_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_IMAGE_FILE_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/images/picture.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Loads the image at `path` for sending. A JPEG is sent as it is; PNG and PNM are decoded to grey
// with the fixed-point formula that the server uses for colour. `stop` and errors: as ReadFile;
// INVALID_ARGUMENT for a damaged or too large image.
absl::StatusOr<v1::Frame> LoadFrame(const std::string& path, const PictureLimits& limits,
                                    const std::atomic<bool>* stop = nullptr);

// Loads the image at `path` for drawing. JPEG keeps its colours; EXIF rotation is ignored, as the
// server does. The file is read for the second time: INVALID_ARGUMENT for a pipe, which is empty
// after the first.
absl::StatusOr<Picture> LoadPicture(const std::string& path, const PictureLimits& limits);

// Loads the PNG or PNM mask at `path`. A pixel is kept where any channel is not 0.
absl::StatusOr<v1::Mask> LoadMask(const std::string& path, const PictureLimits& limits);

// Upper bound of the bytes that a frame takes: as sent, or decoded to grey. The size of a JPEG is
// read from its header.
size_t WorkingBytes(const v1::Frame& frame);

// Converts RGB to grey in place, with the server's formula. Grey stays as it is.
void TurnGrey(Picture* picture);

// Moves the pixels of a picture into a frame.
v1::Frame FrameOfPicture(Picture picture);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_IMAGE_FILE_H_
