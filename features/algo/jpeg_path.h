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

// A symbol with its code in 16 bits. From the lowest: 5 bits length of code and value, 4 bits of
// the value alone, 7 bits advance: what is added to the number of the next coefficient. The end of
// a block adds 64. 0 is no symbol.
using JpegCode = uint32_t;
ORBSERVE_HOST_DEVICE constexpr uint32_t JpegCodeLength(JpegCode code) { return code & 31; }
ORBSERVE_HOST_DEVICE constexpr uint32_t JpegCodeSize(JpegCode code) { return code >> 5 & 15; }
ORBSERVE_HOST_DEVICE constexpr uint32_t JpegCodeAdvance(JpegCode code) { return code >> 9; }
// Without the length of the code itself.
constexpr JpegCode MakeJpegCode(int symbol, bool dc) {
  const uint32_t run = static_cast<uint32_t>(symbol) >> 4;
  const uint32_t size = static_cast<uint32_t>(symbol) & 15;
  if (dc) return size | size << 5 | 1u << 9;
  // Runs without a value are 16 zeros. Others belong to progressive files.
  if (size == 0 && run != 0 && run != 15) return 0;
  const uint32_t advance = symbol == 0 ? kJpegBlockCoefficients : run + 1;
  return size | size << 5 | advance << 9;
}

// Codes of more than kJpegShortCodeBits bits.
struct alignas(16) JpegLongCodes {
  // Each length has the first 16 bits of data that belong to a still longer code, and what is added
  // to a code for the place of its symbol.
  uint16_t limits[7];
  uint16_t begin;  // the first 16 bits of data that belong to a long code
  int32_t symbol_offsets[8];
  uint16_t symbols[256];  // MakeJpegCode()

  // The code at the top of `window`, which is not a short one. 0: there is none.
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
    return symbol == 0 ? 0 : symbol + static_cast<uint32_t>(length);
  }
};

// The Huffman tables of a file: those of luma and, where there is chroma, those of chroma. A table
// has the number 2 * pair, and 1 more for AC values.
inline constexpr int kJpegTablePairs = 2;
inline constexpr int kJpegTables = 2 * kJpegTablePairs;
struct JpegCodeTables {
  uint16_t short_codes[kJpegTables][kJpegShortCodes];  // 0: longer, or none
  JpegLongCodes long_codes[kJpegTables];
  // All AC symbols together whose codes lie within the bits of one look, up to the end of a block,
  // with the sums of their lengths and advances; values count for nothing. One DC difference.
  uint16_t runs[kJpegTables][kJpegShortCodes];
};

// The symbols that a look at `index` finds one after the other.
constexpr JpegCode MakeJpegRun(const uint16_t (&short_codes)[kJpegShortCodes], int index) {
  uint32_t length = 0;
  uint32_t advance = 0;
  while (length < kJpegShortCodeBits) {
    const JpegCode code = short_codes[index << length & (kJpegShortCodes - 1)];
    if (code == 0) break;
    if (length + JpegCodeLength(code) - JpegCodeSize(code) > kJpegShortCodeBits) break;
    if (advance + JpegCodeAdvance(code) % kJpegBlockCoefficients >= kJpegBlockCoefficients) break;
    length += JpegCodeLength(code);
    advance += JpegCodeAdvance(code);
    if (advance >= kJpegBlockCoefficients) break;
  }
  return length | advance << 9;
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
      const JpegCode full = symbol == 0 ? 0 : symbol + static_cast<uint32_t>(length);
      for (int i = 0; i < same; ++i) short_codes[entry++] = static_cast<uint16_t>(full);
    }
  }
  while (entry < kJpegShortCodes) short_codes[entry++] = 0;
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
  for (int i = 0; i < kJpegShortCodes; ++i) {
    to->runs[number][i] = dc ? short_codes[i] : static_cast<uint16_t>(MakeJpegRun(short_codes, i));
  }
}

// The blocks of an MCU in the order of the file. Those of luma come first.
struct JpegMcu {
  uint8_t blocks = 1;  // 1..10
  uint8_t luma_blocks = 1;
  uint16_t pairs = 0;  // a bit for each block: its pair of tables
};

// A place between two symbols.
struct JpegPlace {
  uint32_t bit = 0;
  uint32_t block = 0;        // of the MCU
  uint32_t coefficient = 0;  // the next one in zigzag order, 0..63

  ORBSERVE_HOST_DEVICE uint64_t Key() const {
    return static_cast<uint64_t>(bit) << 32 | block << 8 | coefficient;
  }
  ORBSERVE_HOST_DEVICE static JpegPlace FromKey(uint64_t key) {
    return {static_cast<uint32_t>(key >> 32), static_cast<uint32_t>(key >> 8) & 255,
            static_cast<uint32_t>(key) & 255};
  }
};

