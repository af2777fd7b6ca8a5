// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From a client's bytes to the grey image that everything else works on. Two steps, because memory
// is leased between them: ReadImageHeader() decides whether the image may enter and how large it
// is, without allocating anything; DecodeToGrey() writes the pixels straight into the leased slot.
//
// docs/odd-images.md lists what is decoded, and what is refused with which reason. An image is
// decoded whole or refused; pixels that a decoder would have to invent never reach a detector.
//
// All functions are thread-safe and keep nothing between calls but working memory of the thread, at
// most kJpegThreadBytes (jpeg_sequential.h), of which small images touch a small part, and that of
// helpers (kJpegSharedBytes in jpeg_split.h).

#ifndef ORBSERVE_DECODE_IMAGE_DECODER_H_
#define ORBSERVE_DECODE_IMAGE_DECODER_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "decode/decode_helpers.h"
#include "features/algo/grey.h"
#include "features/image_view.h"

namespace orbserve {

struct ImageLimits {
  int max_side_px = 8192;                   // >= 1
  int64_t max_pixels = 67'108'864;          // >= 1
  int max_scans = 64;                       // of one JPEG; encoders write about 10
  int64_t max_decoder_bytes = 512LL << 20;  // working memory of the JPEG decoder for one image
  // A fuse, far above what an image within the other limits takes: the answer to an image must not
  // depend on how busy the machine is.
  std::chrono::milliseconds max_decode_time{10'000};
};

enum class PixelFormat {
  kJpeg,    // one whole file
  kGray8,   // 1 byte a pixel
  kRgb8,    // 3 bytes a pixel
  kBgr8,    // 3 bytes a pixel
  kBgra8,   // 4 bytes a pixel, alpha ignored
  kNv12,    // Y plane, then (or not) a plane of interleaved chroma at half size
  kI420,    // Y plane, then (or not) two planes of chroma at half size
  kYuyv,    // 2 bytes a pixel, Y first; even widths only
  kGray16,  // 2 bytes a pixel, little-endian
  kRgba8,   // 4 bytes a pixel, alpha ignored
  kUyvy,    // 2 bytes a pixel, Y second; even widths only
  // 1 byte a pixel of a Bayer mosaic, named by the first two pixels of two rows; sides from 2
  // pixels
  kBayerRggb8,
  kBayerBggr8,
  kBayerGbrg8,
  kBayerGrbg8,
};

// "JPEG", "GRAY8", ...
absl::string_view PixelFormatName(PixelFormat format);

using BytePiece = absl::Span<const uint8_t>;

// A client's image, borrowed.
struct EncodedImage {
  PixelFormat format = PixelFormat::kJpeg;
  int64_t width_px = 0;      // JPEG: 0 = whatever the file says, else must equal it
  int64_t height_px = 0;     // as width_px
  int64_t stride_bytes = 0;  // bytes between rows; 0 = rows without padding; JPEG: 0
  absl::Span<const uint8_t> bytes;
  // Instead of `bytes`, raw formats only: the image in the pieces in which it came.
  absl::Span<const BytePiece> pieces = {};
  GreyWindow window = {};  // GRAY16

  int64_t size_bytes() const;
};

// Format and size of an admitted image.
struct ImageHeader {
  PixelFormat format = PixelFormat::kJpeg;
  int width_px = 0;          // 1..max_side_px
  int height_px = 0;         // 1..max_side_px
  int64_t stride_bytes = 0;  // bytes between rows of the (Y) plane; JPEG: 0
  bool progressive = false;  // a JPEG of this kind
  int scans = 1;             // of a JPEG
  bool is_rgb = false;       // a JPEG whose three components are all needed for the grey
  // A JPEG that libjpeg-turbo decodes, as far as the markers tell. The strict decoder checks it
  // before, unless it is progressive.
  bool for_library = false;
  int64_t decoder_bytes = 0;  // beside the pixels, while it is decoded
};

// Size of the decoding: about the nanoseconds that a present-day processor takes for it.
// `size_bytes`: of the image as it was sent.
double DecodeWork(const ImageHeader& header, int64_t size_bytes);

// True if `bytes` begin as a JPEG file does.
bool LooksLikeJpeg(absl::Span<const uint8_t> bytes);

// Checks everything that can be known without decoding: limits, declared against actual size, and
// for a JPEG its structure from the first marker to the last (coding process, components,
// subsampling, number of scans, and whether the file is long enough for the size that it claims).
// Allocates nothing but the text of an error. Takes microseconds, and never more than one pass over
// the bytes.
// Errors: BAD_IMAGE, TOO_LARGE (over `limits`), UNSUPPORTED (a healthy JPEG of a kind that is not
// decoded).
absl::StatusOr<ImageHeader> ReadImageHeader(const EncodedImage& image, const ImageLimits& limits);

// Writes the grey pixels of `image` into `out`, which has the size of `header`; `header` is what
// ReadImageHeader() returned for the same image and limits. Writes width_px bytes of each row and
// nothing else. After an error `out` holds unspecified pixels and must not be used.
// JPEG: the Y plane, accurate integer DCT. Colour: features/algo/grey.h. Sequential files are
// checked strictly: entropy-coded data that are damaged are BAD_IMAGE as far as they can be told.
// `helpers` may share the work of a JPEG; null = none.
// Errors: BAD_IMAGE, UNSUPPORTED, TOO_LARGE, OUT_OF_MEMORY (more than `max_decoder_bytes`, or the
// machine's memory is used up), DEADLINE_EXCEEDED (`max_decode_time`), INTERNAL (`out` does not fit
// `header`).
absl::Status DecodeToGrey(const EncodedImage& image, const ImageHeader& header,
                          const ImageLimits& limits, const MutableImageView& out,
                          DecodeHelpers* helpers = nullptr);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_IMAGE_DECODER_H_
