// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_STREAM_PICTURES_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_STREAM_PICTURES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Destination of the pictures of a stream: PNG files in a folder, or one video.
class StreamPictures {
 public:
  virtual ~StreamPictures() = default;

  // Writes the picture of the frame called `name`. Returns the path of the file that has it.
  virtual absl::StatusOr<std::string> Write(const std::string& name, const Picture& picture) = 0;

  // Completes the files. Called once, after the last picture.
  virtual absl::Status Finish() = 0;

  // `destination`: a folder, or a path for which IsVideo() is true. `fps`: of the video; 0 = 30.
  static std::unique_ptr<StreamPictures> Make(const std::string& destination, double fps);

  // True if `destination` ends in ".y4m", in any case.
  static bool IsVideo(const std::string& destination);
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_STREAM_PICTURES_H_
