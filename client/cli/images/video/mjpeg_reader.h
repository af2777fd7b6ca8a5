// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_MJPEG_READER_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_MJPEG_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve::cli {

// Cuts a sequence of JPEG files apart: Motion JPEG as cameras and ffmpeg write it, or the body of
// an HTTP answer of the type multipart/x-mixed-replace. The structure of every JPEG is followed
// from segment to segment, so that a thumbnail inside a segment is no frame. Pixels are not
// decoded.
//
// Between frames, lines of text (multipart headers) and padding with 0 and 255 are skipped. Other
// bytes there are reported, because they may be the rest of a frame.
class MjpegReader {
 public:
  // Reads from `file` and takes ownership of it.
  explicit MjpegReader(FILE* file) : file_(file) {}
  ~MjpegReader();
  MjpegReader(const MjpegReader&) = delete;
  MjpegReader& operator=(const MjpegReader&) = delete;

  // True if `bytes` begin like such a sequence: with a JPEG or a multipart boundary.
  static bool Recognises(absl::string_view bytes);

  // Returns the next JPEG; no value at the end of the file. INVALID_ARGUMENT: a frame is cut off or
  // damaged, or bytes belong to no frame. Reading goes on behind the damage: the next call returns
  // the next frame. DATA_LOSS: as CannotBeRead(), and no frame follows.
  absl::StatusOr<std::optional<std::string>> Next();

  // Number of frames that have begun so far, broken ones included.
  int64_t begun() const { return begun_; }
  // Number of bytes looked at so far, those that were looked at again included. It is bounded by a
  // small multiple of the bytes of the file, whatever they are.
  int64_t looked_at() const { return looked_at_; }

 private:
  // Next byte, which is kept until the search for the next frame has passed it; -1 at the end of
  // the file.
  int Read();
  // Passes over `count` bytes, or up to the end of the file. False: it has ended before.
  bool Skip(size_t count);
  // Bytes of the current frame so far.
  size_t frame_size() const { return at_ - frame_; }
  // Skips to behind the next start of a JPEG. False: the file has ended. Counts in `strange_` the
  // bytes that are neither text nor padding.
  bool FindStart();
  // Reads the frame whose start was found.
  absl::Status ReadFrame();
  // Reads a marker, its first byte included; -1 at the end of the file, 0 if the bytes are none.
  int ReadMarker();
  // Reads the length and the content of a segment.
  absl::Status ReadSegment(int marker);
  // Reads the entropy-coded data of a scan and the marker behind it, which it returns; -1 at the
  // end.
  int ReadScan();
  absl::Status CutOff() const;

  FILE* const file_;
  std::string bytes_;  // of the file, from the start of the current frame on or before it
  size_t frame_ = 0;   // place of the current frame in `bytes_`
  size_t at_ = 0;      // place of the next byte; at the end of `bytes_` the file goes on
  size_t resume_ = 0;  // size of the frame from which the next one is searched after an error
  int64_t taken_ = 0;  // bytes that came from the file
  int64_t looked_at_ = 0;
  int64_t looked_again_ = 0;  // bytes of frames that were given up for one inside them
  size_t strange_ = 0;        // bytes before the next frame that belong to none
  int64_t begun_ = 0;
  std::optional<int> read_error_;  // errno of a read that has failed, until it is returned
  bool at_end_ = false;            // of the file, or of what can be read of it
  bool at_start_ = false;          // the start of a frame was read
  bool after_error_ = false;       // the frame before was broken
};

// True if `jpeg` is a photograph that says of itself that further pictures follow in its file
// (CIPA DC-007, multi-picture format): previews, not frames of a video.
bool HasPreviews(absl::string_view jpeg);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_MJPEG_READER_H_
