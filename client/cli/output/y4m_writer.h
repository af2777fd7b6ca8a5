// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_Y4M_WRITER_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_Y4M_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "client/cli/images/picture.h"

namespace orbserve::cli {

// Writes a YUV4MPEG2 video: 4:4:4, 8 bits, BT.601 in its limited range, which players expect. The
// file is written beside its place and renamed by Finish().
class Y4mWriter {
 public:
  // `fps`: frames per second; 0 = 30.
  Y4mWriter(std::string path, double fps);
  // Removes an unfinished file.
  ~Y4mWriter();
  Y4mWriter(const Y4mWriter&) = delete;
  Y4mWriter& operator=(const Y4mWriter&) = delete;

  // Adds a picture. INVALID_ARGUMENT: its size is not that of the first one; other errors: it
  // cannot be written, and then no further one is.
  absl::Status Add(const Picture& picture);

  // Puts the file in its place, with the pictures that were added. Without pictures there is none.
  absl::Status Finish();

 private:
  absl::Status Begin(const Picture& picture);
  absl::Status Write(const Picture& picture);
  absl::Status Failed() const;

  const std::string path_;
  const std::string beside_;  // the file while it is written
  const double fps_;
  FILE* file_ = nullptr;
  absl::Status status_;      // of the writes so far
  int64_t whole_bytes_ = 0;  // length of the file with its last whole picture; 0 = none
  int width_px_ = 0;
  int height_px_ = 0;
  std::string planes_;  // of the current picture
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_Y4M_WRITER_H_
