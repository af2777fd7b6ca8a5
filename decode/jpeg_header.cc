// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "decode/bad_image.h"
#include "decode/image_size.h"
#include "decode/jpeg_colours.h"
#include "decode/jpeg_markers.h"
#include "features/algo/jpeg_huffman.h"
#include "features/errors.h"
#include "features/host_device.h"

namespace orbserve {
namespace {

constexpr int kMaxComponents = 4;
constexpr int kMaxSampling = 4;

// First bytes of files of other kinds, which clients send by mistake.
struct Signature {
  absl::string_view bytes;
  absl::string_view what;
};
constexpr Signature kSignatures[] = {
    {"\x89PNG", "a PNG file"},
    {"GIF8", "a GIF file"},
    {"RIFF", "a RIFF file (WebP, AVI)"},
    {"BM", "a BMP file"},
    {"II*", "a TIFF file"},
    {absl::string_view("MM\0*", 4), "a TIFF file"},
    {absl::string_view("\0\0\0\x0CjP", 6), "a JPEG 2000 file"},
    {"\x1F\x8B", "gzip-compressed data"},
    {"%PDF", "a PDF file"},
    {"P5", "a PGM file"},
    {"P6", "a PPM file"},
    {"data:", "a data URL"},
    {"<", "HTML or XML"},
};

absl::Status NotJpeg(absl::Span<const uint8_t> bytes) {
  if (bytes.empty()) return BadImage("the image has no bytes");
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& signature : kSignatures) {
    if (absl::StartsWith(text, signature.bytes)) {
      return BadImage(
          absl::StrCat("not a JPEG file: the bytes begin like ", signature.what,
                       "; send a JPEG file, or decode it and send pixels (GRAY8, RGB8, ...)"));
    }
  }
  if (bytes.size() < 2) return BadImage("not a JPEG file: 1 byte; it begins with 0xFF 0xD8");
  return BadImage(
      absl::StrFormat("not a JPEG file: it begins with 0x%02X 0x%02X; a JPEG file begins with 0xFF "
                      "0xD8",
                      bytes[0], bytes[1]));
}

constexpr bool IsFrameHeader(uint8_t marker) {
  return marker >= kJpegSof0 && marker <= kJpegSof15 && marker != kJpegDht && marker != kJpegJpg &&
         marker != kJpegDac;
}

// Why a coding process is not decoded; nothing for the three that are: baseline, extended
// sequential and progressive, all with Huffman coding.
std::optional<absl::string_view> UnsupportedProcess(uint8_t marker) {
  switch (marker) {
    case kJpegSof0:
    case kJpegSof1:
    case kJpegSof2:
      return std::nullopt;
    case kJpegSof3:
      return "lossless coding";
    case kJpegSof9:
    case kJpegSof10:
      return "arithmetic coding";
    case kJpegSof11:
      return "lossless arithmetic coding";
    default:
      return "hierarchical coding";
  }
}

class HeaderReader {
 public:
  HeaderReader(absl::Span<const uint8_t> bytes, const ImageLimits& limits)
      : bytes_(bytes), limits_(limits) {}

  absl::StatusOr<JpegHeader> Read() {
    if (!LooksLikeJpeg(bytes_)) return NotJpeg(bytes_);
    position_ = 2;
    while (true) {
      ORBSERVE_ASSIGN_OR_RETURN(const uint8_t marker, NextMarker());
      if (marker == kJpegEoi) break;
      if (marker == kJpegSoi) return BadImage("JPEG: a second start of image inside the first");
      if (IsJpegMarkerAlone(marker)) continue;
      ORBSERVE_ASSIGN_OR_RETURN(const absl::Span<const uint8_t> segment, NextSegment());
      if (IsFrameHeader(marker)) {
        ORBSERVE_RETURN_IF_ERROR(ReadFrameHeader(marker, segment));
      } else if (marker == kJpegSos) {
        ORBSERVE_RETURN_IF_ERROR(ReadScanHeader(segment));
        ORBSERVE_RETURN_IF_ERROR(SkipScan());
      } else if (header_.scans == 0) {
        colours_.ReadSegment(marker, segment);
      }
    }
    if (!has_frame_) return BadImage("JPEG: no frame header (SOF), so there is no image in it");
    if (header_.scans == 0) return BadImage("JPEG: no scan (SOS), so there is no image in it");
    for (int i = 0; i < header_.components; ++i) {
      if (!arrived_[i]) return BadImage("JPEG: truncated, a component has no scan");
    }
    // DC and AC values come in scans of their own (T.81, G.1.1.1.1). libjpeg-turbo finds out after
    // it has allocated all coefficients, which CheckMemory() does not expect of a single scan.
    if (header_.progressive && header_.scans == 1) {
      return BadImage("JPEG: truncated, scans of the progressive image are missing");
    }
    ORBSERVE_RETURN_IF_ERROR(CheckLength());
    ORBSERVE_RETURN_IF_ERROR(CheckMemory());
    header_.is_rgb =
        header_.components == 3 &&
        !colours_.IsLumaFirst({component_ids_[0], component_ids_[1], component_ids_[2]});
    header_.for_library =
        header_.progressive || header_.scans > 1 || header_.is_rgb || !has_full_luma_;
    return header_;
  }

