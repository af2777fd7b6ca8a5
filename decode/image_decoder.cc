// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/image_decoder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/bad_image.h"
#include "decode/grey_rows.h"
#include "decode/image_size.h"
#include "decode/jpeg_header.h"
#include "decode/jpeg_markers.h"
#include "decode/jpeg_sequential.h"
#include "decode/libjpeg_decoder.h"
#include "features/errors.h"
#include "features/host_device.h"

namespace orbserve {
namespace {

// Strides come from the wire as 32 bits; anything larger is nonsense and would only invite
// overflow.
constexpr int64_t kMaxStrideBytes = (int64_t{1} << 32) - 1;

// Bytes of one row of the first plane, without padding.
int64_t RowBytes(PixelFormat format, int64_t width_px) {
  switch (format) {
    case PixelFormat::kJpeg:
      return 0;
    case PixelFormat::kGray8:
    case PixelFormat::kNv12:
    case PixelFormat::kI420:
      return width_px;
    case PixelFormat::kYuyv:
      return 2 * width_px;
    case PixelFormat::kRgb8:
    case PixelFormat::kBgr8:
      return 3 * width_px;
    case PixelFormat::kBgra8:
      return 4 * width_px;
  }
  return 0;
}

// A plane's bytes: whole rows, or the last one without its padding.
struct PlaneSize {
  int64_t whole;
  int64_t trimmed;

  bool Holds(int64_t bytes) const { return bytes == whole || bytes == trimmed; }
};

PlaneSize SizeOf(int64_t rows, int64_t stride_bytes, int64_t row_bytes) {
  return {rows * stride_bytes, (rows - 1) * stride_bytes + row_bytes};
}

// Bytes of the chroma after a whole Y plane, as cameras lay it out.
PlaneSize ChromaSize(PixelFormat format, int64_t width_px, int64_t height_px,
                     int64_t stride_bytes) {
  const int64_t chroma_width = DivUp<int64_t>(width_px, 2);
  const int64_t chroma_rows = DivUp<int64_t>(height_px, 2);
  if (format == PixelFormat::kNv12) {
    const int64_t row_bytes = 2 * chroma_width;
    return SizeOf(chroma_rows, std::max(stride_bytes, row_bytes), row_bytes);
  }
  return SizeOf(2 * chroma_rows, DivUp<int64_t>(stride_bytes, 2), chroma_width);
}

// Gives out the rows of an image that may lie in pieces.
class RowReader {
 public:
  // The rows must be within the image.
  RowReader(const EncodedImage& image, int64_t stride_bytes, int64_t row_bytes)
      : pieces_(image.pieces),
        padding_bytes_(static_cast<size_t>(stride_bytes - row_bytes)),
        row_bytes_(static_cast<size_t>(row_bytes)) {
    if (pieces_.empty()) piece_ = image.bytes;
  }

  // The bytes of the next row, valid until the next call: where they lie or, where they begin in
  // one piece and end in another, a copy.
  const uint8_t* Next() {
    Skip(skip_bytes_);
    skip_bytes_ = padding_bytes_;
    if (piece_.size() >= row_bytes_) {
      const uint8_t* const row = piece_.data();
      piece_.remove_prefix(row_bytes_);
      return row;
    }
    row_.clear();
    while (row_.size() < row_bytes_) {
      TakePiece();
      const BytePiece part = piece_.subspan(0, row_bytes_ - row_.size());
      row_.insert(row_.end(), part.begin(), part.end());
      piece_.remove_prefix(part.size());
    }
    return row_.data();
  }

 private:
  void Skip(size_t bytes) {
    while (bytes > piece_.size()) {
      bytes -= piece_.size();
      piece_ = {};
      TakePiece();
    }
    piece_.remove_prefix(bytes);
  }
  void TakePiece() {
    if (!piece_.empty()) return;
    piece_ = pieces_.front();
    pieces_.remove_prefix(1);
  }

