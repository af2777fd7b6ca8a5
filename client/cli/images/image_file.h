// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Image files as frames for the service and as pictures to draw on. The first bytes decide what a
// file is; its name does not matter.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_IMAGE_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_IMAGE_FILE_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/images/picture.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Reads a file, or what comes out of a pipe, whole. NOT_FOUND, PERMISSION_DENIED; INVALID_ARGUMENT:
// a folder, empty, or larger than any image that is accepted; CANCELLED: interrupted, or `stop`
// (may be null) set, while it waited for a pipe.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     const std::atomic<bool>* stop = nullptr);

// Writes `bytes` beside `path` and renames, so that `path` is never half a file, but after a power
// failure: to wait for the disk would take longer than to make many an output (ResumeLog knows its
// length). Makes the folders it is in.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

// The image in `path`, for sending: a JPEG as it is, PNG and PNM decoded to grey, by the
// fixed-point formula that the server has for colour. `stop`: as ReadFile.
absl::StatusOr<v1::Frame> LoadFrame(const std::string& path, const PictureLimits& limits,
                                    const std::atomic<bool>* stop = nullptr);

// The image in `path`, to draw on; JPEG in colour, EXIF rotation ignored as the server does. It has
// been read before to be sent: INVALID_ARGUMENT for a pipe, which has nothing left.
absl::StatusOr<Picture> LoadPicture(const std::string& path, const PictureLimits& limits);

// The mask in `path`, PNG or PNM: a pixel is kept where any channel is not 0.
absl::StatusOr<v1::Mask> LoadMask(const std::string& path, const PictureLimits& limits);

// Bytes that a frame takes at most on its way: as it is sent, or decoded to grey. A JPEG is asked
// for its size and not decoded.
size_t WorkingBytes(const v1::Frame& frame);

// The pixels of a picture as a frame.
v1::Frame FrameOfPicture(Picture picture);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_IMAGE_FILE_H_
