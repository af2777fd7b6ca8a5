// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_FOLDER_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_FOLDER_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/images/frame_source.h"

namespace orbserve::cli {

// Timestamp in nanoseconds that the name of a file is: 19 digits in nanoseconds
// ("1403636579763555584.png"), or 10 digits of seconds with up to 9 of their fraction
// ("1305031102.175304.png"). No value for other names.
std::optional<int64_t> TimestampInName(absl::string_view path);

// Makes a source of image files, one frame each.
std::unique_ptr<FrameSource> MakeFolderSource(std::vector<InputFile> files,
                                              const PictureLimits& limits, bool keep_pictures);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_FOLDER_SOURCE_H_
