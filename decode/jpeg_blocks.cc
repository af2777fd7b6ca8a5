// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_blocks.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/jpeg_blocks.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors
bool WriteBlocks(const int16_t* HWY_RESTRICT coefficients, int count,
                 const JpegQuantisers& quantisers, const JpegBlockPlace* HWY_RESTRICT places) {
  bool decided = true;
  for (int i = 0; i < count; ++i) {
    uint8_t pixels[64];
    decided &= IdctBlock(coefficients + 64 * i, quantisers.values, pixels);
    for (int y = 0; y < 8; ++y) {
      std::memcpy(places[i].pixels + y * places[i].pitch_bytes, pixels + 8 * y, 8);
    }
  }
  return decided;
}
#else
// A vector holds one row of a block or, with AVX2 and AVX-512, of two or four blocks side by side;
// all operations stay within 16 bytes.
using D16 = hn::CappedTag<int16_t, 32>;
using D16Block = hn::CappedTag<int16_t, 8>;
using D32 = hn::Repartition<int32_t, D16>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr int kBlocks = static_cast<int>(hn::MaxLanes(D16())) / 8;

// The sum of the products of neighbours.
HWY_INLINE V32 PairSums(V16 a, V16 b) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return V32{_mm512_madd_epi16(a.raw, b.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V32{_mm256_madd_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86
  return V32{_mm_madd_epi16(a.raw, b.raw)};
#else
  const D32 d;
  const V32 a32 = hn::BitCast(d, a);
  const V32 b32 = hn::BitCast(d, b);
  const auto low = [&](V32 v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  return hn::Add(hn::Mul(low(a32), low(b32)),
                 hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32)));
#endif
}

// Weights of a pair of inputs.
template <int kFirst, int kSecond>
HWY_INLINE V16 Weights() {
  constexpr uint32_t pair =
      (static_cast<uint32_t>(kFirst) & 0xFFFF) | static_cast<uint32_t>(kSecond) << 16;
  return hn::BitCast(D16(), hn::Set(D32(), static_cast<int32_t>(pair)));
}

struct Sums {
  V32 even0, even1, even2, even3;  // already the sums and differences of the even part
  V32 odd0, odd1, odd2, odd3;
};

// Weighted sums of half of the columns, whose inputs come in pairs.
template <int kShift>
HWY_INLINE Sums SumsOf(V16 x04, V16 x26, V16 x13, V16 x57) {
  const V32 half = hn::Set(D32(), 1 << (kShift - 1));
  const V32 sum = hn::Add(PairSums(x04, Weights<kIdctOne, kIdctOne>()), half);
  const V32 difference = hn::Add(PairSums(x04, Weights<kIdctOne, -kIdctOne>()), half);
  const V32 even2 = PairSums(x26, Weights<kIdctEven2Of2, kIdctEven2Of6>());
  const V32 even3 = PairSums(x26, Weights<kIdctEven3Of2, kIdctEven3Of6>());
  Sums sums;
  sums.even0 = hn::Add(sum, even3);
  sums.even3 = hn::Sub(sum, even3);
  sums.even1 = hn::Add(difference, even2);
  sums.even2 = hn::Sub(difference, even2);
  sums.odd0 = hn::Add(PairSums(x13, Weights<kIdctOdd0Of1, kIdctOdd0Of3>()),
                      PairSums(x57, Weights<kIdctOdd0Of5, kIdctOdd0Of7>()));
  sums.odd1 = hn::Add(PairSums(x13, Weights<kIdctOdd1Of1, kIdctOdd1Of3>()),
                      PairSums(x57, Weights<kIdctOdd1Of5, kIdctOdd1Of7>()));
  sums.odd2 = hn::Add(PairSums(x13, Weights<kIdctOdd2Of1, kIdctOdd2Of3>()),
                      PairSums(x57, Weights<kIdctOdd2Of5, kIdctOdd2Of7>()));
  sums.odd3 = hn::Add(PairSums(x13, Weights<kIdctOdd3Of1, kIdctOdd3Of3>()),
                      PairSums(x57, Weights<kIdctOdd3Of5, kIdctOdd3Of7>()));
  return sums;
}

// Both halves of a row of results, in the order in which they were taken apart.
template <int kShift>
HWY_INLINE V16 Rounded(V32 low, V32 high) {
  low = hn::ShiftRight<kShift>(low);
  high = hn::ShiftRight<kShift>(high);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return V16{_mm512_packs_epi32(low.raw, high.raw)};
#elif HWY_TARGET == HWY_AVX2
  return V16{_mm256_packs_epi32(low.raw, high.raw)};
#elif HWY_ARCH_X86
  return V16{_mm_packs_epi32(low.raw, high.raw)};
#else
  static_assert(kBlocks == 1);
  const hn::Half<D16> d_half;
  return hn::Combine(D16(), hn::DemoteTo(d_half, high), hn::DemoteTo(d_half, low));
#endif
}

// One pass over the columns of `x`, whose vectors are rows.
template <int kShift>
HWY_INLINE void Pass(V16 (&x)[8]) {
  const D16 d;
  const Sums low =
      SumsOf<kShift>(hn::InterleaveLower(d, x[0], x[4]), hn::InterleaveLower(d, x[2], x[6]),
                     hn::InterleaveLower(d, x[1], x[3]), hn::InterleaveLower(d, x[5], x[7]));
  const Sums high =
      SumsOf<kShift>(hn::InterleaveUpper(d, x[0], x[4]), hn::InterleaveUpper(d, x[2], x[6]),
                     hn::InterleaveUpper(d, x[1], x[3]), hn::InterleaveUpper(d, x[5], x[7]));
  x[0] = Rounded<kShift>(hn::Add(low.even0, low.odd3), hn::Add(high.even0, high.odd3));
  x[7] = Rounded<kShift>(hn::Sub(low.even0, low.odd3), hn::Sub(high.even0, high.odd3));
  x[1] = Rounded<kShift>(hn::Add(low.even1, low.odd2), hn::Add(high.even1, high.odd2));
  x[6] = Rounded<kShift>(hn::Sub(low.even1, low.odd2), hn::Sub(high.even1, high.odd2));
  x[2] = Rounded<kShift>(hn::Add(low.even2, low.odd1), hn::Add(high.even2, high.odd1));
  x[5] = Rounded<kShift>(hn::Sub(low.even2, low.odd1), hn::Sub(high.even2, high.odd1));
  x[3] = Rounded<kShift>(hn::Add(low.even3, low.odd0), hn::Add(high.even3, high.odd0));
  x[4] = Rounded<kShift>(hn::Sub(low.even3, low.odd0), hn::Sub(high.even3, high.odd0));
}

// Rows to columns within each block.
HWY_INLINE void Transpose(V16 (&x)[8]) {
  const D16 d;
  const D32 d32;
  const hn::Repartition<int64_t, D16> d64;
  V16 pairs[8];
  for (int i = 0; i < 4; ++i) {  // rows 2i and 2i + 1: lanes 0..3 and 4..7
    pairs[2 * i] = hn::InterleaveLower(d, x[2 * i], x[2 * i + 1]);
    pairs[2 * i + 1] = hn::InterleaveUpper(d, x[2 * i], x[2 * i + 1]);
  }
  V32 fours[8];
  for (int i = 0; i < 2; ++i) {  // rows 4i..4i + 3: lanes 0, 1; 2, 3; 4, 5; 6, 7
    for (int j = 0; j < 2; ++j) {
      const V32 a = hn::BitCast(d32, pairs[4 * i + j]);
      const V32 b = hn::BitCast(d32, pairs[4 * i + 2 + j]);
      fours[4 * i + 2 * j] = hn::InterleaveLower(d32, a, b);
      fours[4 * i + 2 * j + 1] = hn::InterleaveUpper(d32, a, b);
    }
  }
  for (int j = 0; j < 4; ++j) {
    const auto a = hn::BitCast(d64, fours[j]);
    const auto b = hn::BitCast(d64, fours[4 + j]);
    x[2 * j] = hn::BitCast(d, hn::InterleaveLower(d64, a, b));
    x[2 * j + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, a, b));
  }
}

