// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Markers of JPEG files: 0xFF and one of these bytes. Source: ITU-T T.81, table B.1.

#ifndef ORBSERVE_DECODE_JPEG_MARKERS_H_
#define ORBSERVE_DECODE_JPEG_MARKERS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace orbserve {

inline constexpr uint8_t kJpegTem = 0x01;
inline constexpr uint8_t kJpegSof0 = 0xC0;   // baseline
inline constexpr uint8_t kJpegSof1 = 0xC1;   // extended sequential
inline constexpr uint8_t kJpegSof2 = 0xC2;   // progressive
inline constexpr uint8_t kJpegSof3 = 0xC3;   // lossless
inline constexpr uint8_t kJpegDht = 0xC4;    // Huffman tables
inline constexpr uint8_t kJpegJpg = 0xC8;    // reserved for extensions
inline constexpr uint8_t kJpegSof9 = 0xC9;   // as SOF1, with arithmetic coding
inline constexpr uint8_t kJpegSof10 = 0xCA;  // as SOF2, with arithmetic coding
inline constexpr uint8_t kJpegSof11 = 0xCB;  // as SOF3, with arithmetic coding
inline constexpr uint8_t kJpegDac = 0xCC;    // conditions of arithmetic coding
inline constexpr uint8_t kJpegSof15 = 0xCF;
inline constexpr uint8_t kJpegRst0 = 0xD0;
inline constexpr uint8_t kJpegRst7 = 0xD7;
inline constexpr uint8_t kJpegSoi = 0xD8;  // start of image
inline constexpr uint8_t kJpegEoi = 0xD9;  // end of image
inline constexpr uint8_t kJpegSos = 0xDA;  // scan header
inline constexpr uint8_t kJpegDqt = 0xDB;  // quantisers
inline constexpr uint8_t kJpegDnl = 0xDC;  // number of lines
inline constexpr uint8_t kJpegDri = 0xDD;  // restart interval
inline constexpr uint8_t kJpegApp0 = 0xE0;
inline constexpr uint8_t kJpegApp14 = 0xEE;
inline constexpr uint8_t kJpegApp15 = 0xEF;
inline constexpr uint8_t kJpegCom = 0xFE;  // comment

constexpr bool IsJpegRestart(uint8_t marker) { return marker >= kJpegRst0 && marker <= kJpegRst7; }

// True for markers between SOI and EOI that no segment follows.
constexpr bool IsJpegMarkerAlone(uint8_t marker) {
  return marker == kJpegTem || IsJpegRestart(marker);
}

// The marker of a scan's restart `number`, 0 = the first.
constexpr uint8_t JpegRestartMarker(int64_t number) {
  return static_cast<uint8_t>(kJpegRst0 + number % 8);
}

// The byte after the marker of restart `number`, which begins at `from`, perhaps after fill bytes.
// Null if another marker or byte follows, or the data end at `end`.
const uint8_t* PassJpegRestart(const uint8_t* from, const uint8_t* end, int64_t number);

// True if all bytes from `from` until `end` are fill bytes.
bool AreJpegFillBytes(const uint8_t* from, const uint8_t* end);

// Returns where the entropy-coded bytes that begin at `begin` end: at the 0xFF of the first marker
// that is no restart marker. If there is none, at the end of `bytes`, or at its last byte if that
// is 0xFF.
size_t FindJpegScanEnd(absl::Span<const uint8_t> bytes, size_t begin);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_MARKERS_H_
