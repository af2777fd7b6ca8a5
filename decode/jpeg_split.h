// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_JPEG_SPLIT_H_
#define ORBSERVE_DECODE_JPEG_SPLIT_H_

#include <chrono>
#include <cstddef>

#include "decode/decode_helpers.h"
#include "decode/jpeg_part.h"
#include "decode/jpeg_scan.h"
#include "features/image_view.h"

namespace orbserve {

// Memory that a thread keeps at most after its first DecodeBySynchronising().
inline constexpr size_t kJpegSplitBytes = 368 << 10;

// Memory that the process keeps at most after it has shared images with helpers, and that one
// such image takes.
inline constexpr size_t kJpegSharedBytes = 9 << 20;

// Decodes a whole scan without restart markers in several lanes of one thread. All but the first
// begin in the middle of the data, with a guess that an MCU begins there. Huffman codes synchronise
// by themselves: after some symbols the guess has turned into the truth. The lane before goes on
// until one of its MCUs begins where one of the next lane's does; from there on the next lane's
// blocks are the image's. DC differences become values when the order of the blocks is known.
//
// Other threads may decode pieces of the data in the same way. `helpers`: null = none.
//
// The result, errors included, is that of decoding from the beginning to the end.
// Source: Klein & Wiseman, "Parallel Huffman decoding with applications to JPEG files", The
// Computer Journal 46(5), 2003; Weissenberger & Schmidt, "Accelerating JPEG decompression on GPUs",
// HiPC 2021.
JpegEnd DecodeBySynchronising(const JpegScan& scan, const MutableImageView& out,
                              std::chrono::steady_clock::time_point deadline,
                              DecodeHelpers* helpers);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_SPLIT_H_
