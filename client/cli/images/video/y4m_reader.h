// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_Y4M_READER_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_Y4M_READER_H_

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Reads the luma planes of YUV4MPEG2, the raw video format of mjpegtools that many programs write
// into pipes. 8 bits; 4:2:0, 4:1:1, 4:2:2, 4:4:4 and mono.
class Y4mReader {
 public:
  // Reads the header from `file` and takes ownership of it; standard input is not closed.
  // INVALID_ARGUMENT; UNIMPLEMENTED for more than 8 bits and other colour spaces.
  static absl::StatusOr<std::unique_ptr<Y4mReader>> Create(FILE* file, const PictureLimits& limits);

  // True if `bytes` begin like such a file.
  static bool Recognises(absl::string_view bytes);

  ~Y4mReader();
  Y4mReader(const Y4mReader&) = delete;
  Y4mReader& operator=(const Y4mReader&) = delete;

  // Frames per second according to the header; 0 if it has no rate, or one that cannot be meant.
  double fps() const { return fps_; }

  // Returns the next frame as a grey picture; no value at the end. INVALID_ARGUMENT: damaged, or
  // the video ends inside a frame. DATA_LOSS: as CannotBeRead().
  absl::StatusOr<std::optional<Picture>> Next();

 private:
  explicit Y4mReader(FILE* file) : file_(file) {}

  absl::Status ParseHeader(absl::string_view line, const PictureLimits& limits);

  FILE* const file_;
  int width_px_ = 0;
  int height_px_ = 0;
  double fps_ = 0;
  size_t chroma_bytes_ = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_Y4M_READER_H_