 private:
  static absl::Status Truncated(absl::string_view where) {
    return BadImage(absl::StrCat("JPEG: truncated, the file ends ", where));
  }

  absl::StatusOr<uint8_t> NextMarker() {
    if (position_ >= bytes_.size()) return Truncated("without an end marker (EOI)");
    if (bytes_[position_] != 0xFF) {
      return BadImage(absl::StrFormat("JPEG: corrupt, 0x%02X at byte %d, where a marker must be",
                                      bytes_[position_], position_));
    }
    while (position_ < bytes_.size() && bytes_[position_] == 0xFF) ++position_;  // fill bytes
    if (position_ >= bytes_.size()) return Truncated("inside a marker");
    const uint8_t marker = bytes_[position_++];
    if (marker == 0) {
      return BadImage(absl::StrFormat("JPEG: corrupt, 0xFF 0x00 at byte %d, where a marker must be",
                                      position_ - 2));
    }
    return marker;
  }

  // The content of the segment whose marker was read.
  absl::StatusOr<absl::Span<const uint8_t>> NextSegment() {
    if (bytes_.size() - position_ < 2) return Truncated("inside a segment");
    const size_t length = size_t{bytes_[position_]} << 8 | bytes_[position_ + 1];
    if (length < 2) return BadImage("JPEG: corrupt, a segment with a length under 2");
    if (bytes_.size() - position_ < length) return Truncated("inside a segment");
    const absl::Span<const uint8_t> segment = bytes_.subspan(position_ + 2, length - 2);
    position_ += length;
    return segment;
  }

  absl::Status ReadFrameHeader(uint8_t marker, absl::Span<const uint8_t> segment) {
    if (has_frame_) return BadImage("JPEG: two frame headers (SOF)");
    has_frame_ = true;
    if (segment.size() < 6) return BadImage("JPEG: corrupt, the frame header is too short");
    const int precision_bits = segment[0];
    header_.height_px = segment[1] << 8 | segment[2];
    header_.width_px = segment[3] << 8 | segment[4];
    header_.components = segment[5];
    header_.progressive = marker == kJpegSof2;
    if (const auto process = UnsupportedProcess(marker); process.has_value()) {
      return MakeError(ErrorReason::kUnsupported,
                       absl::StrCat("JPEG: ", *process,
                                    " is not decoded; baseline, extended and progressive Huffman "
                                    "coding are"));
    }
    if (precision_bits == 12 && marker != kJpegSof0) {
      return MakeError(ErrorReason::kUnsupported,
                       "JPEG: 12 bits a sample are not decoded; 8 bits are");
    }
    if (precision_bits != 8) {
      return BadImage(absl::StrCat("JPEG: corrupt, ", precision_bits,
                                   " bits a sample in the frame header; must be 8"));
    }
    if (header_.width_px > 0 && header_.height_px == 0) {
      return MakeError(ErrorReason::kUnsupported,
                       "JPEG: height 0 in the frame header (to follow in a DNL segment) is not "
                       "decoded");
    }
    ORBSERVE_RETURN_IF_ERROR(CheckImageSize(header_.width_px, header_.height_px, limits_));
    if (header_.components == 0 ||
        segment.size() != 6 + 3 * static_cast<size_t>(header_.components)) {
      return BadImage(absl::StrCat("JPEG: corrupt, a frame header of ", segment.size(),
                                   " bytes for ", header_.components, " components"));
    }
    if (header_.components != 1 && header_.components != 3) {
      return MakeError(
          ErrorReason::kUnsupported,
          absl::StrCat("JPEG: ", header_.components,
                       header_.components == 4 ? " components (CMYK or YCCK)" : " components",
                       " are not decoded; 1 (grey) and 3 (YCbCr or RGB) are"));
    }
    for (int i = 0; i < header_.components; ++i) component_ids_[i] = segment[6 + 3 * i];
    int max_h = 1;
    int max_v = 1;
    for (int i = 0; i < header_.components; ++i) {
      const int h = segment[6 + 3 * i + 1] >> 4;
      const int v = segment[6 + 3 * i + 1] & 15;
      if (h < 1 || h > kMaxSampling || v < 1 || v > kMaxSampling) {
        return BadImage(absl::StrCat("JPEG: corrupt, sampling factors ", h, "x", v, "; must be 1..",
                                     kMaxSampling));
      }
      max_h = std::max(max_h, h);
      max_v = std::max(max_v, v);
    }
    has_full_luma_ = segment[7] >> 4 == max_h && (segment[7] & 15) == max_v;
    for (int i = 0; i < header_.components; ++i) {
      const int64_t h = segment[6 + 3 * i + 1] >> 4;
      const int64_t v = segment[6 + 3 * i + 1] & 15;
      blocks_ += DivUp<int64_t>(header_.width_px * h, kJpegBlockSide * max_h) *
                 DivUp<int64_t>(header_.height_px * v, kJpegBlockSide * max_v);
      padded_blocks_ += h * DivUp<int64_t>(header_.width_px, kJpegBlockSide * max_h) * v *
                        DivUp<int64_t>(header_.height_px, kJpegBlockSide * max_v);
    }
    return absl::OkStatus();
  }

