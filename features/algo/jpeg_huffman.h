// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Huffman codes of sequential JPEG: from the table of a file to one symbol at a time. A symbol is a
// code of 1 to 16 bits and the bits of a value behind it. Most symbols take at most kJpegLookBits
// bits together, so that one look into a table gives their length, run and value, often of two of
// them. The others take a second, slower look (FindJpegSymbol).
// Source: ITU-T T.81, annexes C and F.2.2.

#ifndef ORBSERVE_FEATURES_ALGO_JPEG_HUFFMAN_H_
#define ORBSERVE_FEATURES_ALGO_JPEG_HUFFMAN_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve {

// Bits of the first look. At quality 90, 4.7 of 100 symbols of luma are longer than 11 bits and 1.8
// longer than 13; a wrong guess of the processor at each of them costs more than the larger table.
inline constexpr int kJpegLookBits = 13;
inline constexpr int kJpegDcLookBits = 9;  // of a table of DC differences: codes without values
inline constexpr int kJpegLookSize = 1 << kJpegLookBits;
inline constexpr int kJpegMaxCodeBits = 16;
inline constexpr int kJpegBlockSide = 8;
inline constexpr int kJpegBlockCoefficients = kJpegBlockSide * kJpegBlockSide;

// A look's result in 32 bits. From the lowest: 6 bits length, 1 bit unknown, 1 bit free, 8 bits
// advance. The advance is added to the place of the next coefficient, 1..63 in zigzag order. One
// comparison with 64 then finds all that ends a run of plain symbols:
//   64        the block is full
//   65..79    a run went past the last coefficient
//   128..191  end of block
//   192..255  the first look cannot tell; the length is 0, the unknown bit is set
// Looks may be added up: lengths and places keep to their bits until a place of 64 or more.
//
// The upper 16 bits of an AC look are those of one symbol or of two: 4 bits run of the first one, 4
// bits signed value of the second one, 8 bits signed value of the first one. The length and the
// advance are those of both together. A look that cannot tell has the number of its code there,
// from 1, or 0 if the code is longer than the look, and a first value of 0. Looks at DC differences
// and skips have a signed value of 16 bits.
inline constexpr int kJpegEndAdvance = 128;
inline constexpr int kJpegUnknownAdvance = 192;
inline constexpr uint32_t kJpegUnknownBit = 64;

using JpegLook = uint32_t;

ORBSERVE_HOST_DEVICE constexpr JpegLook MakeJpegLook(int length, int advance, int value) {
  return static_cast<uint32_t>(length) | static_cast<uint32_t>(advance) << 8 |
         static_cast<uint32_t>(value) << 16;
}
ORBSERVE_HOST_DEVICE constexpr int JpegLookLength(JpegLook look) {
  return static_cast<int>(look & 63);
}
ORBSERVE_HOST_DEVICE constexpr int JpegLookAdvance(JpegLook look) {
  return static_cast<int>(look >> 8 & 255);
}
ORBSERVE_HOST_DEVICE constexpr int JpegLookValue(JpegLook look) {
  return static_cast<int32_t>(look) >> 16;
}

// Largest sizes of values that an AC look has room for.
inline constexpr int kJpegFirstSize = 7;
inline constexpr int kJpegSecondSize = 3;
ORBSERVE_HOST_DEVICE constexpr JpegLook MakeJpegAcLook(int length, int advance, int first_run,
                                                       int first_value, int second_value) {
  return MakeJpegLook(length, advance, first_run | (second_value & 15) << 4) |
         static_cast<uint32_t>(first_value) << 24;
}
ORBSERVE_HOST_DEVICE constexpr int JpegFirstRun(JpegLook look) {
  return static_cast<int>(look >> 16 & 15);
}
ORBSERVE_HOST_DEVICE constexpr int JpegFirstValue(JpegLook look) {
  return static_cast<int32_t>(look) >> 24;
}
ORBSERVE_HOST_DEVICE constexpr int JpegSecondValue(JpegLook look) {
  return static_cast<int32_t>(look << 8) >> 28;
}
// The number of the code of a look that cannot tell.
ORBSERVE_HOST_DEVICE constexpr int JpegLookCode(JpegLook look) {
  return static_cast<int>(look >> 16 & 255);
}

// Several symbols whose values nobody wants: their lengths and advances together, with the end of
// the block if that is one of them. Whether a block ended before its last symbols is not known
// then: JpegBlockHasEnded(). Chroma blocks have few and short symbols, so that one look into a
// small table takes most of them whole.
inline constexpr int kJpegSkipBits = 11;
inline constexpr int kJpegSkipSize = 1 << kJpegSkipBits;
struct JpegSkips {
  JpegLook begin[kJpegSkipSize];  // from the DC difference on, at place 0
  JpegLook look[kJpegSkipSize];   // from an AC value on
};

