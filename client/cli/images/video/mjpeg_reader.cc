// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/mjpeg_reader.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/images/video/video_file.h"

namespace orbserve::cli {
namespace {

// Markers of ITU-T T.81, table B.1, without their first byte 255.
constexpr int kRestart0 = 0xD0;
constexpr int kRestart7 = 0xD7;
constexpr int kStart = 0xD8;  // SOI
constexpr int kEnd = 0xD9;    // EOI
constexpr int kScan = 0xDA;   // SOS
constexpr int kApp2 = 0xE2;
constexpr int kFill = 0xFF;
constexpr int kEndOfFile = -1;
constexpr int kNoMarker = 0;

// Larger than every frame that fits into a message. Bytes that never end a frame end here.
constexpr size_t kMaxFrameBytes = 128 << 20;

// Segments that a JPEG may have: frame headers, tables, applications, comments.
bool HasSegment(int marker) {
  return (marker >= 0xC0 && marker <= 0xCF) || (marker >= kScan && marker <= 0xFE);
}

// Frame headers, of which a JPEG has one (all kinds of SOF).
bool IsFrameHeader(int marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

bool IsTextOrPadding(int byte) {
  return (byte >= 0x20 && byte < 0x7F) || byte == '\r' || byte == '\n' || byte == '\t' ||
         byte == 0 || byte == kFill;
}

}  // namespace

MjpegReader::~MjpegReader() { std::fclose(file_); }

bool MjpegReader::Recognises(absl::string_view bytes) {
  return absl::StartsWith(bytes, "\xFF\xD8\xFF") || absl::StartsWith(bytes, "--") ||
         absl::StartsWith(bytes, "\r\n--");
}

int MjpegReader::Read() {
  if (again_at_ < again_.size()) return static_cast<uint8_t>(again_[again_at_++]);
  if (at_end_) return kEndOfFile;
  const int byte = getc_unlocked(file_);  // no other thread has the file
  if (byte >= 0) return byte;
  at_end_ = true;
  if (std::ferror(file_) != 0) read_error_ = errno;
  return kEndOfFile;
}

int MjpegReader::ReadIntoFrame() {
  const int byte = Read();
  if (byte >= 0) frame_.push_back(static_cast<char>(byte));
  return byte;
}

bool MjpegReader::FindStart() {
  // Bytes before the one just read that may belong to a start: 255, or 255 and 216.
  int matched = 0;
  for (int byte = Read(); byte >= 0; byte = Read()) {
    if (matched == 2 && byte == kFill) {
      // The byte is the first one of the next marker.
      again_.replace(0, again_at_, 1, static_cast<char>(byte));
      again_at_ = 0;
      return true;
    }
    if (matched == 2) strange_ += 2;
    if (byte == kFill) {
      matched = 1;
    } else if (matched == 1 && byte == kStart) {
      matched = 2;
    } else {
      matched = 0;
      if (!IsTextOrPadding(byte)) ++strange_;
    }
  }
  if (matched == 2) strange_ += 2;
  return false;
}

absl::StatusOr<std::optional<std::string>> MjpegReader::Next() {
  if (!at_start_) {
    at_start_ = FindStart();
    const size_t strange = std::exchange(strange_, 0);
    // The rest of a broken frame is no further error.
    if (!std::exchange(after_error_, false) && strange > 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          strange, " bytes ", at_start_ ? "in front of the next JPEG" : "at the end of the video",
          " belong to none"));
    }
    if (!at_start_ && read_error_.has_value()) {
      return CannotBeRead(*std::exchange(read_error_, std::nullopt));
    }
    if (!at_start_) return std::optional<std::string>();
  }
  at_start_ = false;
  ++begun_;
  frame_.assign("\xFF\xD8");
  resume_ = frame_.size();
  if (absl::Status status = ReadFrame(); !status.ok()) {
    // Bytes that were taken for a part of this frame may hold the next one.
    again_.replace(0, again_at_, frame_, resume_, std::string::npos);
    again_at_ = 0;
    after_error_ = true;
    return status;
  }
  return std::optional<std::string>(std::move(frame_));
}

