// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST corners with suppression by their scores: the twin of features/algo/fast.h and
// window_maximum.h.
//
// A row is done in three sweeps, each over as many pixels at a time as a vector has bytes.
// 1. Compass test: an arc of 9 or more ring pixels holds two neighbouring ones of the four at the
//    ring's south, east, north and west, and two of the four between them. Two bit rows say where
//    they could be brighter, where darker.
// 2. Full test of the vectors that begin at the first such pixel not yet covered, for the
//    side or sides that it asks for. With extremes over arcs instead of a comparison per ring
//    pixel, the score comes with it:
//      excess = max over arcs of min over the arc of ring - p,   corner <=> excess > threshold,
//    and of the 16 arcs of length L, those that begin at k - 1 and at k (k odd) share L - 1 pixels:
//      min(run[k], max(ring[k - 1], ring[k + L - 1])), run[k] = min of the L - 1 pixels from k.
//    If corners of small sums are not wanted, the pixels of sweep 1 are thinned out before.
// 3. One row later, suppression: a score against the largest of its eight neighbours. In larger
//    windows, with more rows between, the few corners that this leaves are looked at one by one.
//
// Scores are at most 254, so a byte holds them; rows of scores are zero where there is no corner.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/fast_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/steps/detect/fast.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<uint8_t>;
using V8 = hn::Vec<D8>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D8()));
static_assert(kLanes <= 64, "a vector's mask is held in 64 bits");

constexpr int kPrefetchRows = 6;
constexpr int kMargin = 32;  // zero bytes before a row of scores

// Bit i: a[i] > b[i].
HWY_INLINE uint64_t GreaterBits(V8 a, V8 b) {
  const D8 d;
  uint8_t bytes[8] = {};
#if HWY_TARGET <= HWY_AVX3
  hn::StoreMaskBits(d, hn::Gt(a, b), bytes);
  uint64_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
#else
  // Without unsigned comparison, equality with the minimum is cheaper: a > b <=> not max(a, b) ==
  // b.
  hn::StoreMaskBits(d, hn::Eq(hn::Max(a, b), b), bytes);
  uint64_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  constexpr uint64_t kAll = kLanes == 64 ? ~uint64_t{0} : (uint64_t{1} << (kLanes % 64)) - 1;
  return ~bits & kAll;
#endif
}

// Bits [i, i + 64) of a bit row, i a multiple of 8.
HWY_INLINE uint64_t LoadBits(const uint8_t* bits, int i) {
  uint64_t value;
  std::memcpy(&value, bits + i / 8, sizeof(value));
  return value;
}

// Stores kLanes bits at bit i, a multiple of 8.
HWY_INLINE void StoreBits(uint64_t value, uint8_t* bits, int i) {
  std::memcpy(bits + i / 8, &value, kLanes / 8);
}

// Index of the lowest bit that is set; anything in [0, 64) when none is.
HWY_INLINE int FirstBit(uint64_t bits) {
#if HWY_TARGET <= HWY_AVX2
  return static_cast<int>(_tzcnt_u64(bits)) & 63;
#else
  return static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits | (uint64_t{1} << 63)));
#endif
}

// Bits below `count`, which may be any number.
HWY_INLINE uint64_t LowBits(int count) {
  return count >= 64 ? ~uint64_t{0} : count <= 0 ? 0 : (uint64_t{1} << count) - 1;
}

struct RingOffsets {
  ptrdiff_t at[16];
};

HWY_INLINE RingOffsets MakeRingOffsets(ptrdiff_t pitch) {
  return {{3 * pitch, 3 * pitch + 1, 2 * pitch + 2, pitch + 3, 3, -pitch + 3, -2 * pitch + 2,
           -3 * pitch + 1, -3 * pitch, -3 * pitch - 1, -2 * pitch - 2, -pitch - 3, -3, pitch - 3,
           2 * pitch - 2, 3 * pitch - 1}};
}

