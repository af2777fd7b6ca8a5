// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/video_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

// A file descriptor whose reads end when the command is interrupted or `stop` is set.
struct Descriptor {
  int fd;
  std::string head;  // bytes that were read ahead
  StopFlag stop;
};

ssize_t ReadUnlessStopped(void* cookie, char* buffer, size_t size) {
  auto* from = static_cast<Descriptor*>(cookie);
  if (!from->head.empty()) {
    const size_t count = std::min(size, from->head.size());
    std::memcpy(buffer, from->head.data(), count);
    from->head.erase(0, count);
    return static_cast<ssize_t>(count);
  }
  while (AwaitReadable(from->fd, from->stop.get())) {
    const ssize_t count = read(from->fd, buffer, size);
    // Standard input may have been opened by another program, without waiting.
    if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
  }
  return 0;  // end of file
}

int CloseDescriptor(void* cookie) {
  const std::unique_ptr<Descriptor> from(static_cast<Descriptor*>(cookie));
  return close(from->fd);
}

// Reads the first bytes; fewer where the file is shorter.
absl::StatusOr<std::string> ReadHead(int fd, const StopFlag& stop) {
  std::string head(kVideoHeadBytes, '\0');
  size_t used = 0;
  while (used < head.size() && AwaitReadable(fd, stop.get())) {
    const ssize_t count = read(fd, head.data() + used, head.size() - used);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, "cannot be read");
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  head.resize(used);
  return head;
}

// Kind of a video that is not read; empty for all others.
std::string ForeignKind(absl::string_view head) {
  const auto has = [head](size_t at, absl::string_view bytes) {
    return head.size() >= at + bytes.size() && head.substr(at, bytes.size()) == bytes;
  };
  if (has(4, "ftyp") || has(4, "moov") || has(4, "mdat")) return "an MP4 or QuickTime video";
  if (has(0, "\x1A\x45\xDF\xA3")) return "a Matroska or WebM video";
  if (has(0, "RIFF") && has(8, "AVI ")) return "an AVI video";
  if (has(0, "OggS")) return "an Ogg video";
  if (has(0, "FLV")) return "a Flash video";
  if (has(0, absl::string_view("\0\0\1\xBA", 4))) return "an MPEG program stream";
  if (has(0, "G") && has(188, "G")) return "an MPEG transport stream";
  if (has(0, absl::string_view("\0\0\0\1", 4)) || has(0, absl::string_view("\0\0\1", 3))) {
    return "raw H.264, H.265 or MPEG video";
  }
  if (has(0, "GIF8")) return "a GIF";
  if (has(0, "RIFF") && has(8, "WEBP")) return "a WebP image";
  return std::string();
}

// `text` as one word of a shell.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace

absl::StatusOr<VideoFile> OpenVideoFile(const std::string& path) {
  VideoFile video;
  video.name = path == "-" ? "stdin" : path;
  video.stop = std::make_shared<std::atomic<bool>>(false);
  const int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path.c_str());
  absl::StatusOr<std::string> head = ReadHead(fd, video.stop);
  if (!head.ok()) {
    close(fd);
    return absl::Status(head.status().code(),
                        absl::StrCat(video.name, ": ", std::string(head.status().message())));
  }
  video.head = *std::move(head);
  auto from = std::make_unique<Descriptor>(Descriptor{fd, video.head, video.stop});
  const cookie_io_functions_t functions = {
      .read = ReadUnlessStopped, .write = nullptr, .seek = nullptr, .close = CloseDescriptor};
  video.file = fopencookie(from.get(), "rb", functions);
  if (video.file == nullptr) {
    close(fd);
    return absl::ErrnoToStatus(errno, video.name.c_str());
  }
  (void)from.release();  // the file owns it now
  return video;
}

absl::Status CannotBeRead(int error) {
  return absl::DataLossError(absl::StrCat("the video cannot be read any further: ",
                                          error != 0 ? std::strerror(error) : "a read failed"));
}

bool IsUrl(absl::string_view source) {
  const size_t colon = source.find("://");
  if (colon == absl::string_view::npos || colon == 0) return false;
  return std::all_of(source.begin(), source.begin() + colon,
                     [](char c) { return absl::ascii_isalnum(c) || c == '+' || c == '-'; });
}

absl::Status RefuseForeignVideo(const std::string& source, absl::string_view head, bool track) {
  const bool url = IsUrl(source);
  const std::string kind = url ? "a URL" : ForeignKind(head);
  if (kind.empty()) return absl::OkStatus();
  const std::string name = source == "-" ? "standard input" : source;
  // Without TCP, packets of a camera that get lost on Wi-Fi leave grey blocks in the frames.
  const char* const transport = absl::StartsWith(source, "rtsp://") ? "-rtsp_transport tcp " : "";
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", kind, ", which this program does not read; ffmpeg turns it into frames:\n  ",
      "ffmpeg -loglevel error ", transport, "-i ", Quoted(source),
      " -f yuv4mpegpipe -pix_fmt yuv420p - | orbserve stream ", track ? "--track " : "", "-"));
}

}  // namespace orbserve::cli
