// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Huffman looks, the zigzag order and the inverse DCT of features/algo, against plain readings of
// T.81, and the SIMD twin of the DCT against the plain loop.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "decode/jpeg_blocks.h"
#include "features/algo/jpeg_huffman.h"
#include "features/algo/jpeg_idct.h"
#include "features/algo/jpeg_standard_codes.h"
#include "features/algo/jpeg_zigzag.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

constexpr uint32_t kSeed = 20261123;

struct Plain {
  int length = 0;  // of code and value; 0 = no such code
  int run = 0;
  int size = 0;
  int value = 0;
};

// One bit at a time. Source: T.81, figures F.12 and F.16.
Plain ReadPlainly(const JpegCodes& codes, bool dc, uint64_t window) {
  int code = 0;
  int first = 0;
  int place = 0;
  for (int length = 1; length <= 16; ++length) {
    code = static_cast<int>(window >> (64 - length));
    const int count = codes.counts[length - 1];
    if (code - first < count) {
      const int symbol = codes.symbols[place + code - first];
      Plain plain{length, dc ? 0 : symbol >> 4, dc ? symbol : symbol & 15, 0};
      for (int i = 0; i < plain.size; ++i) {
        plain.value = 2 * plain.value + static_cast<int>(window >> (63 - length - i) & 1);
      }
      if (plain.size > 0 && plain.value < 1 << (plain.size - 1)) {
        plain.value += 1 - (1 << plain.size);
      }
      plain.length += plain.size;
      return plain;
    }
    first = 2 * (first + count);
    place += count;
  }
  return {};
}

// Tables of random codes, as full as they may be.
JpegCodes RandomCodes(std::mt19937& random, bool dc) {
  JpegCodes codes;
  int free = 1;  // codes of this length that are left
  int place = 0;
  const int most = dc ? 12 : 200;
  for (int length = 1; length <= 16; ++length) {
    free *= 2;
    const int count = std::min(
        {static_cast<int>(random() % 5) * (length > 6 ? length : 1), free - 1, most - place, 255});
    codes.counts[length - 1] = static_cast<uint8_t>(std::max(0, count));
    place += std::max(0, count);
    free -= std::max(0, count);
  }
  for (int i = 0; i < place; ++i) {
    codes.symbols[i] = static_cast<uint8_t>(dc ? i : random() % 256);
  }
  return codes;
}

// The code of a look that cannot tell, as the decoder finds it.
JpegSymbol SymbolOf(const JpegTable& table, bool dc, JpegLook look, uint64_t window) {
  const int code = dc ? -1 : JpegLookCode(look) - 1;
  if (code < 0) return FindJpegSymbol(table, window, dc ? kJpegDcLookBits + 1 : 1);
  return {table.code_lengths[code], table.symbols[code]};
}

void CheckTable(const JpegCodes& codes, bool dc) {
  auto table = std::make_unique<JpegTable>();
  ASSERT_TRUE(BuildJpegTable(codes, dc, table.get()));
  const int look_bits = dc ? kJpegDcLookBits : kJpegLookBits;
  std::mt19937 random(kSeed);
  for (uint64_t top = 0; top < 1 << 16; ++top) {
    const uint64_t window = top << 48 | uint64_t{random()} << 16;
    const Plain plain = ReadPlainly(codes, dc, window);
    const JpegLook look = table->look[window >> (64 - look_bits)];
    if (JpegLookLength(look) > 0) {
      ASSERT_EQ(JpegLookLength(look), plain.length) << top;
      if (dc) {
        ASSERT_EQ(JpegDcValue(look, window), plain.value) << top;
        continue;
      }
      ASSERT_EQ(JpegFirstValue(look), plain.value) << top;
      ASSERT_EQ(JpegFirstRun(look), plain.run) << top;
      const bool end = plain.run == 0 && plain.size == 0;
      ASSERT_EQ(JpegLookAdvance(look), end ? kJpegEndAdvance : plain.run + 1) << top;
      continue;
    }
    ASSERT_EQ(JpegLookAdvance(look), kJpegUnknownAdvance);
    ASSERT_NE(look & kJpegUnknownBit, 0U);
    // Decoders write it to some place of the block before they see that they cannot tell.
    if (!dc) {
      ASSERT_EQ(JpegFirstValue(look), 0);
    }
    const JpegSymbol found = SymbolOf(*table, dc, look, window);
    ASSERT_EQ(found.code_length == 0, plain.length == 0) << top;
    if (found.code_length == 0) continue;
    ASSERT_EQ(found.code_length + plain.size, plain.length) << top;
    ASSERT_EQ(found.symbol, plain.run << 4 | plain.size) << top;
    ASSERT_EQ(JpegValue(window << found.code_length, plain.size), plain.value) << top;
  }
}

