// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Walks over entropy-coded JPEG data from any bit on, symbol by symbol, with little memory: the
// form of the decoder for devices, where thousands of walks through the same data run at once.
// Huffman codes synchronise by themselves: a walk that begins with a wrong guess finds the true
// symbols after some bits, and from there on it equals the true walk.
// Source: ITU-T T.81, annex F.2.2; Weissenberger & Schmidt, "Accelerating JPEG decompression on
// GPUs", HiPC 2021.

#ifndef ORBSERVE_FEATURES_ALGO_JPEG_PATH_H_
#define ORBSERVE_FEATURES_ALGO_JPEG_PATH_H_

#include <cstdint>

#include "features/algo/jpeg_huffman.h"
#include "features/host_device.h"

namespace orbserve {

// One look into a table takes so many bits. 1 in 200 symbols of luma has a longer code.
inline constexpr int kJpegShortCodeBits = 10;
inline constexpr int kJpegShortCodes = 1 << kJpegShortCodeBits;
inline constexpr int kJpegLongCodeLengths = kJpegMaxCodeBits - kJpegShortCodeBits;

// Symbols in 16 bits: 8 bits for their lengths, and above them 8 bits advance, which is added to
// the number of the next coefficient. The sum then tells how a block goes on:
//   up to 63           it does
//   128..191           it ends there
//   64..127, 192..255  another look must tell: it is full, goes on too long, or had its end before
//                      the last of these symbols; or there are none. Bit 6 is set.
inline constexpr uint32_t kJpegPathEnd = 128;
inline constexpr uint32_t kJpegPathUnknown = 192;
inline constexpr uint32_t kJpegPathDoubt = 64;

// One symbol: 4 bits length of the code, and 4 bits of the value. 0 is none.
using JpegCode = uint32_t;
ORBSERVE_HOST_DEVICE constexpr uint32_t JpegCodeLength(JpegCode code) { return code & 15; }
ORBSERVE_HOST_DEVICE constexpr uint32_t JpegCodeSize(JpegCode code) { return code >> 4 & 15; }
ORBSERVE_HOST_DEVICE constexpr uint32_t JpegCodeAdvance(JpegCode code) { return code >> 8; }
// Without the length of the code itself, which is at most 15: one of 16 bits counts as none.
constexpr JpegCode MakeJpegCode(int symbol, bool dc) {
  const uint32_t run = static_cast<uint32_t>(symbol) >> 4;
  const uint32_t size = static_cast<uint32_t>(symbol) & 15;
  if (dc) return size << 4 | 1u << 8;
  // Runs without a value are 16 zeros. Others belong to progressive files.
  if (size == 0 && run != 0 && run != 15) return 0;
  const uint32_t advance = symbol == 0 ? kJpegPathEnd : run + 1;
  return size << 4 | advance << 8;
}

// Codes of more than kJpegShortCodeBits bits.
struct alignas(16) JpegLongCodes {
  // Each length has the first 16 bits of data that belong to a still longer code, and what is added
  // to a code for the place of its symbol.
  uint16_t limits[7];
  uint16_t begin;  // the first 16 bits of data that belong to a long code
  int32_t symbol_offsets[8];
  uint16_t symbols[256];  // MakeJpegCode()

