// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A JPEG file in the form in which a device decodes it: tables, the places where walks begin, and
// the entropy-coded bytes without stuffing. docs/gpu.md describes the decoding.

#ifndef ORBSERVE_GPU_JPEG_JPEG_UPLOAD_H_
#define ORBSERVE_GPU_JPEG_JPEG_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "features/algo/jpeg_path.h"
#include "features/host_device.h"

namespace orbserve::gpu {

// The data are cut into pieces of this size. Shorter ones take less time, but in more of them walks
// do not find the true symbols: they are for few files, which leave a device idle.
inline constexpr int kJpegPieceBytes = 64;
inline constexpr int kJpegShortPieceBytes = 32;
// A piece follows another one in a restart interval if so many bytes are left: more than a symbol
// that reaches over the end of the piece before.
inline constexpr int kJpegLastPieceBytes = 8;
// Walks of a piece have numbers. The first walks are those that were begun for it, at most one for
// each block of an MCU, the next ones come from earlier pieces. The last number stands for no walk.
inline constexpr int kJpegWalks = 32;
inline constexpr int kJpegNoWalk = kJpegWalks - 1;

// Marks the first piece of a restart interval in JpegUpload::piece_begins().
inline constexpr uint32_t kJpegFirstPiece = 1u << 31;

// The place at which a walk leaves a piece, from the piece's end on: bits << 4 | block of the MCU.
using JpegExit = uint16_t;
inline constexpr JpegExit kJpegNoExit = 0xFFFF;
static_assert(((kJpegMaxBlockBits + kJpegMaxCodeBits + 15) << 4) < kJpegNoExit);

// Front of the upload of one file. JpegRoom fills in where its pixels and its verdict go.
struct alignas(16) JpegUpload {
  JpegMcu mcu;
  int32_t pieces;
  int32_t short_pieces;
  int32_t short_begins_offset;  // from here on, in words of 32 bits

  int32_t blocks;           // of the file, chroma included
  int32_t interval_blocks;  // from one restart to the next; all where there are none
  int32_t mcus_across;
  int32_t luma_across;  // blocks of luma in an MCU
  int32_t luma_down;
  int32_t luma_blocks;  // of the file
  int32_t width_px;
  int32_t height_px;
  // The entropy-coded data begin so many words of 32 bits from here: a multiple of 16.
  int32_t words_offset;
  int32_t undecided;   // of the host's copy: set unless the file was decoded
  int32_t bytes;       // that are copied to the device, from here on
  int32_t head_bytes;  // of the file before its entropy-coded data; they lie behind `bytes`

  uint8_t* image;                     // the first pixel; rows are written in steps of 8
  int64_t pitch_bytes;                // a multiple of 8
  volatile int32_t* undecided_there;  // `undecided` in the host's copy, which is pinned memory

  alignas(16) uint16_t quantisers[64];  // in columns
  JpegCodeTables tables;

  // These lie behind the struct: the byte with which each piece begins, with kJpegFirstPiece for
  // the first one of a restart interval. The end of the last piece follows, marked in the same way.
  // Then the same of the short pieces.
  ORBSERVE_HOST_DEVICE uint32_t* piece_begins() { return reinterpret_cast<uint32_t*>(this + 1); }
  ORBSERVE_HOST_DEVICE const uint32_t* piece_begins() const {
    return reinterpret_cast<const uint32_t*>(this + 1);
  }
};

// Writes the upload of `file`, a JPEG file of this size, to `room`, which is aligned to 16 bytes,
// and returns its place. Null if a device does not decode files of this kind, if the file is seen
// to be damaged, or if it needs more room.
JpegUpload* MakeJpegUpload(absl::Span<const uint8_t> file, int width_px, int height_px,
                           absl::Span<uint8_t> room);

// A file for the host's decoders: they decode it to the same pixels as the one that the upload was
// made of, or refuse it with the same error.
std::vector<uint8_t> RestoreJpeg(const JpegUpload& upload);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_JPEG_JPEG_UPLOAD_H_