template <bool kBrighter>
HWY_INLINE V8 Inner(V8 a, V8 b) {
  return kBrighter ? hn::Min(a, b) : hn::Max(a, b);
}
template <bool kBrighter>
HWY_INLINE V8 Outer(V8 a, V8 b) {
  return kBrighter ? hn::Max(a, b) : hn::Min(a, b);
}

// The smaller and the larger of two. AVX-512 has one port for 512-bit minima and maxima: where both
// are wanted, a comparison and two blends on the others are faster.
HWY_INLINE void Order(V8 a, V8 b, V8* low, V8* high) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const auto greater = hn::Gt(a, b);
  *low = hn::IfThenElse(greater, b, a);
  *high = hn::IfThenElse(greater, a, b);
#else
  *low = hn::Min(a, b);
  *high = hn::Max(a, b);
#endif
}

// kBrighter: the largest over all arcs of the smallest pixel on the arc; else the smallest over all
// arcs of the largest. For i = 0..7 and k = 2 * i + 1, the ring's odd places:
// `run2`: Inner of ring[k] and ring[k + 1]; `ends`: Outer of ring[k - 1] and ring[k + length - 1].
template <int kArcLength, bool kBrighter>
HWY_INLINE V8 ArcExtreme(const V8 (&ring)[16], const V8 (&run2)[8], const V8 (&ends)[8]) {
  static_assert(kArcLength >= 9 && kArcLength <= 12);
  V8 run4[8];
  for (int i = 0; i < 8; ++i) run4[i] = Inner<kBrighter>(run2[i], run2[(i + 1) % 8]);
  V8 best;
  for (int i = 0; i < 8; ++i) {
    const int k = 2 * i + 1;
    V8 run = Inner<kBrighter>(run4[i], run4[(i + 2) % 8]);
    if (kArcLength == 10) run = Inner<kBrighter>(run, ring[(k + 8) % 16]);
    if (kArcLength >= 11) run = Inner<kBrighter>(run, run2[(i + 4) % 8]);
    if (kArcLength == 12) run = Inner<kBrighter>(run, ring[(k + 10) % 16]);
    const V8 arcs = Inner<kBrighter>(run, ends[i]);
    best = i == 0 ? arcs : Outer<kBrighter>(best, arcs);
  }
  return best;
}

// Returns by how much the best arc of one side exceeds the centre, 0 where none does.
template <int kArcLength, bool kBrighter>
HWY_INLINE V8 ExcessOfSide(const V8 (&ring)[16], V8 p) {
  V8 run2[8];
  V8 ends[8];
  for (int i = 0; i < 8; ++i) {
    run2[i] = Inner<kBrighter>(ring[2 * i + 1], ring[(2 * i + 2) % 16]);
    ends[i] = Outer<kBrighter>(ring[2 * i], ring[(2 * i + kArcLength) % 16]);
  }
  const V8 extreme = ArcExtreme<kArcLength, kBrighter>(ring, run2, ends);
  return kBrighter ? hn::SaturatedSub(extreme, p) : hn::SaturatedSub(p, extreme);
}

// Excess of the darker and of the brighter side, whichever is larger.
template <int kArcLength>
HWY_INLINE V8 ExcessOfBoth(const V8 (&ring)[16], V8 p) {
  V8 low2[8], high2[8];
  V8 low_ends[8], high_ends[8];
  for (int i = 0; i < 8; ++i) {
    Order(ring[2 * i + 1], ring[(2 * i + 2) % 16], &low2[i], &high2[i]);
    Order(ring[2 * i], ring[(2 * i + kArcLength) % 16], &low_ends[i], &high_ends[i]);
  }
  return hn::Max(hn::SaturatedSub(ArcExtreme<kArcLength, true>(ring, low2, high_ends), p),
                 hn::SaturatedSub(p, ArcExtreme<kArcLength, false>(ring, high2, low_ends)));
}

// Pixels of a vector that can be corners, bit by bit.
struct CompassBits {
  uint64_t brighter;
  uint64_t darker;
};

