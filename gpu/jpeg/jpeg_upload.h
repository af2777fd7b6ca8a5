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

// The data are cut into pieces. Shorter ones are walked over sooner, and more often too short for
// the walks to find the true symbols.
inline constexpr int kJpegPieceBytes = 64;
// A symbol may reach over the end of its piece: the last piece of a restart interval is longer than
// that.
inline constexpr int kJpegLastPieceBytes = 8;
// Walks that are told apart where a piece ends: up to one for each block of an MCU with which the
// piece may begin, and walks from earlier pieces that have met none of these. The last number
// stands for none.
inline constexpr int kJpegWalks = 32;
inline constexpr int kJpegNoWalk = kJpegWalks - 1;

inline constexpr uint32_t kJpegFirstPiece = 1u << 31;

// The place where the true walk enters a piece.
struct JpegEntry {
  uint64_t place;     // JpegPlace::Key(), kJpegNoPlace where it is not known
  int32_t block;      // number of the block in the file
  int32_t end_block;  // of the restart interval
};
inline constexpr uint64_t kJpegNoPlace = ~uint64_t{0};

// Front of the upload of one file. JpegRoom fills in where its pixels and its verdict go.
struct alignas(16) JpegUpload {
  JpegMcu mcu;
  int32_t pieces;
  int32_t blocks;           // of the file, chroma included
  int32_t interval_blocks;  // from one restart to the next; all where there are none
  int32_t mcus_across;
  int32_t luma_across;  // blocks of luma in an MCU
  int32_t luma_down;
  int32_t luma_blocks;  // of the file
  int32_t width_px;
  int32_t height_px;
  int32_t
      words_offset;    // of the entropy-coded data from here, in words of 32 bits; a multiple of 16
  int32_t undecided;   // of the host's copy: set unless the file was decoded
  int32_t bytes;       // that go up, from here on
  int32_t head_bytes;  // of the file before its entropy-coded data; they lie behind `bytes`

  uint8_t* image;                     // the first pixel; rows are written in steps of 8
  int64_t pitch_bytes;                // a multiple of 8
  volatile int32_t* undecided_there;  // `undecided` in the host's copy, which is pinned memory

  alignas(16) uint16_t quantisers[64];  // in rows
  JpegCodeTables tables;

  // Behind all this: where each piece begins, the byte, with kJpegFirstPiece for the first one of a
  // restart interval. An end that looks like another interval's beginning follows.
  ORBSERVE_HOST_DEVICE uint32_t* piece_begins() { return reinterpret_cast<uint32_t*>(this + 1); }
  ORBSERVE_HOST_DEVICE const uint32_t* piece_begins() const {
    return reinterpret_cast<const uint32_t*>(this + 1);
  }
};

// Writes what a device needs to decode `file`, a JPEG file of this size, to `room`, which is
// aligned to 16 bytes; returns where it lies. Null: the file is one that a device does not decode,
// is damaged in a way that is seen at once, or needs more room.
JpegUpload* MakeJpegUpload(absl::Span<const uint8_t> file, int width_px, int height_px,
                           absl::Span<uint8_t> room);

// A file that every decoder decides as the one that the upload was made of.
std::vector<uint8_t> RestoreJpeg(const JpegUpload& upload);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_JPEG_JPEG_UPLOAD_H_
