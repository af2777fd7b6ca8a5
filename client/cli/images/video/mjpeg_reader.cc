// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/mjpeg_reader.h"

#include <algorithm>
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
// Bytes before the search that may be kept.
constexpr size_t kKeptBytes = 1 << 16;
// Bytes of frames that may be looked at again, beside as many as the file has.
constexpr int64_t kFreelyLookedAgain = 1 << 16;

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
  if (at_ == bytes_.size()) {
    if (at_end_) return kEndOfFile;
    const int byte = getc_unlocked(file_);  // no other thread has the file
    if (byte < 0) {
      at_end_ = true;
      if (std::ferror(file_) != 0) read_error_ = errno;
      return kEndOfFile;
    }
    bytes_.push_back(static_cast<char>(byte));
    ++taken_;
  }
  ++looked_at_;
  return static_cast<uint8_t>(bytes_[at_++]);
}

bool MjpegReader::Skip(size_t count) {
  const size_t known = std::min(count, bytes_.size() - at_);
  at_ += known;
  if (known == count) return true;
  if (at_end_) return false;
  const size_t missing = count - known;
  bytes_.resize(at_ + missing);
  const size_t read = std::fread(bytes_.data() + at_, 1, missing, file_);
  bytes_.resize(at_ + read);
  at_ += read;
  taken_ += static_cast<int64_t>(read);
  if (read == missing) return true;
  at_end_ = true;
  if (std::ferror(file_) != 0) read_error_ = errno;
  return false;
}

bool MjpegReader::FindStart() {
  // Bytes before the one just read that may belong to a start: 255, or 255 and 216.
  int matched = 0;
  for (int byte = Read(); byte >= 0; byte = Read()) {
    if (matched == 2 && byte == kFill) {
      --at_;  // the first byte of the next marker
      frame_ = at_ - 2;
      return true;
    }
    // Bytes in front of the search are not needed again. Moving the others costs no more than there
    // were of these.
    if (at_ > kKeptBytes && at_ > bytes_.size() / 2) {
      bytes_.erase(0, at_ - 2);
      at_ = 2;
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
  resume_ = frame_size();
  if (absl::Status status = ReadFrame(); !status.ok()) {
    // Bytes that were taken for a part of this frame may hold the next one.
    at_ = frame_ + resume_;
    after_error_ = true;
    return status;
  }
  return std::optional<std::string>(bytes_.substr(frame_, frame_size()));
}

// Source: ITU-T T.81, annex B.1 and B.2.
absl::Status MjpegReader::ReadFrame() {
  bool has_scan = false;
  size_t frame_header = 0;  // place of the content of the frame header; 0 = none yet
  for (int marker = ReadMarker(); marker != kEnd;) {
    if (frame_size() > kMaxFrameBytes) {
      resume_ = frame_size();
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG does not end within ", kMaxFrameBytes, " bytes"));
    }
    if (marker == kEndOfFile) return CutOff();
    if (marker == kStart) {
      resume_ = frame_size() - 2;
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG is cut off: another one begins after ", resume_, " bytes"));
    }
    if (!HasSegment(marker)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG is damaged: no segment begins at its byte ", frame_size() - 1));
    }
    if (IsFrameHeader(marker) && frame_header > 0) {
      // A segment that is cut off has taken the start of the next frame for its content. A file in
      // which this happens without end is not read again and again.
      const size_t size = frame_size();
      looked_again_ += static_cast<int64_t>(size - frame_header);
      resume_ = looked_again_ <= taken_ + kFreelyLookedAgain ? frame_header : size - 2;
      return absl::InvalidArgumentError(
          absl::StrCat("the JPEG is cut off: another frame header begins at its byte ", size - 2));
    }
    if (IsFrameHeader(marker)) frame_header = frame_size();
    if (absl::Status segment = ReadSegment(marker); !segment.ok()) return segment;
    has_scan |= marker == kScan;
    marker = marker == kScan ? ReadScan() : ReadMarker();
  }
  resume_ = frame_size();
  if (!has_scan) return absl::InvalidArgumentError("the JPEG is damaged: it ends without pixels");
  return absl::OkStatus();
}

int MjpegReader::ReadMarker() {
  // A marker here confirms the length of the segment before it. Otherwise the search for the next
  // frame begins inside that segment, which may be cut off.
  const int first = Read();
  if (first == kEndOfFile) return kEndOfFile;
  if (first != kFill) return kNoMarker;
  int byte = kFill;
  while (byte == kFill) byte = Read();
  return byte;
}

absl::Status MjpegReader::ReadSegment(int marker) {
  resume_ = frame_size();
  const int high = Read();
  const int low = Read();
  if (high < 0 || low < 0) return CutOff();
  const int length = high << 8 | low;
  if (length < 2) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the JPEG is damaged: its segment %02X has a length of %d", marker, length));
  }
  return Skip(static_cast<size_t>(length - 2)) ? absl::OkStatus() : CutOff();
}

int MjpegReader::ReadScan() {
  for (;;) {
    int byte = Read();
    while (byte >= 0 && byte != kFill && frame_size() <= kMaxFrameBytes) byte = Read();
    while (byte == kFill) byte = Read();
    if (byte < 0 || frame_size() > kMaxFrameBytes) {
      resume_ = frame_size();
      return kEndOfFile;
    }
    // 255 followed by 0 is a data byte of 255. Restart markers are a part of the data.
    if (byte != 0 && (byte < kRestart0 || byte > kRestart7)) {
      resume_ = frame_size();
      return byte;
    }
  }
}

absl::Status MjpegReader::CutOff() const {
  return absl::InvalidArgumentError(
      absl::StrCat("the JPEG is cut off: the video ends after ", frame_size(), " bytes of it"));
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
