// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/frame_source.h"

#include <sys/stat.h>

#include <cstdio>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/images/camera/camera_source.h"
#include "client/cli/images/folder_source.h"
#include "client/cli/images/simulation/simulated_source.h"
#include "client/cli/images/video/mjpeg_reader.h"
#include "client/cli/images/video/mjpeg_source.h"
#include "client/cli/images/video/video_file.h"
#include "client/cli/images/video/y4m_reader.h"
#include "client/cli/images/video/y4m_source.h"

namespace orbserve::cli {
namespace {

bool IsPipe(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

// First bytes of a regular file; empty if it is none or cannot be read.
std::string HeadOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::string();
  FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return std::string();
  std::string head(kVideoHeadBytes, '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file));
  std::fclose(file);
  return head;
}

// Opens a file, a pipe or standard input that holds a video, or nothing that is known.
absl::StatusOr<std::unique_ptr<FrameSource>> OpenVideo(const FrameSourceOptions& options,
                                                       const PictureLimits& limits) {
  absl::StatusOr<VideoFile> video = OpenVideoFile(options.source);
  if (!video.ok()) return video.status();
  if (Y4mReader::Recognises(video->head)) {
    return MakeY4mSource(*std::move(video), limits, options.keep_pictures);
  }
  if (MjpegReader::Recognises(video->head)) {
    return MakeMjpegSource(*std::move(video), limits, options.keep_pictures);
  }
  std::fclose(video->file);
  // The program that feeds a pipe has failed: the usage of this one is not wrong.
  if (video->head.empty()) {
    return absl::NotFoundError(absl::StrCat(video->name, ": the video has no frames: it is empty"));
  }
  if (absl::Status foreign = RefuseForeignVideo(options.source, video->head, options.track);
      !foreign.ok()) {
    return foreign;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      video->name, ": not a video that is read: it begins neither like Y4M nor like MJPEG"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenFrameSource(const FrameSourceOptions& options,
                                                             const PictureLimits& limits) {
  const std::string& source = options.source;
  if (!options.photo.empty()) return MakeSimulatedSource(options, limits);
  if (IsCamera(source)) {
    return MakeCameraSource(source,
                            {.width_px = options.width_px,
                             .height_px = options.height_px,
                             .fps = options.fps,
                             .format = options.camera_format,
                             .window = options.camera_window},
                            limits, options.keep_pictures, CameraCalls::System());
  }
  if (IsUrl(source)) return RefuseForeignVideo(source, "", options.track);
  if (source == "-" || IsPipe(source)) return OpenVideo(options, limits);
  const std::string head = HeadOf(source);
  if (absl::Status foreign = RefuseForeignVideo(source, head, options.track); !foreign.ok()) {
    return foreign;
  }
  if (Y4mReader::Recognises(head) ||
      (MjpegReader::Recognises(head) && (head[0] == '-' || HoldsManyJpegs(source)))) {
    return OpenVideo(options, limits);
  }
  std::istringstream no_names;
  absl::StatusOr<std::vector<InputFile>> files =
      ExpandInputs({source}, no_names, options.picture_folder);
  if (!files.ok()) return files.status();
  return MakeFolderSource(*std::move(files), limits, options.keep_pictures);
}

}  // namespace orbserve::cli
