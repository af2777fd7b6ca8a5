// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/y4m_writer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace orbserve::cli {
namespace {

constexpr double kDefaultFps = 30;

// Limited-range BT.601 in 16-bit fractions. Each row of factors sums up so that grey levels give
// chroma of exactly 128.
constexpr int kBits = 16;
constexpr int kHalf = 1 << (kBits - 1);

char Luma(int red, int green, int blue) {
  return static_cast<char>(((16829 * red + 33039 * green + 6416 * blue + kHalf) >> kBits) + 16);
}
char BlueDifference(int red, int green, int blue) {
  return static_cast<char>(((-9714 * red - 19070 * green + 28784 * blue + kHalf) >> kBits) + 128);
}
char RedDifference(int red, int green, int blue) {
  return static_cast<char>(((28784 * red - 24103 * green - 4681 * blue + kHalf) >> kBits) + 128);
}

}  // namespace

Y4mWriter::Y4mWriter(std::string path, double fps)
    : path_(std::move(path)), fps_(fps > 0 ? fps : kDefaultFps) {}

absl::Status Y4mWriter::Begin(const Picture& picture) {
  absl::StatusOr<std::unique_ptr<NewFile>> file = NewFile::Create(path_);
  if (!file.ok()) return file.status();
  file_ = *std::move(file);
  width_px_ = picture.width_px;
  height_px_ = picture.height_px;
  constexpr int kPerSecond = 1000;
  const std::string header = absl::StrCat("YUV4MPEG2 W", width_px_, " H", height_px_, " F",
                                          std::max(std::llround(fps_ * kPerSecond), 1LL), ":",
                                          kPerSecond, " Ip A1:1 C444\n");
  written_bytes_ = static_cast<int64_t>(header.size());
  return file_->Append(header);
}

absl::Status Y4mWriter::Add(const Picture& picture) {
  if (!status_.ok()) return status_;
  if (file_ == nullptr) status_ = Begin(picture);
  if (!status_.ok()) return status_;
  if (picture.width_px != width_px_ || picture.height_px != height_px_) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", picture.width_px, "x", picture.height_px, " cannot go into ",
                     path_, ", which began with ", width_px_, "x", height_px_));
  }
  status_ = Write(picture);
  return status_;
}

absl::Status Y4mWriter::Write(const Picture& picture) {
  constexpr absl::string_view kFrame = "FRAME\n";
  const size_t count = static_cast<size_t>(width_px_) * height_px_;
  frame_.resize(kFrame.size() + 3 * count);
  char* const luma = std::copy(kFrame.begin(), kFrame.end(), frame_.data());
  const auto* pixel = reinterpret_cast<const uint8_t*>(picture.pixels.data());
  for (size_t i = 0; i < count; ++i, pixel += picture.channels) {
    const int red = pixel[0];
    const int green = picture.channels == 3 ? pixel[1] : red;
    const int blue = picture.channels == 3 ? pixel[2] : red;
    luma[i] = Luma(red, green, blue);
    luma[count + i] = BlueDifference(red, green, blue);
    luma[2 * count + i] = RedDifference(red, green, blue);
  }
  if (absl::Status status = file_->Append(frame_); !status.ok()) return status;
  written_bytes_ += static_cast<int64_t>(frame_.size());
  has_picture_ = true;
  return absl::OkStatus();
}

absl::Status Y4mWriter::Finish() {
  if (file_ == nullptr) return absl::OkStatus();
  const std::unique_ptr<NewFile> file = std::move(file_);
  if (!has_picture_) return absl::OkStatus();  // Add() has reported the error
  // A picture that was written in part, for example on a full disk, is cut off.
  if (absl::Status status = file->Truncate(written_bytes_); !status.ok()) return status;
  return file->Publish();
}

}  // namespace orbserve::cli