  absl::Span<const BytePiece> pieces_;  // after `piece_`
  BytePiece piece_;                     // what is left of the present one
  const size_t padding_bytes_;          // between two rows
  const size_t row_bytes_;
  size_t skip_bytes_ = 0;  // before the next row
  std::vector<uint8_t> row_;
};

absl::StatusOr<ImageHeader> ReadRawHeader(const EncodedImage& image, const ImageLimits& limits) {
  const absl::string_view name = PixelFormatName(image.format);
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(image.width_px, image.height_px, limits));
  if (image.format == PixelFormat::kYuyv && image.width_px % 2 != 0) {
    return BadImage(absl::StrCat("YUYV: width must be even; got ", image.width_px));
  }
  const int64_t row_bytes = RowBytes(image.format, image.width_px);
  const int64_t stride_bytes = image.stride_bytes == 0 ? row_bytes : image.stride_bytes;
  if (stride_bytes < row_bytes || stride_bytes > kMaxStrideBytes) {
    return BadImage(absl::StrCat(name, ": stride_bytes must be 0 or at least ", row_bytes,
                                 ", the bytes of ", image.width_px, " pixels; got ",
                                 image.stride_bytes));
  }
  const int64_t size = image.size_bytes();
  const PlaneSize plane = SizeOf(image.height_px, stride_bytes, row_bytes);
  bool fits = plane.Holds(size);
  std::string allowed = absl::StrCat(plane.whole);
  if (plane.trimmed != plane.whole) absl::StrAppend(&allowed, " or ", plane.trimmed);
  if (image.format == PixelFormat::kNv12 || image.format == PixelFormat::kI420) {
    const PlaneSize chroma =
        ChromaSize(image.format, image.width_px, image.height_px, stride_bytes);
    fits = fits || chroma.Holds(size - plane.whole);
    absl::StrAppend(&allowed, " (Y alone) or ", plane.whole + chroma.whole);
    if (chroma.trimmed != chroma.whole) {
      absl::StrAppend(&allowed, " or ", plane.whole + chroma.trimmed);
    }
    allowed += " (with chroma)";
  }
  if (!fits) {
    return BadImage(absl::StrCat(name, ": ", image.width_px, "x", image.height_px,
                                 " pixels in rows of ", stride_bytes, " bytes are ", allowed,
                                 " bytes; got ", size));
  }
  return ImageHeader{image.format, static_cast<int>(image.width_px),
                     static_cast<int>(image.height_px), stride_bytes};
}

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

absl::Status DecodeRaw(const EncodedImage& image, const ImageHeader& header,
                       const MutableImageView& out) {
  RowReader rows(image, header.stride_bytes, RowBytes(image.format, header.width_px));
  for (int y = 0; y < header.height_px; ++y) {
    const uint8_t* const row = rows.Next();
    switch (image.format) {
      case PixelFormat::kJpeg:
        break;
      case PixelFormat::kGray8:
      case PixelFormat::kNv12:
      case PixelFormat::kI420:
        std::memcpy(out.Row(y), row, static_cast<size_t>(header.width_px));
        break;
      case PixelFormat::kRgb8:
        GreyRowFromRgb(row, header.width_px, out.Row(y));
        break;
      case PixelFormat::kBgr8:
        GreyRowFromBgr(row, header.width_px, out.Row(y));
        break;
      case PixelFormat::kBgra8:
        GreyRowFromBgra(row, header.width_px, out.Row(y));
        break;
      case PixelFormat::kYuyv:
        GreyRowFromYuyv(row, header.width_px, out.Row(y));
        break;
    }
  }
  return absl::OkStatus();
}

// Of the whole process, as a scrape of its metrics asks.
std::array<std::atomic<int64_t>, kJpegWayCount> way_counts = {};

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
  }
  return "unknown";
}

int64_t EncodedImage::size_bytes() const {
  size_t size = bytes.size();
  for (const BytePiece piece : pieces) size += piece.size();
  return static_cast<int64_t>(size);
}

double DecodeWork(const ImageHeader& header, int64_t size_bytes) {
  // Measured; files with several scans with libjpeg-turbo's SIMD code, whose every scan goes
  // through the coefficients of the whole image, however few bytes it has. The strict decoder takes
  // half of its time.
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

absl::Status CheckImageSize(int64_t width_px, int64_t height_px, const ImageLimits& limits) {
  if (width_px < 1 || height_px < 1) {
    return BadImage(
        absl::StrCat("an image needs at least 1x1 pixels; got ", width_px, "x", height_px));
  }
  if (width_px > limits.max_side_px || height_px > limits.max_side_px) {
    return MakeError(ErrorReason::kTooLarge,
                     absl::StrCat("an image of ", width_px, "x", height_px, " pixels; at most ",
                                  limits.max_side_px, " pixels a side are allowed"));
  }
  if (width_px * height_px > limits.max_pixels) {
    return MakeError(
        ErrorReason::kTooLarge,
        absl::StrCat("an image of ", width_px, "x", height_px, " = ", width_px * height_px,
                     " pixels; at most ", limits.max_pixels, " pixels are allowed"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ImageHeader> ReadImageHeader(const EncodedImage& image, const ImageLimits& limits) {
  if (image.format == PixelFormat::kJpeg) return ReadJpegImageHeader(image, limits);
  return ReadRawHeader(image, limits);
}

absl::Status DecodeToGrey(const EncodedImage& image, const ImageHeader& header,
                          const ImageLimits& limits, const MutableImageView& out) {
  ORBSERVE_RETURN_IF_ERROR(CheckPlace(image, header, out));
  if (image.format != PixelFormat::kJpeg) return DecodeRaw(image, header, out);
  JpegFile file{.bytes = image.bytes, .out = out};
  const auto deadline = std::chrono::steady_clock::now() + limits.max_decode_time;
  DecodeSequentialJpeg(deadline, &file);
  return EndOfJpeg(file, header, limits, deadline);
}

void CountJpegWay(JpegWay way) {
  way_counts[static_cast<size_t>(way)].fetch_add(1, std::memory_order_relaxed);
}

std::array<int64_t, kJpegWayCount> JpegWayCounts() {
  std::array<int64_t, kJpegWayCount> counts = {};
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = way_counts[i].load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace orbserve
