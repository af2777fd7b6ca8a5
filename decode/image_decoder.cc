// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/image_decoder.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "decode/bad_image.h"
#include "decode/jpeg_header.h"
#include "decode/jpeg_markers.h"
#include "decode/jpeg_sequential.h"
#include "decode/jpeg_ways.h"
#include "decode/libjpeg_decoder.h"
#include "decode/raw_image.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::StatusOr<ImageHeader> ReadJpegImageHeader(const EncodedImage& image,
                                                const ImageLimits& limits) {
  if (image.stride_bytes != 0) {
    return BadImage(absl::StrCat("JPEG: stride_bytes must be 0; got ", image.stride_bytes));
  }
  ORBSERVE_ASSIGN_OR_RETURN(const JpegHeader header, ReadJpegHeader(image.bytes, limits));
  if ((image.width_px != 0 && image.width_px != header.width_px) ||
      (image.height_px != 0 && image.height_px != header.height_px)) {
    return BadImage(absl::StrCat("JPEG: declared as ", image.width_px, "x", image.height_px,
                                 ", the file says ", header.width_px, "x", header.height_px,
                                 "; declare 0x0 or the file's size"));
  }
  ImageHeader image_header{PixelFormat::kJpeg, header.width_px, header.height_px, 0};
  image_header.progressive = header.progressive;
  image_header.scans = header.scans;
  image_header.is_rgb = header.is_rgb;
  image_header.for_library = header.for_library;
  image_header.decoder_bytes = header.decoder_bytes;
  return image_header;
}

absl::Status CheckPlace(const EncodedImage& image, const ImageHeader& header,
                        const MutableImageView& out) {
  if (!out.empty() && out.width_px == header.width_px && out.height_px == header.height_px &&
      out.pitch_bytes >= out.width_px && image.format == header.format) {
    return absl::OkStatus();
  }
  return MakeError(ErrorReason::kInternal,
                   absl::StrCat("a slot of ", out.width_px, "x", out.height_px, " for an image of ",
                                header.width_px, "x", header.height_px));
}

JpegWay WayOf(const JpegFile& file, const ImageHeader& header) {
  if (file.end.has_value()) return JpegWay::kHost;
  if (header.progressive) return JpegWay::kLibjpegProgressive;
  if (header.scans > 1) return JpegWay::kLibjpegScans;
  return file.has_doubtful_values ? JpegWay::kLibjpegValues : JpegWay::kLibjpegComponents;
}

// The end of a file that went through the strict decoder.
absl::Status EndOfJpeg(const JpegFile& file, const ImageHeader& header, const ImageLimits& limits,
                       std::chrono::steady_clock::time_point deadline) {
  CountJpegWay(WayOf(file, header));
  if (!file.end.has_value()) return DecodeJpeg(file.bytes, limits, deadline, file.out);
  if (ReasonOf(*file.end) == ErrorReason::kDeadlineExceeded) return JpegTooSlow(limits);
  return *file.end;
}

}  // namespace

absl::string_view PixelFormatName(PixelFormat format) {
  switch (format) {
    case PixelFormat::kJpeg:
      return "JPEG";
    case PixelFormat::kGray8:
      return "GRAY8";
    case PixelFormat::kRgb8:
      return "RGB8";
    case PixelFormat::kBgr8:
      return "BGR8";
    case PixelFormat::kBgra8:
      return "BGRA8";
    case PixelFormat::kNv12:
      return "NV12";
    case PixelFormat::kI420:
      return "I420";
    case PixelFormat::kYuyv:
      return "YUYV";
    case PixelFormat::kGray16:
      return "GRAY16";
    case PixelFormat::kRgba8:
      return "RGBA8";
    case PixelFormat::kUyvy:
      return "UYVY";
    case PixelFormat::kBayerRggb8:
      return "BAYER_RGGB8";
    case PixelFormat::kBayerBggr8:
      return "BAYER_BGGR8";
    case PixelFormat::kBayerGbrg8:
      return "BAYER_GBRG8";
    case PixelFormat::kBayerGrbg8:
      return "BAYER_GRBG8";
  }
  return "unknown";
}

int64_t EncodedImage::size_bytes() const {
  size_t size = bytes.size();
  for (const BytePiece piece : pieces) size += piece.size();
  return static_cast<int64_t>(size);
}

double DecodeWork(const ImageHeader& header, int64_t size_bytes) {
  // Measured, with libjpeg-turbo's SIMD code. Each scan of several goes through the coefficients of
  // the whole image, however few bytes it has. The strict decoder takes half of libjpeg-turbo's
  // time.
  constexpr double kRawNsPerByte = 0.3;
  constexpr double kSequentialNsPerByte = 15.0;
  constexpr double kSequentialNsPerPixel = 0.5;
  constexpr double kJpegNsPerByte = 30.0;
  constexpr double kJpegNsPerPixel = 1.0;
  constexpr double kProgressiveNsPerPixel = 2.0;
  constexpr double kScanNsPerPixel = 0.2;
  constexpr double kRgbPlanes = 4.0;  // three planes, and their way to grey
  const auto bytes = static_cast<double>(size_bytes);
  if (header.format != PixelFormat::kJpeg) return kRawNsPerByte * bytes;
  const double pixels = static_cast<double>(header.width_px) * header.height_px;
  if (!header.for_library) return kSequentialNsPerByte * bytes + kSequentialNsPerPixel * pixels;
  double per_pixel = kJpegNsPerPixel;
  if (header.progressive) per_pixel += kProgressiveNsPerPixel;
  if (header.scans > 1) per_pixel += kScanNsPerPixel * header.scans;
  if (header.is_rgb) per_pixel *= kRgbPlanes;
  const double check = header.progressive ? 0.0 : kSequentialNsPerByte * bytes;
  return check + kJpegNsPerByte * bytes + per_pixel * pixels;
}

bool LooksLikeJpeg(absl::Span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == kJpegSoi;
}

absl::StatusOr<ImageHeader> ReadImageHeader(const EncodedImage& image, const ImageLimits& limits) {
  if (image.format == PixelFormat::kJpeg) return ReadJpegImageHeader(image, limits);
  return ReadRawHeader(image, limits);
}

absl::Status DecodeToGrey(const EncodedImage& image, const ImageHeader& header,
                          const ImageLimits& limits, const MutableImageView& out,
                          DecodeHelpers* helpers) {
  ORBSERVE_RETURN_IF_ERROR(CheckPlace(image, header, out));
  if (image.format != PixelFormat::kJpeg) {
    DecodeRaw(image, header, out);
    return absl::OkStatus();
  }
  JpegFile file{.bytes = image.bytes, .out = out};
  const auto deadline = std::chrono::steady_clock::now() + limits.max_decode_time;
  DecodeSequentialJpeg(deadline, &file, helpers);
  return EndOfJpeg(file, header, limits, deadline);
}

}  // namespace orbserve
