// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/picture.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Source of the frames of `orbserve stream`.
class FrameSource {
 public:
  struct Item {
    std::string name;  // relative path, or "000007" in a video
    absl::StatusOr<v1::Frame> frame;
    std::optional<Picture> picture;  // if the source keeps pictures
  };

  virtual ~FrameSource() = default;

  // Returns the next frame; no value at the end. A frame that cannot be read has its error as
  // `frame`.
  virtual std::optional<Item> Next() = 0;

  // Ends a video early, even while Next waits for a pipe. Callable from any thread.
  virtual void Stop() = 0;

  // The files that the frames come from, one per frame. Empty for a video, whose number of frames
  // is not known.
  virtual absl::Span<const InputFile> files() const = 0;

  // Frame rate of the source in frames per second; 0 if it has none.
  virtual double fps() const = 0;
};

// Opens the source called `source`: a folder of images, an image, a Y4M file, or "-" for Y4M on
// standard input. `picture_folder`: destination of drawn pictures, as for ExpandInputs. If it is
// not empty, every item carries its picture to draw on.
// A video without frames gives one item, named after the video, with an error.
// Errors: as ExpandInputs and Y4mReader; UNIMPLEMENTED for cameras.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenFrameSource(const std::string& source,
                                                             const PictureLimits& limits,
                                                             const std::string& picture_folder);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_