  // Notes which components the scan brings. A sequential image has each of them in one scan, a
  // progressive one in several.
  absl::Status ReadScanHeader(absl::Span<const uint8_t> segment) {
    if (!has_frame_) return BadImage("JPEG: a scan (SOS) before the frame header (SOF)");
    const int count = segment.empty() ? 0 : segment[0];
    if (count < 1 || count > header_.components ||
        segment.size() != 4 + 2 * static_cast<size_t>(count)) {
      return BadImage(absl::StrCat("JPEG: corrupt, a scan header of ", segment.size(),
                                   " bytes for ", count, " of ", header_.components,
                                   " components"));
    }
    std::array<bool, kMaxComponents> in_scan = {};
    for (int i = 0; i < count; ++i) {
      const int id = segment[1 + 2 * i];
      int component = 0;
      while (component < header_.components &&
             (component_ids_[component] != id || in_scan[component])) {
        ++component;
      }
      if (component == header_.components) {
        return BadImage(absl::StrCat("JPEG: corrupt, a scan of component ", id,
                                     ", which the frame header does not have"));
      }
      if (!header_.progressive && arrived_[component]) {
        return BadImage(absl::StrCat("JPEG: corrupt, component ", id, " in two scans"));
      }
      in_scan[component] = true;
      arrived_[component] = true;
    }
    return absl::OkStatus();
  }

  absl::Status SkipScan() {
    if (++header_.scans > limits_.max_scans) {
      return MakeError(ErrorReason::kTooLarge,
                       absl::StrCat("JPEG: more than ", limits_.max_scans, " scans; at most ",
                                    limits_.max_scans, " are decoded"));
    }
    const size_t end = FindJpegScanEnd(bytes_, position_);
    if (end + 1 >= bytes_.size()) return Truncated("inside a scan");
    scan_bytes_ += static_cast<int64_t>(end - position_);
    position_ = end;
    return absl::OkStatus();
  }

  // A file much shorter than the shortest code for its size is a trap: the decoder would work, and
  // allocate, in proportion to what the header claims. Shortest codes: sequential, 1 bit for the DC
  // difference and 1 for the end of each block; progressive, 1 bit for the DC value of each block
  // (bands of zeros over many blocks share a code).
  absl::Status CheckLength() const {
    const int64_t least_bits = header_.progressive ? blocks_ : 2 * blocks_;
    if (scan_bytes_ * 8 < least_bits) {
      return BadImage(absl::StrCat("JPEG: ", scan_bytes_, " bytes of image data cannot hold the ",
                                   header_.width_px, "x", header_.height_px,
                                   " pixels of its header; at least ",
                                   DivUp<int64_t>(least_bits, 8), " bytes must follow"));
    }
    return absl::OkStatus();
  }

  // With more than one scan the decoder keeps all coefficients, 2 bytes each, until the last.
  absl::Status CheckMemory() {
    if (header_.scans <= 1) return absl::OkStatus();
    header_.decoder_bytes = padded_blocks_ * kJpegBlockCoefficients * 2;
    if (header_.decoder_bytes > limits_.max_decoder_bytes) {
      return MakeError(
          ErrorReason::kTooLarge,
          absl::StrCat("JPEG: decoding its ", header_.scans, " scans takes ", header_.decoder_bytes,
                       " bytes of memory; at most ", limits_.max_decoder_bytes, " are allowed"));
    }
    return absl::OkStatus();
  }

  const absl::Span<const uint8_t> bytes_;
  const ImageLimits& limits_;
  size_t position_ = 0;
  bool has_frame_ = false;
  std::array<int, kMaxComponents> component_ids_ = {};
  std::array<bool, kMaxComponents> arrived_ = {};
  bool has_full_luma_ = true;  // the first component is not subsampled
  JpegColours colours_;
  int64_t blocks_ = 0;         // 8x8 blocks of all components
  int64_t padded_blocks_ = 0;  // the same, with those that fill up the last MCUs
  int64_t scan_bytes_ = 0;     // entropy-coded bytes of all scans
  JpegHeader header_;
};

}  // namespace

absl::StatusOr<JpegHeader> ReadJpegHeader(absl::Span<const uint8_t> bytes,
                                          const ImageLimits& limits) {
  return HeaderReader(bytes, limits).Read();
}

}  // namespace orbserve
