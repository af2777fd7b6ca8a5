// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Plain use of libjpeg for tests and benchmarks: files to decode, and what the library itself makes
// of them. Errors end the program.

#ifndef ORBSERVE_TESTS_DECODE_JPEG_ORACLE_H_
#define ORBSERVE_TESTS_DECODE_JPEG_ORACLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/decode/decode_support.h"

namespace orbserve {

struct JpegKind {
  int width_px = 64;
  int height_px = 48;
  int components = 3;  // 1: grey, 3: YCbCr or RGB
  bool progressive = false;
  bool keep_rgb = false;  // write RGB components instead of YCbCr
  int quality = 90;
  int luma_across = 2;  // sampling factors of luma against 1 of chroma, for YCbCr
  int luma_down = 2;
  int restart_interval = 0;      // MCUs
  bool own_tables = false;       // Huffman tables made for the image
  bool noise = false;            // instead of the picture
  bool wide_quantisers = false;  // above 255 where a low quality asks for them
  bool fast_dct = false;         // the encoder's less accurate transform
};

// A JPEG file with these pixels: rows of grey or of interleaved RGB, which becomes grey for a file
// of one component.
std::vector<uint8_t> EncodeJpeg(const JpegKind& kind, const std::vector<uint8_t>& pixels);

// A JPEG file with a picture of that kind: gradients and some noise, the same for the same kind.
std::vector<uint8_t> WriteJpeg(const JpegKind& kind);

// The grey image, or for `rgb` the interleaved RGB image, that libjpeg's plainest calling sequence
// gives.
GreyImage DecodeByLibrary(const std::vector<uint8_t>& bytes, bool rgb = false);

// The grey image; none if libjpeg has an error or a warning, which do not end the program here.
std::optional<GreyImage> DecodeIfHealthy(const std::vector<uint8_t>& bytes);

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_DECODE_JPEG_ORACLE_H_