// The bits of a file from some place on. Words(i) gives the next 32 bits, from their highest on, of
// word number i; up to two words are asked for ahead. To ask again for a word that is there is
// cheaper than a branch.
template <typename Words>
class JpegBits {
 public:
  ORBSERVE_HOST_DEVICE JpegBits(const Words& words, uint32_t bit)
      : words_(words),
        next_(bit / 32 + 2),
        first_(words(bit / 32)),
        second_(words(bit / 32 + 1)),
        third_(words(next_)),
        used_(bit % 32) {}

  // The next 32 bits, from the highest on.
  ORBSERVE_HOST_DEVICE uint32_t Window() const {
    return static_cast<uint32_t>(((static_cast<uint64_t>(first_) << 32 | second_) << used_) >> 32);
  }
  // `bits` in 0..31.
  ORBSERVE_HOST_DEVICE void Skip(uint32_t bits) {
    used_ += bits;
    const bool over = used_ >= 32;
    first_ = over ? second_ : first_;
    second_ = over ? third_ : second_;
    used_ &= 31;
    next_ += over ? 1 : 0;
    third_ = words_(next_);
  }

 private:
  const Words words_;
  uint32_t next_;  // of third_
  uint32_t first_;
  uint32_t second_;
  uint32_t third_;  // loaded long before it is needed
  uint32_t used_;   // bits of first_
};

// The value of `size` bits, 0..15, at the top of `window`. As JpegValue().
ORBSERVE_HOST_DEVICE constexpr int JpegShortValue(uint32_t window, uint32_t size) {
  const int bits = static_cast<int>((window >> 1) >> (31 - size));
  const int negative = static_cast<int>(window >> 31) - 1;  // all ones or none
  return bits - (negative & ((1 << size) - 1));
}

// Walks from `place` over the symbols that begin before `end_bit`, moves `place`, and returns the
// number of blocks that end there. What is no symbol ends its block, and so does a run that is too
// long: the walk may be a wrong one. There are branches for rare cases only, as 32 walks go in
// step.
template <typename Words>
ORBSERVE_HOST_DEVICE int WalkJpeg(const Words& words, const JpegCodeTables& tables,
                                  const JpegMcu& mcu, uint32_t end_bit, JpegPlace* place) {
  constexpr JpegCode kNoSymbol = 1 | kJpegBlockCoefficients << 9;
  constexpr uint32_t kMost = kJpegBlockCoefficients;
  const uint32_t block_count = mcu.blocks;
  const uint32_t pairs = mcu.pairs;
  int ended_blocks = 0;
  JpegBits<Words> bits(words, place->bit);
  uint32_t bit = place->bit;
  uint32_t block = place->block;
  uint32_t coefficient = place->coefficient;
  uint32_t number = 2 * (pairs >> block & 1) + (coefficient != 0 ? 1 : 0);
  const auto single = [&](uint32_t window) {
    JpegCode code = tables.short_codes[number][window >> (32 - kJpegShortCodeBits)];
    if (code == 0) code = tables.long_codes[number].At(window);
    return code == 0 ? kNoSymbol : code;
  };
  const auto take = [&](JpegCode code) {
    const uint32_t length = JpegCodeLength(code);
    bits.Skip(length);
    bit += length;
    coefficient += JpegCodeAdvance(code);
    const bool ended = coefficient >= kMost;
    const uint32_t next_block = block + 1 == block_count ? 0 : block + 1;
    ended_blocks += ended ? 1 : 0;
    coefficient = ended ? 0 : coefficient;
    block = ended ? next_block : block;
    number = 2 * (pairs >> block & 1) + (ended ? 0 : 1);
  };
  // All symbols of a look begin before the end.
  while (bit + kJpegShortCodeBits <= end_bit) {
    const uint32_t window = bits.Window();
    JpegCode code = tables.runs[number][window >> (32 - kJpegShortCodeBits)];
    // A block may end before the last symbol of a look, which then is another one.
    const uint32_t sum = coefficient + JpegCodeAdvance(code);
    const bool has_end = JpegCodeAdvance(code) >= kMost;
    if (code == 0 || sum > (has_end ? 2 * kMost - 1 : kMost)) code = single(window);
    take(code);
  }
  while (bit < end_bit) take(single(bits.Window()));
  *place = {bit, block, coefficient};
  return ended_blocks;
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_ALGO_JPEG_PATH_H_