// An arc of nine pixels holds two neighbours of the four at the compass points, and two neighbours
// of the four between them.
HWY_INLINE CompassBits CompassTest(const uint8_t* at, ptrdiff_t pitch, V8 threshold) {
  const D8 d;
  const V8 ring[8] = {hn::LoadU(d, at + 3 * pitch),
                      hn::LoadU(d, at - 3 * pitch),
                      hn::LoadU(d, at + 3),
                      hn::LoadU(d, at - 3),
                      hn::LoadU(d, at + 2 * pitch + 2),
                      hn::LoadU(d, at - 2 * pitch - 2),
                      hn::LoadU(d, at - 2 * pitch + 2),
                      hn::LoadU(d, at + 2 * pitch - 2)};
  V8 low[4], high[4];
  for (int i = 0; i < 4; ++i) {
    low[i] = hn::Min(ring[2 * i], ring[2 * i + 1]);
    high[i] = hn::Max(ring[2 * i], ring[2 * i + 1]);
  }
  const V8 brightest = hn::Min(hn::Min(high[0], high[1]), hn::Min(high[2], high[3]));
  const V8 darkest = hn::Max(hn::Max(low[0], low[1]), hn::Max(low[2], low[3]));
  const V8 p = hn::LoadU(d, at);
  return {GreaterBits(brightest, hn::SaturatedAdd(p, threshold)),
          GreaterBits(hn::SaturatedSub(p, threshold), darkest)};
}

// Scores from excesses: 0 where the threshold is not exceeded.
HWY_INLINE V8 CornerScores(V8 excess, V8 threshold) {
  const D8 d;
  const V8 score = hn::Sub(excess, hn::Set(d, 1));
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElseZero(hn::Gt(excess, threshold), score);
#else
  return hn::AndNot(hn::VecFromMask(d, hn::Eq(hn::Max(excess, threshold), threshold)), score);
#endif
}

// Sweep 1: `count` pixels from `centre`. Bits beyond `count` are 0.
HWY_NOINLINE void CompassTestRow(const uint8_t* centre, ptrdiff_t pitch, int count,
                                 int threshold_grey, uint8_t* brighter, uint8_t* darker) {
  const V8 threshold = hn::Set(D8(), static_cast<uint8_t>(threshold_grey));
  for (int i = 0; i < count; i += kLanes) {
    hwy::Prefetch(centre + i + kPrefetchRows * pitch);
    const CompassBits bits = CompassTest(centre + i, pitch, threshold);
    const uint64_t inside = LowBits(count - i);
    StoreBits(bits.brighter & inside, brighter, i);
    StoreBits(bits.darker & inside, darker, i);
  }
}

// The mean over the ring of how far its pixels exceed the centre on one side, rounded up or more.
template <bool kBrighter>
HWY_INLINE V8 MeanAbove(const V8 (&ring)[16], V8 p) {
  V8 mean[16];
  for (int k = 0; k < 16; ++k) {
    mean[k] = kBrighter ? hn::SaturatedSub(ring[k], p) : hn::SaturatedSub(p, ring[k]);
  }
  for (int half = 8; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) mean[k] = hn::AverageRound(mean[k], mean[k + half]);
  }
  return mean[0];
}

// Between sweeps 1 and 2: clears the bits of pixels whose ring has no sum of `least_mean` * 16 on
// that side, as far as rounded means tell. `least_mean`: 1..255.
HWY_NOINLINE void DropSmallSums(const uint8_t* centre, const RingOffsets& offsets, int count,
                                int least_mean, uint8_t* brighter, uint8_t* darker) {
  const D8 d;
  const V8 below = hn::Set(d, static_cast<uint8_t>(least_mean - 1));
  const uint64_t lanes = LowBits(kLanes);
  for (int i = 0; i < count;) {
    const uint64_t first = LoadBits(brighter, i) | LoadBits(darker, i);
    if (first == 0) {
      i += 64;
      continue;
    }
    i += static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(first)) & ~7;
    const uint64_t brighter_bits = LoadBits(brighter, i) & lanes;
    const uint64_t darker_bits = LoadBits(darker, i) & lanes;
    const uint8_t* at = centre + i;
    const V8 p = hn::LoadU(d, at);
    V8 ring[16];
    for (int k = 0; k < 16; ++k) ring[k] = hn::LoadU(d, at + offsets.at[k]);
    if (brighter_bits != 0) {
      StoreBits(brighter_bits & GreaterBits(MeanAbove<true>(ring, p), below), brighter, i);
    }
    if (darker_bits != 0) {
      StoreBits(darker_bits & GreaterBits(MeanAbove<false>(ring, p), below), darker, i);
    }
    i += kLanes;
  }
}