// Row `y` of each block.
HWY_INLINE V16 LoadRow(const int16_t* blocks, int y) {
  const auto row = [&](int i) HWY_ATTR { return hn::LoadU(D16Block(), blocks + 64 * i + 8 * y); };
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  const hn::Half<D16> d_half;
  return hn::Combine(D16(), hn::Combine(d_half, row(3), row(2)),
                     hn::Combine(d_half, row(1), row(0)));
#elif HWY_TARGET == HWY_AVX2
  return hn::Combine(D16(), row(1), row(0));
#else
  return row(0);
#endif
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
using D8 = hn::Repartition<uint8_t, D16>;
using V8 = hn::Vec<D8>;

HWY_INLINE V8 PackBytes(V16 a, V16 b) {
#if HWY_TARGET == HWY_AVX2
  return V8{_mm256_packs_epi16(a.raw, b.raw)};
#else
  return V8{_mm512_packs_epi16(a.raw, b.raw)};
#endif
}

// Stores rows `y` and `y + 1` of the first `count` >= 1 blocks.
HWY_INLINE void StoreTwoRows(hn::Vec<hn::CappedTag<uint8_t, 16> > rows, const JpegBlockPlace* place,
                             int, int y) {
  const hn::CappedTag<uint8_t, 8> d;
  hn::StoreU(hn::LowerHalf(d, rows), d, place->pixels + y * place->pitch_bytes);
  hn::StoreU(hn::UpperHalf(d, rows), d, place->pixels + (y + 1) * place->pitch_bytes);
}
HWY_INLINE void StoreTwoRows(hn::Vec<hn::CappedTag<uint8_t, 32> > rows,
                             const JpegBlockPlace* places, int count, int y) {
  const hn::Half<hn::CappedTag<uint8_t, 32> > d_half;
  StoreTwoRows(hn::LowerHalf(d_half, rows), places, 1, y);
  if (count > 1) StoreTwoRows(hn::UpperHalf(d_half, rows), places + 1, 1, y);
}
#if HWY_TARGET != HWY_AVX2
HWY_INLINE void StoreTwoRows(V8 rows, const JpegBlockPlace* places, int count, int y) {
  const hn::Half<D8> d_half;
  StoreTwoRows(hn::LowerHalf(d_half, rows), places, count, y);
  if (count > 2) StoreTwoRows(hn::UpperHalf(d_half, rows), places + 2, count - 2, y);
}
#endif

// `x`: columns of the blocks. Transposed as bytes, which takes half of the steps.
HWY_INLINE void StorePixels(const V16 (&x)[8], const JpegBlockPlace* places, int count) {
  const D8 d8;
  const hn::Repartition<uint16_t, D16> d16;
  const hn::Repartition<uint32_t, D16> d32;
  const auto bytes = [&](V16 a, V16 b)
                         HWY_ATTR { return hn::Xor(PackBytes(a, b), hn::Set(d8, 128)); };
  V8 pairs[4];  // columns 0 and 1, 2 and 3, ...
  for (int i = 0; i < 2; ++i) {
    const V8 even = bytes(x[4 * i], x[4 * i + 2]);
    const V8 odd = bytes(x[4 * i + 1], x[4 * i + 3]);
    pairs[2 * i] = hn::InterleaveLower(d8, even, odd);
    pairs[2 * i + 1] = hn::InterleaveUpper(d8, even, odd);
  }
  for (int half = 0; half < 2; ++half) {  // rows 0..3 and 4..7
    const auto fours = [&](int i) HWY_ATTR {
      const auto a = hn::BitCast(d16, pairs[2 * i]);
      const auto b = hn::BitCast(d16, pairs[2 * i + 1]);
      return hn::BitCast(
          d32, half == 0 ? hn::InterleaveLower(d16, a, b) : hn::InterleaveUpper(d16, a, b));
    };
    const auto left = fours(0);
    const auto right = fours(1);
    const auto upper = hn::BitCast(d8, hn::InterleaveLower(d32, left, right));
    const auto lower = hn::BitCast(d8, hn::InterleaveUpper(d32, left, right));
    StoreTwoRows(upper, places, count, 4 * half);
    StoreTwoRows(lower, places, count, 4 * half + 2);
  }
}
#else
HWY_INLINE void StorePixels(V16 (&x)[8], const JpegBlockPlace* places, int) {
  const hn::CappedTag<int8_t, 8> d_signed;
  const hn::CappedTag<uint8_t, 8> d;
  Transpose(x);
  for (int y = 0; y < 8; ++y) {
    const auto row = hn::BitCast(d, hn::DemoteTo(d_signed, x[y]));
    hn::StoreU(hn::Xor(row, hn::Set(d, 128)), d, places->pixels + y * places->pitch_bytes);
  }
}
#endif

// Whether each coefficient is within its own limit; seldom asked for.
bool AreWithinLimits(const int16_t* coefficients, int count, const JpegQuantisers& quantisers) {
  for (int i = 0; i < 64 * count; ++i) {
    const int limit = quantisers.limits[i % 64];
    if (coefficients[i] > limit || coefficients[i] < -limit) return false;
  }
  return true;
}

bool WriteBlocks(const int16_t* HWY_RESTRICT coefficients, int count,
                 const JpegQuantisers& quantisers, const JpegBlockPlace* HWY_RESTRICT places) {
  const hn::Repartition<uint16_t, D16> du;
  using VU = hn::Vec<decltype(du)>;
  // Magnitudes as numbers without sign: that of -32768 is 32768.
  const auto magnitude = [&](V16 v) HWY_ATTR { return hn::BitCast(du, hn::Abs(v)); };
  VU most_in = hn::Zero(du);
  VU most_between = hn::Zero(du);
  const auto* const factors = reinterpret_cast<const int16_t*>(quantisers.values);
  for (int at = 0; at < count; at += kBlocks) {
    const int16_t* const blocks = coefficients + 64 * at;
    const int here = std::min(kBlocks, count - at);
    V16 x[8];
    VU in = hn::Zero(du);
    for (int y = 0; y < 8; ++y) {
      const V16 coefficient = LoadRow(blocks, y);
      in = hn::Max(in, magnitude(coefficient));
      x[y] = hn::Mul(coefficient, hn::LoadDup128(D16(), factors + 8 * y));
    }
    Pass<kIdctColumnShift>(x);
    VU between = magnitude(x[0]);
    for (int y = 1; y < 8; ++y) between = hn::Max(between, magnitude(x[y]));
    if (here < kBlocks) {  // the last vector has more room than there are blocks
      const auto used = hn::FirstN(du, static_cast<size_t>(8 * here));
      in = hn::IfThenElseZero(used, in);
      between = hn::IfThenElseZero(used, between);
    }
    most_in = hn::Max(most_in, in);
    most_between = hn::Max(most_between, between);
    Transpose(x);
    Pass<kIdctRowShift>(x);
    StorePixels(x, places + at, here);
  }
  const auto are_within = [&](VU most, int limit) HWY_ATTR {
    const VU excess = hn::SaturatedSub(most, hn::Set(du, static_cast<uint16_t>(limit)));
    return hn::AllTrue(du, hn::Eq(excess, hn::Zero(du)));
  };
  if (!are_within(most_between, kIdctMaxInput)) return false;
  return are_within(most_in, quantisers.limit) || AreWithinLimits(coefficients, count, quantisers);
}
#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace orbserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve {

HWY_EXPORT(WriteBlocks);

bool WriteJpegBlocks(const int16_t* coefficients, int count, const JpegQuantisers& quantisers,
                     const JpegBlockPlace* places) {
  return HWY_DYNAMIC_DISPATCH(WriteBlocks)(coefficients, count, quantisers, places);
}

}  // namespace orbserve
#endif  // HWY_ONCE
