// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/images/picture.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Where the frames of `orbserve stream` come from.
class FrameSource {
 public:
  struct Item {
    std::string name;  // relative path, or "000007" in a video
    absl::StatusOr<v1::Frame> frame;
    std::optional<Picture> picture;  // when pictures are kept
  };

  virtual ~FrameSource() = default;

  // The next frame; no value at the end. A frame that cannot be read has its error as `frame`.
  virtual std::optional<Item> Next() = 0;

  // Ends a video here, also while Next waits for more of a pipe. From any thread.
  virtual void Stop() = 0;

  // Number of frames, 0 when it is not known.
  virtual int64_t count() const = 0;
  // Frames a second that the source itself has, 0 when it has none.
  virtual double fps() const = 0;
};

// The source that `source` names: a folder of images, an image, a Y4M file, or "-" for Y4M on
// standard input. `keep_pictures`: every item has its picture, to draw on. `picture_folder`: as
// ExpandInputs has it.
// A video without frames gives one item, of its own name, with an error.
// Errors: as ExpandInputs, CheckNoInputReplaced and Y4mReader; UNIMPLEMENTED for cameras.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenFrameSource(const std::string& source,
                                                             const PictureLimits& limits,
                                                             bool keep_pictures,
                                                             const std::string& picture_folder);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_
