// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Entropy decoding of JPEG scans in lanes: one thread decodes at several places of a file, a symbol
// of each in turn. At one place it would wait for tables most of the time, as the length of a
// symbol must be known before the next one is looked up. One lane works while another waits.

#ifndef ORBSERVE_DECODE_JPEG_LANES_H_
#define ORBSERVE_DECODE_JPEG_LANES_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "features/algo/jpeg_huffman.h"

namespace orbserve {

// A third lane gains nothing: x86-64 has too few registers for its state, and a wrong guess of the
// processor at the end of one lane's block delays all of them.
inline constexpr int kJpegMaxLanes = 2;
inline constexpr int kJpegMaxBlocksInMcu = 10;  // T.81, B.2.3
// More than the longest MCU: 64 symbols of 16 bits of code and 15 of value for each block. A lane
// may read so far beyond the place where it stops: it looks 16 bytes ahead.
inline constexpr int kJpegMaxMcuBytes = kJpegMaxBlocksInMcu * 64 * 31 / 8 + 24;

// One block of an MCU in the order of the file.
struct JpegBlockKind {
  const JpegTable* dc = nullptr;
  const JpegTable* ac = nullptr;
  const JpegLook* looks = nullptr;   // of `ac`, single or in pairs
  const JpegSkips* skips = nullptr;  // of both, or null: a block that is not kept takes longer
  bool kept = false;                 // its coefficients are wanted
  bool last = false;                 // of the MCU
};

enum class JpegStop {
  kNone,
  kPause,    // before an MCU: `end_bit` or `mcus` is reached
  kBadCode,  // at `bit`, a code that its table does not have, or one for progressive files
  kLongRun,  // a run past the last coefficient, up to `bit`
};

// A place in memory, as lanes count it: the address times 8, plus the bits read of that byte.
inline uint64_t JpegBitOf(const uint8_t* byte) {
  return uint64_t{reinterpret_cast<uintptr_t>(byte)} << 3;
}
inline const uint8_t* JpegByteOf(uint64_t bit) {
  return reinterpret_cast<const uint8_t*>(bit >> 3);
}

// A lane stops before the first MCU that begins at `end_bit` or later, and after `mcus` of them.
struct JpegLane {
  uint64_t bit = 0;  // as JpegBitOf()
  uint64_t end_bit = 0;
  int64_t mcus = 0;                       // at least 1
  const JpegBlockKind* blocks = nullptr;  // of an MCU
  // Coefficients of the kept blocks, 64 a block in rows. Instead of the DC value the difference to
  // the last kept block. One block more than the MCUs have is written to.
  int16_t* coefficients = nullptr;
  // If set, points to the beginning of the next MCU, which the caller has noted. The lane moves it
  // on and writes the beginnings of the MCUs after that one.
  uint64_t* starts = nullptr;
  JpegStop stop = JpegStop::kNone;
  // Bits from `bit` on that kBadCode is about: the length of the code, or kJpegMaxCodeBits if no
  // code of the table begins like these bits.
  int bad_code_bits = 0;

  // Within an MCU; private to RunJpegLanes(). To begin with an MCU, `block` is null.
  const JpegBlockKind* block = nullptr;
  uint32_t next_place = 0;
};

// Decodes in 1..kJpegMaxLanes lanes until at least one of them has stopped. A lane that stopped
// with kPause may go on in the next call.
void RunJpegLanes(absl::Span<JpegLane* const> lanes);

// Copies entropy-coded bytes without the zeros after each 0xFF, from `*from` until `from_end`, the
// first marker (its 0xFF) or the end of the room at `*to`; moves both pointers. The room must have
// 32 bytes more than `to_end` says. Returns true if a marker or the end was reached. 0xFF 0xFF 0x00
// is taken for a marker: fill bytes stand before markers only (T.81, F.2.2.5), and libjpeg-turbo
// does not always read it as one 0xFF.
bool CopyJpegBytes(const uint8_t** from, const uint8_t* from_end, uint8_t** to,
                   const uint8_t* to_end);

// The first 0xFF in front of `end` that no 0 follows there; `end` if there is none.
const uint8_t* FindJpegMarker(const uint8_t* from, const uint8_t* end);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_LANES_H_
