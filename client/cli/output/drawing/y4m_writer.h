// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_Y4M_WRITER_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_Y4M_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/cli/images/picture.h"
#include "client/cli/output/new_file.h"

namespace orbserve::cli {

// Writes a YUV4MPEG2 video: 4:4:4, 8 bits, BT.601 in its limited range, which players expect. The
// file is seen under its name when Finish() has put it there.
class Y4mWriter {
 public:
  // `fps`: frames per second; 0 = 30.
  Y4mWriter(std::string path, double fps);

  // Adds a picture. INVALID_ARGUMENT: its size is not that of the first one; other errors: it
  // cannot be written, and then no further one is.
  absl::Status Add(const Picture& picture);

  // Puts the file in its place, with the pictures that were added. Without pictures there is none.
  absl::Status Finish();

 private:
  absl::Status Begin(const Picture& picture);
  absl::Status Write(const Picture& picture);

  const std::string path_;
  const double fps_;
  std::unique_ptr<NewFile> file_;
  absl::Status status_;        // of the writes so far
  int64_t written_bytes_ = 0;  // of the header and of whole pictures
  bool has_picture_ = false;
  int width_px_ = 0;
  int height_px_ = 0;
  std::string frame_;  // the current picture as it is written
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_Y4M_WRITER_H_
