// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/jpeg_encoder.h"

#include <turbojpeg.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace orbserve::client {
namespace {

constexpr int kBestQuality = 95;
constexpr int kWorstQuality = 20;
// A step down makes a file about a fifth smaller. Steps up are small, and begin well below the
// wanted age.
constexpr int kStepDown = 10;
constexpr int kStepUp = 2;
constexpr double kRoom = 0.7;

constexpr int64_t kMaxJpegSidePx = 65'500;  // of libjpeg-turbo

// Rows of pixels in a format of libjpeg-turbo.
struct Rows {
  TJPF format;
  int64_t pixel_bytes;
};

// The plane that a server looks at. Zero bytes for a frame without raw pixels, and for formats that
// JPEG does not keep: 16 bits, and mosaics of colour filters.
Rows RowsOf(v1::PixelFormat format) {
  switch (format) {
    case v1::PIXEL_FORMAT_GRAY8:
    case v1::PIXEL_FORMAT_NV12:
    case v1::PIXEL_FORMAT_I420:
      return {TJPF_GRAY, 1};
    case v1::PIXEL_FORMAT_YUYV:
    case v1::PIXEL_FORMAT_UYVY:
      return {TJPF_GRAY, 2};
    case v1::PIXEL_FORMAT_RGB8:
      return {TJPF_RGB, 3};
    case v1::PIXEL_FORMAT_BGR8:
      return {TJPF_BGR, 3};
    case v1::PIXEL_FORMAT_BGRA8:
      return {TJPF_BGRX, 4};
    case v1::PIXEL_FORMAT_RGBA8:
      return {TJPF_RGBX, 4};
    default:
      return {TJPF_GRAY, 0};
  }
}

}  // namespace

void JpegQuality::Measure(const Sample& sample) {
  // Only frames that were made with this quality tell whether it is right.
  if (sample.captured < changed_) return;
  const absl::Duration age = sample.arrived - sample.captured;
  int value = value_;
  if (age > wanted_age_ && sample.link > sample.server) {  // no quality makes a server faster
    value = std::max(value - kStepDown, kWorstQuality);
  } else if (age < kRoom * wanted_age_) {
    value = std::min(value + kStepUp, kBestQuality);
  }
  if (value == value_) return;
  value_ = value;
  changed_ = sample.arrived;
}

std::string EncodeJpeg(const v1::Frame& frame, int quality) {
  const Rows rows = RowsOf(frame.format());
  const int64_t width_px = frame.width_px();
  const int64_t height_px = frame.height_px();
  const int64_t row_bytes = width_px * rows.pixel_bytes;
  const int64_t stride_bytes = frame.stride_bytes() > 0 ? frame.stride_bytes() : row_bytes;
  if (rows.pixel_bytes == 0 || width_px < 1 || width_px > kMaxJpegSidePx || height_px < 1 ||
      height_px > kMaxJpegSidePx || stride_bytes < row_bytes ||
      static_cast<int64_t>(frame.pixels().size()) < (height_px - 1) * stride_bytes + row_bytes) {
    return std::string();
  }
  const auto* pixels = reinterpret_cast<const uint8_t*>(frame.pixels().data());
  int64_t pitch_bytes = stride_bytes;
  std::vector<uint8_t> grey;
  if (rows.format == TJPF_GRAY && rows.pixel_bytes == 2) {
    if (frame.format() == v1::PIXEL_FORMAT_UYVY) ++pixels;  // to the first Y
    grey.resize(static_cast<size_t>(width_px * height_px));
    for (int64_t y = 0; y < height_px; ++y) {
      for (int64_t x = 0; x < width_px; ++x) {
        grey[static_cast<size_t>(y * width_px + x)] = pixels[y * stride_bytes + 2 * x];
      }
    }
    pixels = grey.data();
    pitch_bytes = width_px;
  }
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): as libjpeg-turbo has it
  const bool done =
      encoder != nullptr && pitch_bytes <= INT32_MAX &&
      tjCompress2(encoder.get(), pixels, static_cast<int>(width_px), static_cast<int>(pitch_bytes),
                  static_cast<int>(height_px), rows.format, &bytes, &size, TJSAMP_GRAY, quality,
                  TJFLAG_ACCURATEDCT) == 0;
  std::string file(reinterpret_cast<const char*>(bytes), done ? size : 0);
  tjFree(bytes);
  return file;
}

void ReplacePixels(std::string file, v1::Frame* frame) {
  frame->set_format(v1::PIXEL_FORMAT_JPEG);
  frame->clear_stride_bytes();
  frame->set_pixels(std::move(file));
}

}  // namespace orbserve::client