// A table as a DHT segment has it.
struct JpegCodes {
  uint8_t counts[kJpegMaxCodeBits] = {};  // codes of 1, 2, ... bits
  uint8_t symbols[256] = {};              // in the order of their codes
};

// The same, ready to decode with.
struct JpegTable {
  JpegLook look[kJpegLookSize];
  // For the second look: the last code of each length, or -1, and what to add to a code for the
  // place of its symbol.
  int32_t last_code[kJpegMaxCodeBits + 1];
  int32_t symbol_offset[kJpegMaxCodeBits + 1];
  uint8_t symbols[256];       // by the number of the code
  uint8_t code_lengths[256];  // of those that there are
};

// The value of `size` bits at the top of `window`: with a leading 1 as it is, else negative.
// `size` in 0..16; 0 gives 0. Source: T.81, figure F.12 (EXTEND), without its branches.
ORBSERVE_HOST_DEVICE constexpr int JpegValue(uint64_t window, int size) {
  const int bits = static_cast<int>((window >> 1) >> (63 - size));
  const int negative = static_cast<int>(window >> 63) - 1;  // all ones or none
  return bits - (negative & ((1 << size) - 1));
}

// One symbol: its code's length (0: the table has no such code) and its byte, run << 4 | size.
struct JpegSymbol {
  int code_length;
  int symbol;
};

// The symbol whose code begins at the top of `window`, of which 16 bits are looked at. Codes of
// `first_length` bits and more are searched.
ORBSERVE_HOST_DEVICE constexpr JpegSymbol FindJpegSymbol(const JpegTable& table, uint64_t window,
                                                         int first_length = 1) {
  for (int length = first_length; length <= kJpegMaxCodeBits; ++length) {
    const int code = static_cast<int>(window >> (64 - length));
    if (code <= table.last_code[length]) {
      return {length, table.symbols[(code + table.symbol_offset[length]) & 255]};
    }
  }
  return {0, 0};
}

// Reads the codes of `codes` into the part of `table` that the second look needs. False if they
// are not a prefix code that leaves the code of all ones free (T.81, C.2), or if a table of DC
// differences has a symbol over 15: libjpeg-turbo refuses both.
constexpr bool OrderJpegCodes(const JpegCodes& codes, bool dc, JpegTable* table) {
  int32_t code = 0;
  int32_t place = 0;
  table->last_code[0] = -1;
  table->symbol_offset[0] = 0;
  for (int length = 1; length <= kJpegMaxCodeBits; ++length) {
    const int count = codes.counts[length - 1];
    if (place + count > 256) return false;
    table->symbol_offset[length] = place - code;
    table->last_code[length] = count > 0 ? code + count - 1 : -1;
    for (int i = 0; i < count; ++i) table->code_lengths[place++] = static_cast<uint8_t>(length);
    code += count;
    if (count > 0 && code >= 1 << length) return false;
    code <<= 1;
  }
  for (int i = 0; i < 256; ++i) {
    table->symbols[i] = codes.symbols[i];
    if (dc && i < place && codes.symbols[i] > 15) return false;
  }
  return true;
}

// `code`: its number, from 0; -1 if it is longer than the look.
ORBSERVE_HOST_DEVICE constexpr JpegLook UnknownJpegLook(int code) {
  return MakeJpegLook(0, kJpegUnknownAdvance, code < 255 ? code + 1 : 0) | kJpegUnknownBit;
}

// Of a DC difference: the length of code and value, the code's length as the advance, and the size
// of the value as the value. Few values would have room in a table of this size.
ORBSERVE_HOST_DEVICE constexpr JpegLook JpegLookOfDc(int code_length, int symbol) {
  return MakeJpegLook(code_length + symbol, code_length, symbol);
}
// The difference at the top of `window`, given its look.
ORBSERVE_HOST_DEVICE constexpr int JpegDcValue(JpegLook look, uint64_t window) {
  return JpegValue(window << JpegLookAdvance(look), JpegLookValue(look));
}
// Returns the look of an AC value. `rest`: the bits after the code, at the top of 64. `code`: its
// number.
ORBSERVE_HOST_DEVICE constexpr JpegLook JpegLookOfAc(int code_length, int symbol, uint64_t rest,
                                                     int code) {
  const int run = symbol >> 4;
  const int size = symbol & 15;
  const int length = code_length + size;
  if (length > kJpegLookBits || size > kJpegFirstSize) return UnknownJpegLook(code);
  if (size == 0) {
    if (run == 0) return MakeJpegAcLook(length, kJpegEndAdvance, 0, 0, 0);
    // Runs without a value are 16 zeros. Others belong to progressive files.
    if (run != 15) return UnknownJpegLook(code);
  }
  return MakeJpegAcLook(length, run + 1, run, JpegValue(rest, size), 0);
}