// Sweep 2. `scores` and `corners` (bits) are zero on entry.
template <int kArcLength>
HWY_NOINLINE void ScoreRow(const uint8_t* centre, const RingOffsets& offsets, int count,
                           int threshold_grey, const uint8_t* brighter, const uint8_t* darker,
                           uint8_t* scores, uint8_t* corners) {
  const D8 d;
  const V8 threshold = hn::Set(d, static_cast<uint8_t>(threshold_grey));
  for (int i = 0; i < count;) {
    const uint64_t first = LoadBits(brighter, i) | LoadBits(darker, i);
    if (first == 0) {
      i += 64;
      continue;
    }
    i += static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(first)) & ~7;
    const uint8_t* at = centre + i;
    const V8 p = hn::LoadU(d, at);
    V8 ring[16];
    for (int k = 0; k < 16; ++k) ring[k] = hn::LoadU(d, at + offsets.at[k]);
    const uint64_t lanes = LowBits(kLanes);
    const bool any_brighter = (LoadBits(brighter, i) & lanes) != 0;
    const bool any_darker = (LoadBits(darker, i) & lanes) != 0;
    const V8 excess = any_brighter && any_darker ? ExcessOfBoth<kArcLength>(ring, p)
                      : any_brighter             ? ExcessOfSide<kArcLength, true>(ring, p)
                                                 : ExcessOfSide<kArcLength, false>(ring, p);
    const uint64_t bits = GreaterBits(excess, threshold) & LowBits(count - i);
    if (bits != 0) {
      StoreBits(bits, corners, i);
      hn::StoreU(CornerScores(excess, threshold), d, scores + i);
    }
    i += kLanes;
  }
  // Lanes beyond the last pixel were tested too, and must not suppress it.
  hn::StoreU(hn::Zero(d), d, scores + count);
}

// Writes the corners of a block of pixels, whose columns are `column` + the numbers of `bits`.
HWY_INLINE Corner* WriteCorners(uint64_t bits, const uint8_t* scores, int column, int x_offset,
                                int y, Corner* out) {
  // Four at a time, the last ones in vain: how many there are is hard to foresee, and a branch
  // missed costs more than they do.
  const int count = static_cast<int>(hwy::PopCount(bits));
  for (int k = 0; k < count; k += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const int i = column + FirstBit(bits);
      bits &= bits - 1;
      out[k + lane] = {static_cast<int16_t>(i + x_offset), static_cast<int16_t>(y), scores[i]};
    }
  }
  return out + count;
}

// Rows of scores: rows[i] is i - kRadius rows below the one that is suppressed.
template <int kRadius>
struct ScoreRows {
  uint8_t* rows[2 * kRadius + 1];
};

