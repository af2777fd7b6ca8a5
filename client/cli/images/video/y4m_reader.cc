// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/y4m_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/images/picture_size.h"
#include "client/cli/images/video/video_file.h"

namespace orbserve::cli {
namespace {

constexpr absl::string_view kMagic = "YUV4MPEG2";
constexpr absl::string_view kFrameMagic = "FRAME";
constexpr size_t kMaxLineBytes = 4096;
// Frame rates that are believed, in frames per second. Others would leave the range of timestamps.
constexpr double kLeastFps = 1e-3;
constexpr double kMaxFps = 1e5;

// Reads a line without its end; no value at the end of the file, or if the line is longer than
// kMaxLineBytes.
std::optional<std::string> ReadLine(FILE* file) {
  std::string line;
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) {
    if (c == '\n') return line;
    if (line.size() == kMaxLineBytes) return std::nullopt;
    line.push_back(static_cast<char>(c));
  }
  return std::nullopt;
}

// Skips `size` bytes by reading them, as a pipe cannot seek.
bool Skip(FILE* file, size_t size) {
  std::array<char, 1 << 16> sink;
  while (size > 0) {
    const size_t count = std::fread(sink.data(), 1, std::min(size, sink.size()), file);
    if (count == 0) return false;
    size -= count;
  }
  return true;
}

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the Y4M video is damaged: ", std::string(what)));
}

}  // namespace

bool Y4mReader::Recognises(absl::string_view bytes) { return absl::StartsWith(bytes, kMagic); }

absl::StatusOr<std::unique_ptr<Y4mReader>> Y4mReader::Create(FILE* file,
                                                             const PictureLimits& limits) {
  std::unique_ptr<Y4mReader> reader(new Y4mReader(file));
  const std::optional<std::string> line = ReadLine(file);
  if (!line.has_value() || !Recognises(*line)) {
    return absl::InvalidArgumentError("not a Y4M video: it must begin with YUV4MPEG2");
  }
  if (absl::Status status = reader->ParseHeader(*line, limits); !status.ok()) return status;
  return reader;
}

Y4mReader::~Y4mReader() {
  if (file_ != stdin) std::fclose(file_);
}

absl::Status Y4mReader::ParseHeader(absl::string_view line, const PictureLimits& limits) {
  int64_t width_px = 0;
  int64_t height_px = 0;
  std::string space = "420";
  for (const absl::string_view field : absl::StrSplit(line.substr(kMagic.size()), ' ')) {
    if (field.empty()) continue;
    const absl::string_view value = field.substr(1);
    switch (field[0]) {
      case 'W':
        if (!absl::SimpleAtoi(value, &width_px)) return Damaged("its width is not a number");
        break;
      case 'H':
        if (!absl::SimpleAtoi(value, &height_px)) return Damaged("its height is not a number");
        break;
      case 'C':
        space = std::string(value);
        break;
      case 'F': {
        const std::vector<std::string> rate = absl::StrSplit(value, ':');
        int64_t frames = 0;
        int64_t seconds = 0;
        if (rate.size() == 2 && absl::SimpleAtoi(rate[0], &frames) &&
            absl::SimpleAtoi(rate[1], &seconds) && frames > 0 && seconds > 0) {
          const double fps = static_cast<double>(frames) / static_cast<double>(seconds);
          if (fps >= kLeastFps && fps <= kMaxFps) fps_ = fps;
        }
        break;
      }
      default:
        break;  // interlacing, aspect ratio and extensions do not change the luma plane
    }
  }
  if (absl::Status status = CheckPictureSize(width_px, height_px, limits); !status.ok()) {
    return status;
  }
  width_px_ = static_cast<int>(width_px);
  height_px_ = static_cast<int>(height_px);
  const auto half = [](int64_t value) { return (value + 1) / 2; };
  int64_t chroma = -1;
  if (space == "mono") {
    chroma = 0;
  } else if (space == "420" || space == "420jpeg" || space == "420mpeg2" || space == "420paldv") {
    chroma = 2 * half(width_px) * half(height_px);
  } else if (space == "411") {
    chroma = 2 * ((width_px + 3) / 4) * height_px;
  } else if (space == "422") {
    chroma = 2 * half(width_px) * height_px;
  } else if (space == "444") {
    chroma = 2 * width_px * height_px;
  }
  if (chroma < 0) {
    return absl::UnimplementedError(
        absl::StrCat("Y4M videos of colour space ", space,
                     " are not read; 8-bit 420, 411, 422, 444 and mono are"));
  }
  chroma_bytes_ = static_cast<size_t>(chroma);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Picture>> Y4mReader::Next() {
  errno = 0;
  const int first = std::getc(file_);
  if (first == EOF && std::ferror(file_) != 0) return CannotBeRead(errno);
  if (first == EOF) return std::optional<Picture>();
  std::ungetc(first, file_);
  const std::optional<std::string> line = ReadLine(file_);
  if (std::ferror(file_) != 0) return CannotBeRead(errno);
  if (!line.has_value() || !absl::StartsWith(*line, kFrameMagic)) {
    return Damaged("a frame does not begin with FRAME");
  }
  Picture picture{.width_px = width_px_, .height_px = height_px_, .channels = 1};
  picture.pixels.resize(picture.row_bytes() * height_px_);
  if (std::fread(picture.pixels.data(), 1, picture.pixels.size(), file_) != picture.pixels.size() ||
      !Skip(file_, chroma_bytes_)) {
    if (std::ferror(file_) != 0) return CannotBeRead(errno);
    return Damaged("it ends inside a frame");
  }
  return std::optional<Picture>(std::move(picture));
}

}  // namespace orbserve::cli