TEST(JpegTableTest, LooksAreThePlainReading) {
  CheckTable(kStandardLumaDc, true);
  CheckTable(kStandardChromaDc, true);
  CheckTable(kStandardLumaAc, false);
  CheckTable(kStandardChromaAc, false);
  std::mt19937 random(kSeed);
  for (int i = 0; i < 20; ++i) CheckTable(RandomCodes(random, i % 2 == 0), i % 2 == 0);
}

TEST(JpegTableTest, PairsAreTheirSymbols) {
  std::mt19937 random(kSeed);
  auto table = std::make_unique<JpegTable>();
  auto pairs = std::make_unique<JpegLook[][kJpegLookSize]>(1);
  int pair_count = 0;
  for (int i = 0; i < 12; ++i) {
    const JpegCodes codes = i == 0   ? kStandardLumaAc
                            : i == 1 ? kStandardChromaAc
                                     : RandomCodes(random, false);
    ASSERT_TRUE(BuildJpegTable(codes, false, table.get()));
    PairJpegLooks(*table, &pairs[0]);
    for (int at = 0; at < kJpegLookSize; ++at) {
      const JpegLook look = pairs[0][at];
      const JpegLook single = table->look[at];
      if (JpegLookLength(look) == JpegLookLength(single)) {
        ASSERT_EQ(look, single);
        continue;
      }
      ++pair_count;
      const uint64_t window = static_cast<uint64_t>(at) << (64 - kJpegLookBits);
      const Plain first = ReadPlainly(codes, false, window);
      const Plain second = ReadPlainly(codes, false, window << first.length);
      ASSERT_EQ(JpegLookLength(look), first.length + second.length) << at;
      ASSERT_LE(JpegLookLength(look), kJpegLookBits);
      ASSERT_EQ(JpegFirstRun(look), first.run);
      ASSERT_EQ(JpegFirstValue(look), first.value);
      ASSERT_EQ(JpegSecondValue(look), second.value);
      const bool end = second.run == 0 && second.size == 0;
      ASSERT_EQ(JpegLookAdvance(look), first.run + 1 + (end ? kJpegEndAdvance : second.run + 1));
    }
    if (i == 0) {
      EXPECT_GT(pair_count, kJpegLookSize / 3);
    }
  }
}

// Both kinds of skips, of which `from_dc` begin with a DC difference.
void CheckSkip(const JpegCodes& dc, const JpegCodes& ac, bool from_dc, int at, JpegLook skip) {
  const uint64_t window = static_cast<uint64_t>(at) << (64 - kJpegSkipBits);
  int length = 0;
  int advance = 0;
  while (length < JpegLookLength(skip)) {
    const bool is_dc = from_dc && length == 0;
    const Plain plain = ReadPlainly(is_dc ? dc : ac, is_dc, window << length);
    ASSERT_GT(plain.length, 0);
    length += plain.length;
    const bool end = !is_dc && plain.run == 0 && plain.size == 0;
    advance += end ? kJpegEndAdvance : plain.run + 1;
  }
  ASSERT_EQ(length, JpegLookLength(skip));
  ASSERT_LE(length, kJpegSkipBits);
  ASSERT_EQ((skip & kJpegUnknownBit) != 0, length == 0);
  ASSERT_EQ(JpegLookAdvance(skip), length > 0 ? advance : kJpegUnknownAdvance);
}

