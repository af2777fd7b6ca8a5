// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/picture.h"
#include "client/cli/images/simulation/true_motion.h"
#include "features/algo/grey.h"
#include "orbserve/client.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Source of the frames of `orbserve stream`.
class FrameSource {
 public:
  struct Item {
    std::string name;  // relative path, or "000007" in a video
    absl::StatusOr<v1::Frame> frame;
    std::optional<Picture> picture;                            // if the source keeps pictures
    std::optional<int64_t> timestamp_ns;                       // of a camera, or the name of a file
    std::optional<client::FrameStream::CaptureTime> captured;  // of a camera with a steady clock
    uint32_t lost_before = 0;         // frames that a camera dropped since the item before
    std::optional<TrueMotion> truth;  // of a simulated camera
  };

  virtual ~FrameSource() = default;

  // Returns the next frame; no value at the end. A frame that cannot be read has its error as
  // `frame`.
  virtual std::optional<Item> Next() = 0;

  // Ends a video early, even while Next waits for a pipe or a camera. Callable from any thread.
  virtual void Stop() = 0;

  // The files that the frames come from, one per frame. Empty for a video.
  virtual absl::Span<const InputFile> files() const { return {}; }

  // Number of items; 0 if it is not known.
  virtual int64_t count() const { return static_cast<int64_t>(files().size()); }

  // Frame rate of the source in frames per second; 0 if it has none.
  virtual double fps() const { return 0; }

  // True for a camera, which sets the pace by itself.
  virtual bool live() const { return false; }

  // True for a simulated camera. With a frame rate it is a live source, too: its frames are
  // captured at their turns, whether they can be sent then or not. Other sources are recordings,
  // which wait.
  virtual bool simulated() const { return false; }
};

struct FrameSourceOptions {
  // Folder of images, image, Y4M or MJPEG file or named pipe, "-" for one of these two on standard
  // input, or a camera ("/dev/video0"). "" with `photo`.
  std::string source;
  std::string photo;  // photograph that a simulated camera flies over; "" = none
  // Destination of drawn pictures, a folder, as for ExpandInputs; "" = none.
  std::string picture_folder;
  bool keep_pictures = false;  // every item carries its picture to draw on
  int width_px = 0;            // of frames of cameras, real or simulated; 0, 0 = their own
  int height_px = 0;
  double fps = 0;                // rate of cameras; 0 = their own
  int64_t simulated_frames = 0;  // length of a simulated flight, from 1
  std::string camera_format;     // as CameraOptions::format
  GreyWindow camera_window;      // as CameraOptions::window
  bool track = false;            // the command keeps tracks: hints repeat --track
};

// Opens the source that `options` name. A video without frames gives one item, named after the
// video, with an error. Errors: as ExpandInputs, Y4mReader and CameraDevice; INVALID_ARGUMENT for a
// kind of source that is not read, with the ffmpeg command that helps; NOT_FOUND for an empty pipe.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenFrameSource(const FrameSourceOptions& options,
                                                             const PictureLimits& limits);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_FRAME_SOURCE_H_