  // The code at the top of `window`, which is not a short one, with its length in the bits from 16
  // on. 0: there is none.
  ORBSERVE_HOST_DEVICE JpegCode At(uint32_t window) const {
    const uint32_t bits = window >> 16;
    if (bits < begin) return 0;  // a short code of what is no symbol
    int longer = 0;
    ORBSERVE_UNROLL
    for (int i = 0; i < kJpegLongCodeLengths; ++i) longer += bits >= limits[i] ? 1 : 0;
    if (longer == kJpegLongCodeLengths) return 0;
    const int length = kJpegShortCodeBits + 1 + longer;
    const int code = static_cast<int>(window >> (32 - length));
    const JpegCode symbol = symbols[(code + symbol_offsets[longer]) & 255];
    return symbol == 0 ? 0 : symbol | static_cast<uint32_t>(length) << 16;
  }
};

// The Huffman tables of a file: those of luma and, where there is chroma, those of chroma. A table
// has the number 2 * pair, and 1 more for AC values.
inline constexpr int kJpegTablePairs = 2;
inline constexpr int kJpegTables = 2 * kJpegTablePairs;
struct JpegCodeTables {
  uint16_t short_codes[kJpegTables][kJpegShortCodes];  // unknown: longer, or none
  JpegLongCodes long_codes[kJpegTables];
  // All symbols together whose codes lie within the bits of one look, up to the end of a block: the
  // sums of their lengths with those of their values, and of their advances. Those of a table of DC
  // values begin with one of them and go on with AC values of the same pair.
  uint16_t runs[kJpegTables][kJpegShortCodes];
};

// The symbols that a look at `index` finds one after the other: the first by one table, the others
// by that of AC values.
constexpr JpegCode MakeJpegRun(const uint16_t (&first_codes)[kJpegShortCodes],
                               const uint16_t (&ac_codes)[kJpegShortCodes], int index) {
  uint32_t length = 0;
  uint32_t advance = 0;
  while (length < kJpegShortCodeBits && advance < kJpegPathEnd) {
    const auto& codes = length == 0 ? first_codes : ac_codes;
    const JpegCode code = codes[index << length & (kJpegShortCodes - 1)];
    const uint32_t more = JpegCodeAdvance(code);
    if (more == kJpegPathUnknown) break;
    if (length + JpegCodeLength(code) > kJpegShortCodeBits) break;
    if (advance + more % kJpegPathEnd >= kJpegBlockCoefficients) break;
    length += JpegCodeLength(code) + JpegCodeSize(code);
    advance += more;
  }
  return length == 0 ? kJpegPathUnknown << 8 : length | advance << 8;
}

// Makes table number `number` of the second look's part of `table`.
constexpr void BuildJpegCodeTable(const JpegTable& table, int number, JpegCodeTables* to) {
  const bool dc = number % 2 == 0;
  JpegLongCodes& long_codes = to->long_codes[number];
  for (int i = 0; i < 256; ++i) {
    long_codes.symbols[i] = static_cast<uint16_t>(MakeJpegCode(table.symbols[i], dc));
  }
  uint16_t(&short_codes)[kJpegShortCodes] = to->short_codes[number];
  int entry = 0;
  for (int length = 1; length <= kJpegShortCodeBits; ++length) {
    const int same = 1 << (kJpegShortCodeBits - length);
    for (int code = entry / same; code <= table.last_code[length]; ++code) {
      const JpegCode symbol = long_codes.symbols[(code + table.symbol_offset[length]) & 255];
      const JpegCode full =
          symbol == 0 ? kJpegPathUnknown << 8 : symbol | static_cast<uint32_t>(length);
      for (int i = 0; i < same; ++i) short_codes[entry++] = static_cast<uint16_t>(full);
    }
  }
  while (entry < kJpegShortCodes) short_codes[entry++] = kJpegPathUnknown << 8;
  uint32_t limit = 0;
  for (int length = 1; length <= kJpegMaxCodeBits; ++length) {
    if (table.last_code[length] >= 0) {
      limit = static_cast<uint32_t>(table.last_code[length] + 1) << (kJpegMaxCodeBits - length);
    }
    // At most 65535: all ones are no code.
    if (length == kJpegShortCodeBits) long_codes.begin = static_cast<uint16_t>(limit);
    const int place = length - kJpegShortCodeBits - 1;
    if (place < 0) continue;
    long_codes.limits[place] = static_cast<uint16_t>(limit);
    long_codes.symbol_offsets[place] = table.symbol_offset[length];
  }
}

// Makes the tables of a pair.
constexpr void BuildJpegCodeTables(const JpegTable& dc, const JpegTable& ac, int pair,
                                   JpegCodeTables* to) {
  for (const int number : {2 * pair, 2 * pair + 1}) {
    const bool is_dc = number % 2 == 0;
    BuildJpegCodeTable(is_dc ? dc : ac, number, to);
  }
  const uint16_t(&ac_codes)[kJpegShortCodes] = to->short_codes[2 * pair + 1];
  for (const int number : {2 * pair, 2 * pair + 1}) {
    for (int i = 0; i < kJpegShortCodes; ++i) {
      to->runs[number][i] =
          static_cast<uint16_t>(MakeJpegRun(to->short_codes[number], ac_codes, i));
    }
  }
}

// The blocks of an MCU in the order of the file. Those of luma come first.
struct JpegMcu {
  uint8_t blocks = 1;  // 1..10
  uint8_t luma_blocks = 1;
  uint16_t pairs = 0;  // a bit for each block: its pair of tables
};

// A place where a block begins.
struct JpegPlace {
  uint32_t bit;
  uint32_t block;  // of the MCU

