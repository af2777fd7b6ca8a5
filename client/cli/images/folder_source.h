// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_FOLDER_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_FOLDER_SOURCE_H_

#include <memory>
#include <vector>

#include "client/cli/images/frame_source.h"

namespace orbserve::cli {

// Makes a source of image files, one frame each.
std::unique_ptr<FrameSource> MakeFolderSource(std::vector<InputFile> files,
                                              const PictureLimits& limits, bool keep_pictures);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_FOLDER_SOURCE_H_
