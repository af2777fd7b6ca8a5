// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/raw_image.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "decode/bad_image.h"
#include "decode/grey_rows.h"
#include "decode/image_size.h"
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
    case PixelFormat::kBayerRggb8:
    case PixelFormat::kBayerBggr8:
    case PixelFormat::kBayerGbrg8:
    case PixelFormat::kBayerGrbg8:
      return width_px;
    case PixelFormat::kYuyv:
    case PixelFormat::kUyvy:
    case PixelFormat::kGray16:
      return 2 * width_px;
    case PixelFormat::kRgb8:
    case PixelFormat::kBgr8:
      return 3 * width_px;
    case PixelFormat::kBgra8:
    case PixelFormat::kRgba8:
      return 4 * width_px;
  }
  return 0;
}

// Filters of the first row of a mosaic, nothing for other formats.
std::optional<BayerFilters> FiltersOf(PixelFormat format) {
  switch (format) {
    case PixelFormat::kBayerRggb8:
      return BayerFilters{.green_first = false, .red = true};
    case PixelFormat::kBayerBggr8:
      return BayerFilters{.green_first = false, .red = false};
    case PixelFormat::kBayerGbrg8:
      return BayerFilters{.green_first = true, .red = false};
    case PixelFormat::kBayerGrbg8:
      return BayerFilters{.green_first = true, .red = true};
    default:
      return std::nullopt;
  }
}

// Requirements of single formats.
absl::Status CheckFormat(const EncodedImage& image) {
  const absl::string_view name = PixelFormatName(image.format);
  const bool is_packed = image.format == PixelFormat::kYuyv || image.format == PixelFormat::kUyvy;
  if (is_packed && image.width_px % 2 != 0) {
    return BadImage(absl::StrCat(name, ": width must be even; got ", image.width_px));
  }
  if (image.format == PixelFormat::kGray16 && image.stride_bytes % 2 != 0) {
    return BadImage(absl::StrCat(name, ": stride_bytes must be even; got ", image.stride_bytes));
  }
  if (FiltersOf(image.format).has_value() && (image.width_px < 2 || image.height_px < 2)) {
    return BadImage(absl::StrCat(name, ": sides must be at least 2 pixels; got ", image.width_px,
                                 "x", image.height_px));
  }
  return absl::OkStatus();
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

  // The bytes of the next row, valid until the third call after this one: where they lie or, where
  // they begin in one piece and end in another, a copy.
  const uint8_t* Next() {
    Skip(skip_bytes_);
    skip_bytes_ = padding_bytes_;
    if (piece_.size() >= row_bytes_) {
      const uint8_t* const row = piece_.data();
      piece_.remove_prefix(row_bytes_);
      return row;
    }
    std::vector<uint8_t>& row = copies_[next_copy_];
    next_copy_ = (next_copy_ + 1) % copies_.size();
    row.clear();
    while (row.size() < row_bytes_) {
      TakePiece();
      const BytePiece part = piece_.subspan(0, row_bytes_ - row.size());
      row.insert(row.end(), part.begin(), part.end());
      piece_.remove_prefix(part.size());
    }
    return row.data();
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
  std::array<std::vector<uint8_t>, 3> copies_;
  size_t next_copy_ = 0;
};

void DecodeBayer(const BayerFilters& filters, RowReader& rows, const MutableImageView& out) {
  const uint8_t* above = nullptr;
  const uint8_t* row = rows.Next();
  for (int y = 0; y < out.height_px; ++y) {
    const bool is_last = y + 1 == out.height_px;
    const uint8_t* const below = is_last ? above : rows.Next();
    GreyRowFromBayer({y == 0 ? below : above, row, below}, filters.OfRow(y), out.width_px,
                     out.Row(y));
    above = row;
    row = below;
  }
}

}  // namespace

absl::StatusOr<ImageHeader> ReadRawHeader(const EncodedImage& image, const ImageLimits& limits) {
  const absl::string_view name = PixelFormatName(image.format);
  ORBSERVE_RETURN_IF_ERROR(CheckImageSize(image.width_px, image.height_px, limits));
  ORBSERVE_RETURN_IF_ERROR(CheckFormat(image));
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

void DecodeRaw(const EncodedImage& image, const ImageHeader& header, const MutableImageView& out) {
  RowReader rows(image, header.stride_bytes, RowBytes(image.format, header.width_px));
  if (const auto filters = FiltersOf(image.format); filters.has_value()) {
    DecodeBayer(*filters, rows, out);
    return;
  }
  for (int y = 0; y < header.height_px; ++y) {
    const uint8_t* const row = rows.Next();
    switch (image.format) {
      case PixelFormat::kJpeg:
      case PixelFormat::kBayerRggb8:
      case PixelFormat::kBayerBggr8:
      case PixelFormat::kBayerGbrg8:
      case PixelFormat::kBayerGrbg8:
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
      case PixelFormat::kGray16:
        GreyRowFrom16Bits(row, image.window, header.width_px, out.Row(y));
        break;
      case PixelFormat::kRgba8:
        GreyRowFromRgba(row, header.width_px, out.Row(y));
        break;
      case PixelFormat::kUyvy:
        GreyRowFromUyvy(row, header.width_px, out.Row(y));
        break;
    }
  }
}

}  // namespace orbserve