// True if the score at `column` exceeds all others of its window. Windows of 5 to 9 pixels.
template <int kRadius>
HWY_INLINE bool IsMaximum(const ScoreRows<kRadius>& scores, int column) {
  static_assert(kRadius >= 2 && kRadius <= 4);
  constexpr uint8_t kAll = 255;
  constexpr auto in = [](int lane) {
    return lane <= 4 + kRadius && lane >= 4 - kRadius ? kAll : 0;
  };
  alignas(16) static constexpr uint8_t kColumns[16] = {in(0), in(1), in(2), in(3), in(4),
                                                       in(5), in(6), in(7), in(8)};
  alignas(16) static constexpr uint8_t kCentre[16] = {0, 0, 0, 0, kAll};
  const hn::Full128<uint8_t> d;
  auto greatest = hn::AndNot(hn::Load(d, kCentre), hn::LoadU(d, scores.rows[kRadius] + column - 4));
  for (int i = 0; i < 2 * kRadius + 1; ++i) {
    if (i != kRadius) greatest = hn::Max(greatest, hn::LoadU(d, scores.rows[i] + column - 4));
  }
  greatest = hn::And(greatest, hn::Load(d, kColumns));
  const auto below = hn::Set(d, static_cast<uint8_t>(scores.rows[kRadius][column] - 1));
  return hn::AllTrue(d, hn::Eq(hn::Max(greatest, below), below));
}

// Sweep 3: corners of columns [begin, end) that stay.
template <int kRadius>
HWY_NOINLINE Corner* Suppress(const ScoreRows<kRadius>& scores, const uint8_t* corners, int begin,
                              int end, int x_offset, int y, Corner* out) {
  const D8 d;
  const uint8_t* const here = scores.rows[kRadius];
  for (int i = 0; i < end; i += kLanes) {
    uint64_t bits = LoadBits(corners, i) & LowBits(std::min(end - i, kLanes)) & ~LowBits(begin - i);
    if (bits == 0) continue;
    if constexpr (kRadius > 0) {
      const uint8_t* const above = scores.rows[kRadius - 1];
      const uint8_t* const below = scores.rows[kRadius + 1];
      const V8 a = hn::Max(hn::Max(hn::LoadU(d, above + i - 1), hn::LoadU(d, above + i)),
                           hn::LoadU(d, above + i + 1));
      const V8 b = hn::Max(hn::Max(hn::LoadU(d, below + i - 1), hn::LoadU(d, below + i)),
                           hn::LoadU(d, below + i + 1));
      const V8 c = hn::Max(hn::LoadU(d, here + i - 1), hn::LoadU(d, here + i + 1));
      bits &= GreaterBits(hn::LoadU(d, here + i), hn::Max(hn::Max(a, b), c));
    }
    if constexpr (kRadius > 1) {
      for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
        const int bit = FirstBit(rest);
        if (!IsMaximum(scores, i + bit)) bits &= ~(uint64_t{1} << bit);
      }
    }
    out = WriteCorners(bits, here, i, x_offset, y, out);
  }
  return out;
}

using RowScorer = decltype(&ScoreRow<9>);

