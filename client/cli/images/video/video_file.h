// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Files, pipes and standard input that a video is read from, and what their first bytes say.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_VIDEO_FILE_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_VIDEO_FILE_H_

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve::cli {

// Set when reading shall end; shared with the file that is being read.
using StopFlag = std::shared_ptr<std::atomic<bool>>;

// A video that was opened. Its reads end, as at the end of a file, when the command is interrupted
// or `stop` is set, even while a pipe is quiet.
struct VideoFile {
  std::string name;      // "stdin", or the path
  std::string head;      // first bytes, up to kVideoHeadBytes; they are read from `file` again
  FILE* file = nullptr;  // the holder of this struct closes it
  StopFlag stop;
};

inline constexpr size_t kVideoHeadBytes = 192;

// Opens the file or named pipe at `path`; "-" is standard input. Waits for the first bytes of a
// pipe. Errors of opening: as open().
absl::StatusOr<VideoFile> OpenVideoFile(const std::string& path);

// Error for a video of which a read has failed; a program must not take that for its end. `error`:
// errno of the read, 0 = not known.
absl::Status CannotBeRead(int error);

// Error for a source that is not read, with the command line of ffmpeg that turns it into one that
// is; OK for a source that is none of the known kinds. `source`: path, URL, or "-". `head`: its
// first bytes, empty for a URL. `track`: the line of the program has --track, too.
absl::Status RefuseForeignVideo(const std::string& source, absl::string_view head, bool track);

// True if `source` is the URL of a video ("rtsp://...").
bool IsUrl(absl::string_view source);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_VIDEO_VIDEO_FILE_H_
