// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/pnm_file.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/images/picture_size.h"

namespace orbserve::cli {
namespace {

constexpr int64_t kLargestNumber = 1'000'000'000;

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

// Reads the decimal numbers of header and plain formats. `#` begins a comment that ends with its
// line.
class Tokens {
 public:
  Tokens(const std::string& bytes, size_t position) : bytes_(bytes), position_(position) {}

  size_t position() const { return position_; }

  // Returns the next number; -1 if there is none or it is above kLargestNumber.
  int64_t Next() {
    SkipSpace();
    int64_t value = -1;
    while (position_ < bytes_.size() && bytes_[position_] >= '0' && bytes_[position_] <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (bytes_[position_++] - '0');
      if (value > kLargestNumber) return -1;
    }
    return value;
  }

  // Skips the single white space between header and binary pixels; false if it is missing.
  bool SkipOneSpace() {
    return position_ < bytes_.size() && IsSpace(bytes_[position_]) && (++position_, true);
  }

 private:
  void SkipSpace() {
    while (position_ < bytes_.size()) {
      if (bytes_[position_] == '#') {
        while (position_ < bytes_.size() && bytes_[position_] != '\n') ++position_;
      } else if (IsSpace(bytes_[position_])) {
        ++position_;
      } else {
        return;
      }
    }
  }

  const std::string& bytes_;
  size_t position_;
};

// Scales values 0..`largest` to 0..255; false if a value is above `largest`.
bool Stretch(int largest, std::string* pixels) {
  std::array<uint8_t, 256> table{};
  for (int value = 0; value <= largest; ++value) {
    table[value] = static_cast<uint8_t>((value * 255 + largest / 2) / largest);
  }
  for (char& pixel : *pixels) {
    const auto value = static_cast<uint8_t>(pixel);
    if (value > largest) return false;
    pixel = static_cast<char>(table[value]);
  }
  return true;
}

}  // namespace

absl::StatusOr<Picture> DecodePnm(std::string bytes, const PictureLimits& limits) {
  if (bytes.size() < 2 || bytes[0] != 'P') {
    return absl::InvalidArgumentError("not a PGM or PPM file");
  }
  const char kind = bytes[1];
  if (kind == '1' || kind == '4' || kind == '7') {
    return absl::UnimplementedError(absl::StrCat(
        "P", std::string(1, kind), " files (bitmaps and PAM) are not read; convert to PGM or PPM"));
  }
  if (kind != '2' && kind != '3' && kind != '5' && kind != '6') {
    return absl::InvalidArgumentError("not a PGM or PPM file");
  }

  Tokens tokens(bytes, 2);
  const int64_t width_px = tokens.Next();
  const int64_t height_px = tokens.Next();
  const int64_t largest = tokens.Next();
  if (width_px < 0 || height_px < 0 || largest < 0) {
    return absl::InvalidArgumentError(
        "the PNM header must give width, height and largest value as decimal numbers");
  }
  if (const absl::Status size = CheckPictureSize(width_px, height_px, limits); !size.ok()) {
    return size;
  }
  if (largest == 0 || largest > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("the largest value of a PNM file must be in [1, 65535]; got ", largest));
  }
  if (largest > 255) {
    return absl::UnimplementedError(absl::StrCat(
        "16-bit PNM files are not read: the largest value must be at most 255; got ", largest));
  }

  Picture picture;
  picture.width_px = static_cast<int>(width_px);
  picture.height_px = static_cast<int>(height_px);
  picture.channels = kind == '3' || kind == '6' ? 3 : 1;
  const size_t size = picture.row_bytes() * picture.height_px;
  if (kind == '5' || kind == '6') {
    if (!tokens.SkipOneSpace() || bytes.size() - tokens.position() < size) {
      return absl::InvalidArgumentError(
          absl::StrCat("the PNM file ends early: ", width_px, " x ", height_px, " needs ", size,
                       " bytes of pixels, ", bytes.size() - tokens.position(), " are there"));
    }
    // The pixels move to the front of their own buffer.
    bytes.erase(0, tokens.position());
    bytes.resize(size);
    picture.pixels = std::move(bytes);
    if (largest != 255 && !Stretch(static_cast<int>(largest), &picture.pixels)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the PNM file has a value above its largest value ", largest));
    }
    return picture;
  }

  // Each value has at least a digit and a separator, the last one only the digit.
  if (bytes.size() - tokens.position() < size * 2) {
    return absl::InvalidArgumentError("the PNM file ends early");
  }
  picture.pixels.resize(size);
  for (char& pixel : picture.pixels) {
    const int64_t value = tokens.Next();
    if (value < 0 || value > largest) {
      return absl::InvalidArgumentError(
          absl::StrCat("the PNM file ends early or has a value that is not in [0, ", largest, "]"));
    }
    pixel = static_cast<char>((value * 255 + largest / 2) / largest);
  }
  return picture;
}

}  // namespace orbserve::cli
