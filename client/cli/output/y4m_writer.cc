// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/y4m_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>
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
    : path_(std::move(path)),
      beside_(absl::StrCat(path_, ".part", getpid())),
      fps_(fps > 0 ? fps : kDefaultFps) {}

Y4mWriter::~Y4mWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(beside_.c_str());
}

absl::Status Y4mWriter::Failed() const { return absl::ErrnoToStatus(errno, path_.c_str()); }

absl::Status Y4mWriter::Begin(const Picture& picture) {
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": its folder cannot be created: ", error.message()));
  }
  file_ = std::fopen(beside_.c_str(), "wbe");
  if (file_ == nullptr) return Failed();
  width_px_ = picture.width_px;
  height_px_ = picture.height_px;
  constexpr int kPerSecond = 1000;
  const std::string header = absl::StrCat("YUV4MPEG2 W", width_px_, " H", height_px_, " F",
                                          std::max(std::llround(fps_ * kPerSecond), 1LL), ":",
                                          kPerSecond, " Ip A1:1 C444\n");
  return std::fwrite(header.data(), 1, header.size(), file_) == header.size() ? absl::OkStatus()
                                                                              : Failed();
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
  const size_t count = static_cast<size_t>(width_px_) * height_px_;
  planes_.resize(3 * count);
  const auto* pixel = reinterpret_cast<const uint8_t*>(picture.pixels.data());
  for (size_t i = 0; i < count; ++i, pixel += picture.channels) {
    const int red = pixel[0];
    const int green = picture.channels == 3 ? pixel[1] : red;
    const int blue = picture.channels == 3 ? pixel[2] : red;
    planes_[i] = Luma(red, green, blue);
    planes_[count + i] = BlueDifference(red, green, blue);
    planes_[2 * count + i] = RedDifference(red, green, blue);
  }
  if (std::fputs("FRAME\n", file_) < 0 ||
      std::fwrite(planes_.data(), 1, planes_.size(), file_) != planes_.size() ||
      std::fflush(file_) != 0) {
    return Failed();
  }
  whole_bytes_ = std::ftell(file_);
  return absl::OkStatus();
}

absl::Status Y4mWriter::Finish() {
  if (file_ == nullptr) return absl::OkStatus();
  if (whole_bytes_ == 0) {
    std::fclose(std::exchange(file_, nullptr));
    unlink(beside_.c_str());
    return absl::OkStatus();  // Add() has reported the error
  }
  // A picture that was written in part, for example on a full disk, is cut off.
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0 || !status_.ok();
  if (!closed || truncate(beside_.c_str(), whole_bytes_) != 0 ||
      std::rename(beside_.c_str(), path_.c_str()) != 0) {
    const absl::Status failed = Failed();
    unlink(beside_.c_str());
    return failed;
  }
  return absl::OkStatus();
}

}  // namespace orbserve::cli