  bool operator==(const JpegPlace&) const = default;
};

// The bits of a file from some place on. Words(i) gives the next 32 bits, from their highest on, of
// word number i; one word is asked for ahead of the 64 bits that are there.
template <typename Words>
class JpegBits {
 public:
  ORBSERVE_HOST_DEVICE JpegBits(const Words& words, uint32_t bit)
      : words_(words),
        bit_(bit),
        word_(bit / 32),
        first_(words(word_)),
        second_(words(word_ + 1)),
        third_(words(word_ + 2)) {}

  ORBSERVE_HOST_DEVICE uint32_t bit() const { return bit_; }
  // The next 32 bits, from the highest on.
  ORBSERVE_HOST_DEVICE uint32_t Window() const { return FunnelShiftLeft(first_, second_, bit_); }
  // `bits` in 0..31.
  ORBSERVE_HOST_DEVICE void Skip(uint32_t bits) {
    bit_ += bits;
    const bool over = bit_ / 32 != word_;
    word_ = bit_ / 32;
    first_ = over ? second_ : first_;
    second_ = over ? third_ : second_;
    if (over) third_ = words_(word_ + 2);  // long before it is needed
  }

 private:
  const Words words_;
  uint32_t bit_;
  uint32_t word_;  // of the bit
  uint32_t first_;
  uint32_t second_;
  uint32_t third_;
};

// The value of `size` bits, 0..15, at the top of `window`. As JpegValue().
ORBSERVE_HOST_DEVICE constexpr int JpegShortValue(uint32_t window, uint32_t size) {
  const int bits = static_cast<int>((window >> 1) >> (31 - size));
  const int negative = static_cast<int>(window >> 31) - 1;  // all ones or none
  return bits - (negative & ((1 << size) - 1));
}

// The symbols of a block take at most so many bits: one DC value and 63 others.
inline constexpr int kJpegMaxBlockBits = kJpegBlockCoefficients * (kJpegMaxCodeBits + 15);

// Walks from `place` over all blocks that begin before `end_bit`, moves `place` to the block behind
// them, and returns their number. What is no symbol ends its block, and so does a run that is too
// long: the walk may be a wrong one. There are branches for rare cases only, as 32 walks go in
// step.
template <typename Words>
ORBSERVE_HOST_DEVICE int WalkJpeg(const Words& words, const JpegCodeTables& tables,
                                  const JpegMcu& mcu, uint32_t end_bit, JpegPlace* place) {
  if (place->bit >= end_bit) return 0;
  // The pairs of the blocks from this one on, from the lowest bit on, below a bit that is set.
  const uint32_t whole_mcu = 1u << mcu.blocks | mcu.pairs;
  uint32_t rest_of_mcu = whole_mcu >> place->block;
  JpegBits<Words> bits(words, place->bit);
  uint32_t coefficient = 0;
  uint32_t number = 2 * (rest_of_mcu & 1);
  int ended_blocks = 0;
  bool ended = false;
  do {
    const uint32_t window = bits.Window();
    const uint32_t index = window >> (32 - kJpegShortCodeBits);
    const uint32_t run = tables.runs[number][index];
    uint32_t length = run & 255;
    coefficient += run >> 8;
    if ((coefficient & kJpegPathDoubt) != 0) {
      coefficient -= run >> 8;
      JpegCode code = tables.short_codes[number][index];
      length = JpegCodeLength(code);
      if (JpegCodeAdvance(code) == kJpegPathUnknown) {
        code = tables.long_codes[number].At(window);
        length = code >> 16;
        code &= 0xFFFF;
      }
      length = code == 0 ? 1 : length + JpegCodeSize(code);
      coefficient += JpegCodeAdvance(code);
      if (code == 0 || coefficient >= kJpegBlockCoefficients) coefficient = kJpegPathEnd;
    }
    bits.Skip(length);
    ended = coefficient >= kJpegPathEnd;
    number |= 1;
    if (ended) {
      coefficient = 0;
      ++ended_blocks;
      rest_of_mcu >>= 1;
      if (rest_of_mcu == 1) rest_of_mcu = whole_mcu;
      number = 2 * (rest_of_mcu & 1);
    }
  } while (!ended || bits.bit() < end_bit);
  place->bit = bits.bit();
  place->block = (place->block + static_cast<uint32_t>(ended_blocks)) % mcu.blocks;
  return ended_blocks;
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_JPEG_PATH_H_