TEST(JpegTableTest, SkipsAreTheirSymbols) {
  std::mt19937 random(kSeed);
  auto dc = std::make_unique<JpegTable>();
  auto ac = std::make_unique<JpegTable>();
  auto skips = std::make_unique<JpegSkips>();
  int known = 0;
  for (int i = 0; i < 10; ++i) {
    const JpegCodes dc_codes = i == 0 ? kStandardChromaDc : RandomCodes(random, true);
    const JpegCodes ac_codes = i == 0 ? kStandardChromaAc : RandomCodes(random, false);
    ASSERT_TRUE(BuildJpegTable(dc_codes, true, dc.get()));
    ASSERT_TRUE(BuildJpegTable(ac_codes, false, ac.get()));
    BuildJpegSkips(*dc, *ac, skips.get());
    for (int at = 0; at < kJpegSkipSize; ++at) {
      CheckSkip(dc_codes, ac_codes, true, at, skips->begin[at]);
      CheckSkip(dc_codes, ac_codes, false, at, skips->look[at]);
      known += JpegLookLength(skips->begin[at]) > 0 && JpegLookLength(skips->look[at]) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(known, 10 * kJpegSkipSize / 3);
}

TEST(JpegTableTest, CodesThatAreNoneAreRefused) {
  auto table = std::make_unique<JpegTable>();
  JpegCodes codes;
  codes.counts[0] = 2;  // 0 and 1, the code of all ones
  EXPECT_FALSE(BuildJpegTable(codes, false, table.get()));
  codes.counts[0] = 1;
  codes.counts[1] = 2;
  EXPECT_FALSE(BuildJpegTable(codes, false, table.get()));
  codes.counts[1] = 1;
  EXPECT_TRUE(BuildJpegTable(codes, false, table.get()));
  codes.symbols[0] = 16;
  EXPECT_FALSE(BuildJpegTable(codes, true, table.get()));
  codes.symbols[0] = 15;
  EXPECT_TRUE(BuildJpegTable(codes, true, table.get()));
}

TEST(JpegZigzagTest, DiagonalsAreReadUpAndDownInTurn) {
  int number = 0;
  for (int diagonal = 0; diagonal < 15; ++diagonal) {
    for (int step = 0; step <= diagonal; ++step) {
      const int y = diagonal % 2 == 0 ? diagonal - step : step;
      const int x = diagonal - y;
      if (x >= 8 || y >= 8) continue;
      EXPECT_EQ(kJpegZigzag.place[number], 8 * y + x) << number;
      ++number;
    }
  }
  EXPECT_EQ(number, kJpegBlockCoefficients);
}

// From smooth blocks to such that wrap around in 16 bits.
TEST(JpegIdctTest, SimdTwinIsThePlainLoop) {
  std::mt19937 random(kSeed);
  int decided = 0;
  int undecided = 0;
  for (int round = 0; round < 20000; ++round) {
    JpegQuantisers quantisers;
    const int step = 1 << random() % (round % 10 == 0 ? 15 : 7);
    for (uint16_t& value : quantisers.values) value = static_cast<uint16_t>(1 + random() % step);
    quantisers.SetLimits();
    const int count = 1 + static_cast<int>(random() % 9);
    const int size = 1 << (1 + random() % (round % 10 == 0 ? 16 : 8));
    std::vector<int16_t> coefficients(64 * static_cast<size_t>(count + kJpegBlocksBehind));
    const uint32_t sparse = 1 + random() % 12;
    for (size_t i = 0; i < 64 * static_cast<size_t>(count); ++i) {
      if (random() % sparse != 0) continue;
      coefficients[i] = static_cast<int16_t>(static_cast<int>(random() % size) - size / 2);
      if (random() % 5000 == 0) coefficients[i] = INT16_MIN;
    }
    constexpr int kPitch = 11;
    std::vector<std::vector<uint8_t>> out(static_cast<size_t>(count),
                                          std::vector<uint8_t>(8 * kPitch, 0xA5));
    std::vector<JpegBlockPlace> places;
    for (auto& block : out) places.push_back({block.data(), kPitch});
    const bool fits = WriteJpegBlocks(coefficients.data(), count, quantisers, places.data());
    bool expected_fits = true;
    for (int i = 0; i < count; ++i) {
      uint8_t pixels[64];
      const bool block_fits = IdctBlock(&coefficients[64 * i], quantisers.values, pixels);
      expected_fits &= block_fits;
      for (int at = 0; block_fits && at < 8 * kPitch; ++at) {
        const int expected = at % kPitch < 8 ? pixels[at / kPitch * 8 + at % kPitch] : 0xA5;
        ASSERT_EQ(out[static_cast<size_t>(i)][static_cast<size_t>(at)], expected)
            << "round " << round << " block " << i << " at " << at;
      }
    }
    ASSERT_EQ(fits, expected_fits) << "round " << round;
    ++(fits ? decided : undecided);
  }
  EXPECT_GT(decided, 5000);
  EXPECT_GT(undecided, 500);
}

}  // namespace
}  // namespace orbserve