// Source: ITU-T T.81, annex B.1 and B.2.
absl::Status MjpegReader::ReadFrame() {
  bool has_scan = false;
  size_t frame_header = 0;  // place of the content of the frame header; 0 = none yet
  for (int marker = ReadMarker(); marker != kEnd;) {
    if (frame_.size() > kMaxFrameBytes) {
      resume_ = frame_.size();
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG does not end within ", kMaxFrameBytes, " bytes"));
    }
    if (marker == kEndOfFile) return CutOff();
    if (marker == kStart) {
      resume_ = frame_.size() - 2;
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG is cut off: another one begins after ", resume_, " bytes"));
    }
    if (!HasSegment(marker)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG is damaged: no segment begins at its byte ", frame_.size() - 1));
    }
    if (IsFrameHeader(marker) && frame_header > 0) {
      // A segment that is cut off has taken the start of the next frame for its content.
      resume_ = frame_header;
      return absl::InvalidArgumentError(absl::StrCat(
          "the JPEG is cut off: another frame header begins at its byte ", frame_.size() - 2));
    }
    if (IsFrameHeader(marker)) frame_header = frame_.size();
    if (absl::Status segment = ReadSegment(marker); !segment.ok()) return segment;
    has_scan |= marker == kScan;
    marker = marker == kScan ? ReadScan() : ReadMarker();
  }
  resume_ = frame_.size();
  if (!has_scan) return absl::InvalidArgumentError("the JPEG is damaged: it ends without pixels");
  return absl::OkStatus();
}

int MjpegReader::ReadMarker() {
  // A marker here confirms the length of the segment before it. Otherwise the search for the next
  // frame begins inside that segment, which may be cut off.
  const int first = ReadIntoFrame();
  if (first == kEndOfFile) return kEndOfFile;
  if (first != kFill) return kNoMarker;
  int byte = kFill;
  while (byte == kFill) byte = ReadIntoFrame();
  return byte;
}

absl::Status MjpegReader::ReadSegment(int marker) {
  resume_ = frame_.size();
  const int high = ReadIntoFrame();
  const int low = ReadIntoFrame();
  if (high < 0 || low < 0) return CutOff();
  const int length = high << 8 | low;
  if (length < 2) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the JPEG is damaged: its segment %02X has a length of %d", marker, length));
  }
  for (int i = 2; i < length; ++i) {
    if (ReadIntoFrame() < 0) return CutOff();
  }
  return absl::OkStatus();
}

int MjpegReader::ReadScan() {
  for (;;) {
    int byte = ReadIntoFrame();
    while (byte >= 0 && byte != kFill && frame_.size() <= kMaxFrameBytes) byte = ReadIntoFrame();
    while (byte == kFill) byte = ReadIntoFrame();
    if (byte < 0 || frame_.size() > kMaxFrameBytes) {
      resume_ = frame_.size();
      return kEndOfFile;
    }
    // 255 followed by 0 is a data byte of 255. Restart markers are a part of the data.
    if (byte != 0 && (byte < kRestart0 || byte > kRestart7)) {
      resume_ = frame_.size();
      return byte;
    }
  }
}

absl::Status MjpegReader::CutOff() const {
  return absl::InvalidArgumentError(
      absl::StrCat("the JPEG is cut off: the video ends after ", frame_.size(), " bytes of it"));
}

bool HasPreviews(absl::string_view jpeg) {
  const auto byte = [jpeg](size_t at) { return static_cast<uint8_t>(jpeg[at]); };
  constexpr absl::string_view kName("MPF\0", 4);
  for (size_t at = 2; at + 4 <= jpeg.size() && byte(at) == kFill;) {
    const int marker = byte(at + 1);
    if (marker == kFill) {
      ++at;
      continue;
    }
    if (!HasSegment(marker) || marker == kScan) return false;
    if (marker == kApp2 && absl::StartsWith(jpeg.substr(at + 4), kName)) return true;
    at += 2 + (static_cast<size_t>(byte(at + 2)) << 8 | byte(at + 3));
  }
  return false;
}

}  // namespace orbserve::cli
