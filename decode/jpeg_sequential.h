// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Strict decoder of sequential JPEG files (baseline and extended, Huffman codes, 8 bits) to grey:
// luma with the bits of libjpeg-turbo's accurate integer DCT. Chroma is parsed and not decoded.
//
// libjpeg-turbo is not strict: it takes a code that is in no table for 0, ignores runs past the end
// of a block and bytes left over. Here each of them is an error that names the MCU.

#ifndef ORBSERVE_DECODE_JPEG_SEQUENTIAL_H_
#define ORBSERVE_DECODE_JPEG_SEQUENTIAL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "decode/decode_helpers.h"
#include "features/image_view.h"

namespace orbserve {

// Working memory that a thread keeps after its first file, at most.
inline constexpr size_t kJpegThreadBytes = 432 << 10;

// One file and its place. The file was admitted by ReadJpegHeader().
struct JpegFile {
  absl::Span<const uint8_t> bytes;
  MutableImageView out;  // of the size of the file
  // OK if the pixels are there. Nothing if libjpeg-turbo must decode the file, or refuse it: if it
  // is progressive, or has several scans, luma not at full sampling, RGB, values that encoders do
  // not write and decoders do not agree on, or something that is unknown here. The scans of
  // a sequential file have been checked then, up to what is unknown.
  // Errors: BAD_IMAGE, DEADLINE_EXCEEDED.
  std::optional<absl::Status> end = std::nullopt;
  // Set if there are values on which decoders do not agree.
  bool has_doubtful_values = false;
};

// Decodes one file in lanes of one thread: from restart marker to restart marker, or from places in
// its middle, as Huffman codes synchronise by themselves.
// `helpers` may share the work; null = none. The result is the same.
void DecodeSequentialJpeg(std::chrono::steady_clock::time_point deadline, JpegFile* file,
                          DecodeHelpers* helpers = nullptr);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_SEQUENTIAL_H_