// kDropsSmallSums: corners with SAD_ARC scores below `least_sum` are not wanted.
template <int kRadius, bool kDropsSmallSums = false>
int FastCornersOf(const ImageView& image, const Region& region, RowScorer score_row,
                  int threshold_grey, uint8_t* scratch, Corner* out, int least_sum = 0) {
  // Pixels whose ring fits and which lie in the region or take part in its windows.
  const int x_begin = std::max(3, region.x_begin - kRadius);
  const int x_end = std::min(image.width_px - 3, region.x_end + kRadius);
  const int y_begin = std::max(3, region.y_begin - kRadius);
  const int y_end = std::min(image.height_px - 3, region.y_end + kRadius);
  if (x_begin >= x_end || y_begin >= y_end) return 0;
  const int count = x_end - x_begin;
  const RingOffsets offsets = MakeRingOffsets(image.pitch_bytes);

  // The window's rows of scores, then rows of bits in the place of another.
  constexpr int kRows = 2 * kRadius + 1;
  const int64_t stride = FastScratchBytes(region, kRadius) / (kRows + 1) & ~int64_t{63};
  const size_t bit_bytes = static_cast<size_t>(count) / 64 * 8 + 16;
  std::memset(scratch, 0, static_cast<size_t>(stride) * kRows);
  ScoreRows<kRadius> scores;
  for (int i = 0; i < kRows; ++i) scores.rows[i] = scratch + kMargin + i * stride;
  uint8_t* brighter = scratch + kRows * stride;
  uint8_t* darker = brighter + bit_bytes;
  // Corners of the rows from the one that is suppressed on.
  uint8_t* corners[kRadius + 1];
  for (int i = 0; i <= kRadius; ++i) corners[i] = darker + static_cast<size_t>(i + 1) * bit_bytes;
  std::memset(brighter, 0, static_cast<size_t>(kRadius + 3) * bit_bytes);

  Corner* const out_begin = out;
  for (int y = y_begin; y < y_end + kRadius; ++y) {
    // Row y is scored, row y - kRadius suppressed. Rows from y_end on do not exist: their scores
    // are 0.
    uint8_t* const lowest = scores.rows[kRows - 1];
    std::memset(lowest, 0, static_cast<size_t>(count));
    std::memset(corners[kRadius], 0, bit_bytes);
    if (y < y_end) {
      const uint8_t* centre = image.Row(y) + x_begin;
      CompassTestRow(centre, image.pitch_bytes, count, threshold_grey, brighter, darker);
      if constexpr (kDropsSmallSums) {
        const int least_mean = (least_sum + 15) / 16;
        DropSmallSums(centre, offsets, count, least_mean, brighter, darker);
      }
      score_row(centre, offsets, count, threshold_grey, brighter, darker, lowest, corners[kRadius]);
      if constexpr (kDropsSmallSums) {
        // Vectors hold corners beside those that sweep 2 was made for.
        for (int i = 0; i < count; i += 64) {
          const uint64_t wanted = LoadBits(brighter, i) | LoadBits(darker, i);
          const uint64_t bits = LoadBits(corners[kRadius], i) & wanted;
          std::memcpy(corners[kRadius] + i / 8, &bits, sizeof(bits));
        }
      }
    }
    const int y_here = y - kRadius;
    if (y_here >= std::max(region.y_begin, y_begin) && y_here < region.y_end) {
      out = Suppress(scores, corners[0], region.x_begin - x_begin,
                     std::min(region.x_end - x_begin, count), x_begin, y_here, out);
    }
    std::rotate(scores.rows, scores.rows + 1, scores.rows + kRows);
    std::rotate(corners, corners + 1, corners + kRadius + 1);
  }
  return static_cast<int>(out - out_begin);
}

RowScorer RowScorerOf(int arc_length) {
  return arc_length == 9    ? &ScoreRow<9>
         : arc_length == 10 ? &ScoreRow<10>
         : arc_length == 11 ? &ScoreRow<11>
                            : &ScoreRow<12>;
}

int StrongFastCorners(const ImageView& image, const Region& region, int arc_length,
                      int threshold_grey, int least_sum, uint8_t* scratch, Corner* out) {
  const RowScorer score_row = RowScorerOf(arc_length);
  // Nearly every corner exceeds as little as that: telling the others would cost more than it
  // saves.
  if (least_sum <= arc_length * (threshold_grey + 1)) {
    return FastCornersOf<0>(image, region, score_row, threshold_grey, scratch, out);
  }
  return FastCornersOf<0, true>(image, region, score_row, threshold_grey, scratch, out, least_sum);
}

int FastCorners(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                int radius_px, uint8_t* scratch, Corner* out) {
  const RowScorer score_row = RowScorerOf(arc_length);
  switch (radius_px) {
    case 0:
      return FastCornersOf<0>(image, region, score_row, threshold_grey, scratch, out);
    case 1:
      return FastCornersOf<1>(image, region, score_row, threshold_grey, scratch, out);
    case 2:
      return FastCornersOf<2>(image, region, score_row, threshold_grey, scratch, out);
    case 3:
      return FastCornersOf<3>(image, region, score_row, threshold_grey, scratch, out);
    default:
      return FastCornersOf<4>(image, region, score_row, threshold_grey, scratch, out);
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

FastKernel FastKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(FastCorners, ReferenceFast, target.simd_target)}

StrongFastKernel StrongFastKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(StrongFastCorners, ReferenceStrongFast, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
