// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/image_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cli/file_io.h"
#include "client/cli/images/jpeg_file.h"
#include "client/cli/images/png_file.h"
#include "client/cli/images/pnm_file.h"
#include "features/algo/grey.h"

namespace orbserve::cli {
namespace {

enum class ImageType { kUnknown, kJpeg, kPng, kPnm };

ImageType TypeOf(absl::string_view bytes) {
  constexpr absl::string_view kJpegStart("\xFF\xD8", 2);
  constexpr absl::string_view kPngStart("\x89PNG\r\n\x1A\n", 8);
  if (absl::StartsWith(bytes, kJpegStart)) return ImageType::kJpeg;
  if (absl::StartsWith(bytes, kPngStart)) return ImageType::kPng;
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7') {
    return ImageType::kPnm;
  }
  return ImageType::kUnknown;
}

absl::StatusOr<Picture> Decode(ImageType type, std::string bytes, const PictureLimits& limits,
                               DeepValues deep = DeepValues::kUpperByte) {
  switch (type) {
    case ImageType::kJpeg:
      return DecodeJpeg(bytes, limits);
    case ImageType::kPng:
      return DecodePng(bytes, limits, deep);
    case ImageType::kPnm:
      return DecodePnm(std::move(bytes), limits);
    case ImageType::kUnknown:
      break;
  }
  return absl::InvalidArgumentError("not a JPEG, PNG, PGM or PPM image");
}

}  // namespace

void TurnGrey(Picture* picture) {
  if (picture->channels == 1) return;
  const size_t count = static_cast<size_t>(picture->width_px) * picture->height_px;
  auto* pixels = reinterpret_cast<uint8_t*>(picture->pixels.data());
  for (size_t i = 0; i < count; ++i) {
    pixels[i] = GreyFromRgb(pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]);
  }
  picture->pixels.resize(count);
  picture->channels = 1;
}

v1::Frame FrameOfPicture(Picture picture) {
  v1::Frame frame;
  frame.set_format(picture.channels == 1 ? v1::PIXEL_FORMAT_GRAY8 : v1::PIXEL_FORMAT_RGB8);
  frame.set_width_px(static_cast<uint32_t>(picture.width_px));
  frame.set_height_px(static_cast<uint32_t>(picture.height_px));
  frame.set_pixels(std::move(picture.pixels));
  return frame;
}

size_t WorkingBytes(const v1::Frame& frame) {
  const size_t pixels = frame.format() == v1::PIXEL_FORMAT_JPEG
                            ? JpegPixels(frame.pixels())
                            : static_cast<size_t>(frame.width_px()) * frame.height_px();
  return std::max(frame.pixels().size(), pixels) + frame.mask().pixels().size();
}

absl::StatusOr<v1::Frame> LoadFrame(const std::string& path, const PictureLimits& limits,
                                    const std::atomic<bool>* stop) {
  absl::StatusOr<std::string> bytes = ReadFile(path, stop);
  if (!bytes.ok()) return bytes.status();
  const ImageType type = TypeOf(*bytes);
  if (type == ImageType::kJpeg) {
    v1::Frame frame;
    frame.set_format(v1::PIXEL_FORMAT_JPEG);
    frame.set_pixels(*std::move(bytes));
    return frame;
  }
  absl::StatusOr<Picture> picture = Decode(type, *std::move(bytes), limits);
  if (!picture.ok()) return picture.status();
  TurnGrey(&*picture);
  return FrameOfPicture(*std::move(picture));
}

absl::StatusOr<Picture> LoadPicture(const std::string& path, const PictureLimits& limits) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) {
    return absl::InvalidArgumentError(
        "is a pipe or a device, which can be read only once; a file is needed here");
  }
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  const ImageType type = TypeOf(*bytes);
  return Decode(type, *std::move(bytes), limits);
}

absl::StatusOr<v1::Mask> LoadMask(const std::string& path, const PictureLimits& limits) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  const ImageType type = TypeOf(*bytes);
  if (type == ImageType::kJpeg) {
    // JPEG artefacts near an edge would turn black pixels into nearly black ones.
    return absl::InvalidArgumentError("a mask must be PNG, PGM or PPM; got a JPEG");
  }
  absl::StatusOr<Picture> picture =
      Decode(type, *std::move(bytes), limits, DeepValues::kNeverToZero);
  if (!picture.ok()) return picture.status();
  if (picture->channels == 3) {
    const size_t count = static_cast<size_t>(picture->width_px) * picture->height_px;
    std::string& pixels = picture->pixels;
    for (size_t i = 0; i < count; ++i) {
      pixels[i] = static_cast<char>(pixels[3 * i] | pixels[3 * i + 1] | pixels[3 * i + 2]);
    }
    pixels.resize(count);
  }
  v1::Mask mask;
  mask.set_width_px(static_cast<uint32_t>(picture->width_px));
  mask.set_height_px(static_cast<uint32_t>(picture->height_px));
  mask.set_pixels(std::move(picture->pixels));
  return mask;
}

}  // namespace orbserve::cli