// Makes `table` of `codes`. False, and an unusable table, as OrderJpegCodes().
constexpr bool BuildJpegTable(const JpegCodes& codes, bool dc, JpegTable* table) {
  if (!OrderJpegCodes(codes, dc, table)) return false;
  const int look_bits = dc ? kJpegDcLookBits : kJpegLookBits;
  JpegLook* look = table->look;
  int place = 0;
  for (int length = 1; length <= look_bits; ++length) {
    const int rest_bits = look_bits - length;
    for (int i = 0; i < codes.counts[length - 1]; ++i, ++place) {
      const int symbol = codes.symbols[place];
      const int size = dc ? 0 : symbol & 15;
      // All values of this code that the table has room for; if none, the code alone.
      const int value_bits = size <= rest_bits ? size : 0;
      const int same = 1 << (rest_bits - value_bits);
      for (int value = 0; value < 1 << value_bits; ++value) {
        const uint64_t rest =
            value_bits == 0 ? 0 : static_cast<uint64_t>(value) << (64 - value_bits);
        const JpegLook entry =
            dc ? JpegLookOfDc(length, symbol) : JpegLookOfAc(length, symbol, rest, place);
        for (int j = 0; j < same; ++j) look[j] = entry;
        look += same;
      }
    }
  }
  while (look < table->look + (1 << look_bits)) *look++ = UnknownJpegLook(-1);
  return true;
}

// Makes `looks` of the single ones of an AC table: two symbols where the look has room for both.
constexpr void PairJpegLooks(const JpegTable& table, JpegLook (*looks)[kJpegLookSize]) {
  for (int i = 0; i < kJpegLookSize; ++i) {
    const JpegLook first = table.look[i];
    (*looks)[i] = first;
    if (JpegLookAdvance(first) >= kJpegEndAdvance) continue;
    // The low bits of the rest are not those of the file.
    const JpegLook second = table.look[i << JpegLookLength(first) & (kJpegLookSize - 1)];
    if (JpegLookAdvance(second) >= kJpegUnknownAdvance) continue;
    const int length = JpegLookLength(first) + JpegLookLength(second);
    const int value = JpegFirstValue(second);
    constexpr int kMost = (1 << kJpegSecondSize) - 1;
    if (length > kJpegLookBits || value > kMost || value < -kMost) continue;
    (*looks)[i] = MakeJpegAcLook(length, JpegLookAdvance(first) + JpegLookAdvance(second),
                                 JpegFirstRun(first), JpegFirstValue(first), value);
  }
}

// Adds to a look, of the `length` bits at the top of a skip's index, the AC values that follow.
constexpr JpegLook JpegSkipOf(const JpegTable& ac, int index, int length, int advance) {
  while (advance < kJpegBlockCoefficients) {
    // The low bits of the index are not those of the file.
    const int rest = index << length & (kJpegSkipSize - 1);
    const JpegLook next = ac.look[rest << (kJpegLookBits - kJpegSkipBits)];
    if (JpegLookAdvance(next) >= kJpegUnknownAdvance) break;
    if (length + JpegLookLength(next) > kJpegSkipBits) break;
    if (advance + JpegLookAdvance(next) % kJpegEndAdvance >= kJpegBlockCoefficients) break;
    length += JpegLookLength(next);
    advance += JpegLookAdvance(next);
  }
  return length == 0 ? UnknownJpegLook(-1) : MakeJpegLook(length, advance, 0);
}

// Makes `skips` of the tables of a block.
constexpr void BuildJpegSkips(const JpegTable& dc, const JpegTable& ac, JpegSkips* skips) {
  for (int i = 0; i < kJpegSkipSize; ++i) {
    skips->look[i] = JpegSkipOf(ac, i, 0, 0);
    const JpegLook difference = dc.look[i >> (kJpegSkipBits - kJpegDcLookBits)];
    const int length = JpegLookLength(difference);
    const bool known = length > 0 && length <= kJpegSkipBits;
    skips->begin[i] = known ? JpegSkipOf(ac, i, length, 1) : UnknownJpegLook(-1);
  }
}

// True if a block has ended with the last of the symbols that moved its next place to `place`, 64
// or more. Else it ended before, a run was too long, or the look could not tell.
ORBSERVE_HOST_DEVICE constexpr bool JpegBlockHasEnded(uint32_t place) {
  return place == kJpegBlockCoefficients ||
         (place >= kJpegEndAdvance && place < kJpegEndAdvance + kJpegBlockCoefficients);
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_JPEG_HUFFMAN_H_
