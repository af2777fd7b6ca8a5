// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST corners with suppression by their scores: the twin of features/algo/fast.h and
// window_maximum.h.
//
// The image is done in bands of some rows that stay in the first cache, in blocks of as many pixels
// as a vector has bytes. Each sweep is a loop over all blocks of a band without a branch that is
// hard to foresee.
// 1. Compass test of all blocks: an arc of 9 or more ring pixels holds two neighbouring ones of the
//    four at the ring's south, east, north and west. A list is made of the blocks with such a
//    pixel.
// 2. Full test of the blocks in the list. With extremes over arcs instead of a comparison per ring
//    pixel, the score comes with it:
//      excess = max over arcs of min over the arc of ring - p,   corner <=> excess > threshold,
//    for arcs that are brighter, and likewise for darker ones. A second list is made of the blocks
//    with corners. If corners of small sums are not wanted, the first list is thinned out before.
// 3. Suppression in the blocks of the second list, as soon as the rows below are scored: a score
//    against the largest of its eight neighbours. In larger windows the few corners that this
//    leaves are looked at one by one.
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
#include "cpu/steps/detect/zone_fast.h"

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

constexpr uint64_t kAllLanes = kLanes == 64 ? ~uint64_t{0} : (uint64_t{1} << (kLanes % 64)) - 1;

constexpr int kPrefetchRows = 6;
constexpr int kMargin = 64;  // zero bytes before and after a row of scores

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
  return ~bits & kAllLanes;
#endif
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

// A vector that several operations take. Compilers would rather load it for each of them, which
// costs most where it lies on two lines of the cache.
HWY_INLINE V8 LoadOnce(const uint8_t* at) {
  const D8 d;
  V8 v = hn::LoadU(d, at);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  asm("" : "+v"(v.raw));
#elif HWY_ARCH_X86
  asm("" : "+x"(v.raw));
#endif
  return v;
}

HWY_INLINE void LoadRing(const uint8_t* at, ptrdiff_t pitch, V8 (&ring)[16]) {
  const D8 d;
  const uint8_t* const top = at - 3 * pitch;
  const uint8_t* const bottom = at + 3 * pitch;
  for (int i = -1; i <= 1; ++i) {
    ring[(16 + i) % 16] = hn::LoadU(d, bottom + i);
    ring[8 - i] = hn::LoadU(d, top + i);
  }
  ring[2] = hn::LoadU(d, at + 2 * pitch + 2);
  ring[3] = hn::LoadU(d, at + pitch + 3);
  ring[4] = hn::LoadU(d, at + 3);
  ring[5] = hn::LoadU(d, top + 2 * pitch + 3);
  ring[6] = hn::LoadU(d, top + pitch + 2);
  ring[10] = hn::LoadU(d, top + pitch - 2);
  ring[11] = hn::LoadU(d, top + 2 * pitch - 3);
  ring[12] = hn::LoadU(d, at - 3);
  ring[13] = hn::LoadU(d, at + pitch - 3);
  ring[14] = hn::LoadU(d, at + 2 * pitch - 2);
}

template <bool kBrighter>
HWY_INLINE V8 Inner(V8 a, V8 b) {
  return kBrighter ? hn::Min(a, b) : hn::Max(a, b);
}
template <bool kBrighter>
HWY_INLINE V8 Outer(V8 a, V8 b) {
  return kBrighter ? hn::Max(a, b) : hn::Min(a, b);
}

// The smaller and the larger of two. kBlends: by a comparison and two blends, which are faster
// where one port does all minima and maxima.
template <bool kBlends>
HWY_INLINE void Order(V8 a, V8 b, V8* low, V8* high) {
  if constexpr (kBlends) {
    const auto greater = hn::Gt(a, b);
    *low = hn::IfThenElse(greater, b, a);
    *high = hn::IfThenElse(greater, a, b);
  } else {
    *low = hn::Min(a, b);
    *high = hn::Max(a, b);
  }
}

// kBrighter: the largest over all arcs of the smallest pixel on the arc; else the smallest over all
// arcs of the largest. For i = 0..7:
// `run2`: Inner of ring[2 i + 1] and ring[2 i + 2]; `ends`: Outer of ring[2 i] and
// ring[2 i + length].
//
// The arcs that begin at k..k + 3, k a multiple of 4, share the pixels k + 3..k + length - 1. The
// first two have k + 1 and k + 2 besides, and one of k and k + length; the other two have
// k + length and k + length + 1, and one of k + 2 and k + length + 2.
template <int kArcLength, bool kBrighter>
HWY_INLINE V8 ArcExtreme(const V8 (&ring)[16], const V8 (&run2)[8], const V8 (&ends)[8]) {
  static_assert(kArcLength >= 9 && kArcLength <= 12);
  V8 best;
  for (int k = 0; k < 16; k += 4) {
    const int i = k / 2;
    V8 common =
        Inner<kBrighter>(Inner<kBrighter>(run2[i + 1], run2[(i + 2) % 8]), run2[(i + 3) % 8]);
    if (kArcLength == 10) common = Inner<kBrighter>(common, ring[(k + 9) % 16]);
    if (kArcLength >= 11) common = Inner<kBrighter>(common, run2[(i + 4) % 8]);
    if (kArcLength == 12) common = Inner<kBrighter>(common, ring[(k + 11) % 16]);
    V8 after = run2[(i + kArcLength / 2) % 8];
    if (kArcLength % 2 == 0) {
      after = Inner<kBrighter>(ring[(k + kArcLength) % 16], ring[(k + kArcLength + 1) % 16]);
    }
    const V8 arcs = Inner<kBrighter>(
        common,
        Outer<kBrighter>(Inner<kBrighter>(run2[i], ends[i]), Inner<kBrighter>(after, ends[i + 1])));
    best = k == 0 ? arcs : Outer<kBrighter>(best, arcs);
  }
  return best;
}

// Excess of the best arc of the darker or of the brighter side over the centre, whichever is more.
template <int kArcLength, bool kBlends>
HWY_INLINE V8 ExcessOf(const V8 (&ring)[16], V8 p) {
  V8 low2[8], high2[8];
  V8 low_ends[8], high_ends[8];
  for (int i = 0; i < 8; ++i) {
    Order<kBlends>(ring[2 * i + 1], ring[(2 * i + 2) % 16], &low2[i], &high2[i]);
    Order<kBlends>(ring[2 * i], ring[(2 * i + kArcLength) % 16], &low_ends[i], &high_ends[i]);
  }
  return hn::Max(hn::SaturatedSub(ArcExtreme<kArcLength, true>(ring, low2, high_ends), p),
                 hn::SaturatedSub(p, ArcExtreme<kArcLength, false>(ring, high2, low_ends)));
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

// kLanes pixels of a row that is tested.
struct Block {
  int32_t offset;  // of the first pixel from TestedPixels::first_row, bytes
  int16_t row;     // 0 = the first that is tested
  int16_t column;  // of the first pixel, in the image
};

// Bit i belongs to the pixel at column + i.
struct CornerBlock {
  Block block;
  uint64_t corners;
};

// The pixels that are tested.
struct TestedPixels {
  const uint8_t* first_row;  // in the image, at column 0
  ptrdiff_t pitch;
  int x_begin;
  int x_end;
  int x_first;  // of the first block, which begins at a multiple of kLanes

  const uint8_t* At(const Block& block) const { return first_row + block.offset; }
};

// Scores of a band and of the rows above it that its windows reach.
struct BandScores {
  uint8_t* first;  // of the first block in row `row`
  int row;
  ptrdiff_t pitch;
  int x_first;

  uint8_t* At(const Block& block) const {
    return first + (block.row - row) * pitch + (block.column - x_first);
  }
};

// Bits of the pixels of a block whose columns lie in [begin, end). Most blocks do as a whole.
HWY_INLINE uint64_t BitsInside(const Block& block, int begin, int end) {
  const int before = begin - block.column;
  const int behind = block.column + kLanes - end;
  if (HWY_LIKELY(before <= 0 && behind <= 0)) return kAllLanes;
  return LowBits(kLanes - behind) & ~LowBits(before) & kAllLanes;
}

// All bits of the lanes of a block whose columns lie in [begin, end), which is not empty there.
HWY_INLINE V8 LanesInside(const Block& block, int begin, int end) {
  struct Steps {
    uint8_t bytes[4 * kLanes] = {};  // kLanes times 0, 2 * kLanes times 255, kLanes times 0
    constexpr Steps() {
      for (int i = kLanes; i < 3 * kLanes; ++i) bytes[i] = 255;
    }
  };
  static constexpr Steps kSteps;
  const D8 d;
  const int before = std::max(begin - block.column, 0);
  const int behind = std::max(block.column + kLanes - end, 0);
  return hn::And(hn::LoadU(d, kSteps.bytes + kLanes - before),
                 hn::LoadU(d, kSteps.bytes + 2 * kLanes + behind));
}

// Sweep 1: lists the blocks of rows [row_begin, row_end) with a pixel that can be a corner.
HWY_NOINLINE int FindCandidates(const TestedPixels& pixels, int row_begin, int row_end,
                                int threshold_grey, Block* blocks) {
  const V8 threshold = hn::Set(D8(), static_cast<uint8_t>(threshold_grey));
  int count = 0;
  for (int row = row_begin; row < row_end; ++row) {
    const uint8_t* const centre = pixels.first_row + row * pixels.pitch;
    for (int x = pixels.x_first; x < pixels.x_end; x += kLanes) {
      const uint8_t* const at = centre + x;
      hwy::Prefetch(at + kPrefetchRows * pixels.pitch);
      const V8 south = LoadOnce(at + 3 * pixels.pitch);
      const V8 north = LoadOnce(at - 3 * pixels.pitch);
      const V8 east = LoadOnce(at + 3);
      const V8 west = LoadOnce(at - 3);
      const V8 p = LoadOnce(at);
      const V8 brightest = hn::Min(hn::Max(south, north), hn::Max(east, west));
      const V8 darkest = hn::Max(hn::Min(south, north), hn::Min(east, west));
      const V8 excess = hn::Max(hn::SaturatedSub(brightest, p), hn::SaturatedSub(p, darkest));
      blocks[count] = {static_cast<int32_t>(at - pixels.first_row), static_cast<int16_t>(row),
                       static_cast<int16_t>(x)};
      count += GreaterBits(excess, threshold) != 0 ? 1 : 0;
    }
  }
  return count;
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

// Pixels of a block that can be corners of one side: of the four ring pixels at the compass points
// and of the four between them, two neighbours each exceed the threshold.
template <bool kBrighter>
HWY_INLINE uint64_t CompassBits(const V8 (&ring)[16], V8 p, V8 threshold) {
  V8 least = Outer<kBrighter>(ring[0], ring[8]);
  for (int k = 2; k < 8; k += 2) {
    least = Inner<kBrighter>(least, Outer<kBrighter>(ring[k], ring[k + 8]));
  }
  return kBrighter ? GreaterBits(least, hn::SaturatedAdd(p, threshold))
                   : GreaterBits(hn::SaturatedSub(p, threshold), least);
}

// Between sweeps 1 and 2: keeps the blocks with a pixel whose ring has a sum of `least_mean` * 16
// on a side that can be an arc, as far as rounded means tell, and writes these pixels to `wanted`.
// `least_mean`: 1..255.
HWY_NOINLINE int DropSmallSums(const TestedPixels& pixels, int count, int threshold_grey,
                               int least_mean, Block* blocks, uint64_t* wanted) {
  const D8 d;
  const V8 threshold = hn::Set(d, static_cast<uint8_t>(threshold_grey));
  const V8 below = hn::Set(d, static_cast<uint8_t>(least_mean - 1));
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const Block block = blocks[i];
    const uint8_t* const at = pixels.At(block);
    const V8 p = hn::LoadU(d, at);
    V8 ring[16];
    LoadRing(at, pixels.pitch, ring);
    uint64_t brighter = CompassBits<true>(ring, p, threshold);
    uint64_t darker = CompassBits<false>(ring, p, threshold);
    if (brighter != 0) brighter &= GreaterBits(MeanAbove<true>(ring, p), below);
    if (darker != 0) darker &= GreaterBits(MeanAbove<false>(ring, p), below);
    blocks[kept] = block;
    wanted[kept] = brighter | darker;
    kept += (brighter | darker) != 0 ? 1 : 0;
  }
  return kept;
}

// Sweep 2: scores of the blocks, and those with corners; returns their number. `wanted`: pixels
// that may be corners, or null = all.
template <int kArcLength, bool kBlends>
HWY_NOINLINE int ScoreBlocks(const TestedPixels& pixels, const Block* blocks,
                             const uint64_t* wanted, int count, int threshold_grey,
                             const BandScores& scores, CornerBlock* with_corners) {
  const D8 d;
  const V8 threshold = hn::Set(d, static_cast<uint8_t>(threshold_grey));
  int number = 0;
  for (int i = 0; i < count; ++i) {
    const Block& block = blocks[i];
    const uint8_t* const at = pixels.At(block);
    const V8 p = hn::LoadU(d, at);
    V8 ring[16];
    LoadRing(at, pixels.pitch, ring);
    const V8 excess = ExcessOf<kArcLength, kBlends>(ring, p);
    uint64_t corners = GreaterBits(excess, threshold);
    uint8_t* const to = scores.At(block);
    V8 block_scores = CornerScores(excess, threshold);
    const uint64_t inside = BitsInside(block, pixels.x_begin, pixels.x_end);
    if (HWY_UNLIKELY(inside != kAllLanes)) {
      // Pixels beside those that are tested are no corners and must not suppress any.
      corners &= inside;
      block_scores = hn::And(block_scores, LanesInside(block, pixels.x_begin, pixels.x_end));
    }
    hn::Store(block_scores, d, to);
    if (wanted != nullptr) corners &= wanted[i];
    with_corners[number] = {block, corners};
    number += corners != 0 ? 1 : 0;
  }
  return number;
}

// Writes the corners of a block of pixels, whose columns are `column` + the numbers of `bits`.
// `scores`: of the block.
HWY_INLINE Corner* WriteCorners(uint64_t bits, const uint8_t* scores, int column, int y,
                                Corner* out) {
  static_assert(sizeof(Corner) == 6 && offsetof(Corner, y) == 2 && offsetof(Corner, score) == 4);
  // Four at a time, the last ones in vain: how many there are is hard to foresee, and a branch
  // missed costs more than they do. A corner is one store, whose last bytes the next one
  // overwrites.
  const int count = static_cast<int>(hwy::PopCount(bits));
  for (int k = 0;; k += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const int i = FirstBit(bits);
      bits &= bits - 1;
      const uint64_t corner = static_cast<uint64_t>(static_cast<uint16_t>(column + i)) |
                              static_cast<uint64_t>(static_cast<uint16_t>(y)) << 16 |
                              static_cast<uint64_t>(scores[i]) << 32;
      std::memcpy(static_cast<void*>(out + k + lane), &corner, sizeof(corner));
    }
    if (k + 4 >= count) break;
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

// Sweep 3: those corners of a block that stay. `scores`: of the block. Bits beside the block's
// corners are ignored.
template <int kRadius>
HWY_INLINE uint64_t Maxima(uint64_t bits, uint8_t* scores, ptrdiff_t scores_pitch) {
  const D8 d;
  if constexpr (kRadius > 0) {
    const uint8_t* const above = scores - scores_pitch;
    const uint8_t* const below = scores + scores_pitch;
    const V8 a =
        hn::Max(hn::Max(hn::LoadU(d, above - 1), hn::LoadU(d, above)), hn::LoadU(d, above + 1));
    const V8 b =
        hn::Max(hn::Max(hn::LoadU(d, below - 1), hn::LoadU(d, below)), hn::LoadU(d, below + 1));
    const V8 c = hn::Max(hn::LoadU(d, scores - 1), hn::LoadU(d, scores + 1));
    bits &= GreaterBits(hn::LoadU(d, scores), hn::Max(hn::Max(a, b), c));
  }
  if constexpr (kRadius > 1) {
    ScoreRows<kRadius> rows;
    for (int i = 0; i <= 2 * kRadius; ++i) rows.rows[i] = scores + (i - kRadius) * scores_pitch;
    for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      const int bit = FirstBit(rest);
      if (!IsMaximum(rows, bit)) bits &= ~(uint64_t{1} << bit);
    }
  }
  return bits;
}

// Maxima<1>(), where neighbours in other zones do not count. `edges`: from the block's first column
// on.
HWY_INLINE uint64_t ZoneMaxima(uint64_t bits, const uint8_t* scores, ptrdiff_t scores_pitch,
                               const ZoneEdges& edges) {
  const D8 d;
  const uint8_t* const above = scores - scores_pitch;
  const uint8_t* const below = scores + scores_pitch;
  const auto column = [&](int offset) {
    return hn::Max(hn::LoadU(d, above + offset), hn::LoadU(d, below + offset));
  };
  const V8 left =
      hn::And(hn::Max(column(-1), hn::LoadU(d, scores - 1)), hn::LoadU(d, edges.has_left));
  const V8 right =
      hn::And(hn::Max(column(1), hn::LoadU(d, scores + 1)), hn::LoadU(d, edges.has_right));
  return bits & GreaterBits(hn::LoadU(d, scores), hn::Max(hn::Max(left, right), column(0)));
}

using BlockScorer = decltype(&ScoreBlocks<9, false>);

// The parts of the scratch memory.
struct BandMemory {
  int64_t stride;     // of the rows of scores
  uint8_t* scores;    // of the first block, `radius` * 2 rows above the band's first
  Block* candidates;  // of a band
  uint64_t* wanted;
  CornerBlock* corner_blocks;  // of a band and the `radius` rows above it

  BandMemory(int span, int band_rows, int radius_px, uint8_t* scratch)
      : stride(span + kMargin), scores(scratch + kMargin) {
    const int blocks = span / kLanes;
    uint8_t* const lists = scores + (band_rows + 2 * radius_px) * stride;
    corner_blocks = reinterpret_cast<CornerBlock*>(lists);
    wanted = reinterpret_cast<uint64_t*>(corner_blocks + (band_rows + radius_px) * blocks);
    candidates = reinterpret_cast<Block*>(wanted + band_rows * blocks);
  }
};

// kDropsSmallSums: corners with SAD_ARC scores below `least_sum` are not wanted. `edges`: of zones,
// outside of which windows do not reach; null without zones. They have a radius of 1.
template <int kRadius, bool kDropsSmallSums = false, bool kZones = false>
int FastCornersOf(const ImageView& image, const Region& region, BlockScorer score_blocks,
                  int threshold_grey, uint8_t* scratch, Corner* out, int least_sum = 0,
                  const ZoneEdges* edges = nullptr) {
  static_assert(!kZones || kRadius == 1);
  // Pixels whose ring fits and which lie in the region or take part in its windows.
  constexpr int kReach = kZones ? 0 : kRadius;
  const int x_begin = std::max(3, region.x_begin - kReach);
  const int x_end = std::min(image.width_px - 3, region.x_end + kReach);
  const int y_begin = std::max(3, region.y_begin - kReach);
  const int y_end = std::min(image.height_px - 3, region.y_end + kReach);
  if (x_begin >= x_end || y_begin >= y_end) return 0;
  const int x_first = x_begin & ~(kLanes - 1);
  const TestedPixels pixels = {image.Row(y_begin), image.pitch_bytes, x_begin, x_end, x_first};
  const int rows = y_end - y_begin;
  const int band_rows = FastBandRows(region);
  const int span = (x_end - x_first + kLanes - 1) & ~(kLanes - 1);
  const BandMemory memory(span, band_rows, kRadius, scratch);
  std::memset(scratch, 0, static_cast<size_t>(kMargin + 2 * kRadius * memory.stride));

  Corner* const out_begin = out;
  int pending = 0;  // blocks with corners that are not suppressed yet
  // A band of rows is scored, and those are suppressed whose windows are complete. Rows from the
  // last one on do not exist: their scores are 0.
  for (int row = 0; row < rows + kRadius; row += band_rows) {
    const BandScores scores = {memory.scores, row - 2 * kRadius, memory.stride, x_first};
    std::memset(memory.scores + 2 * kRadius * memory.stride, 0,
                static_cast<size_t>(band_rows * memory.stride));
    int candidates = FindCandidates(pixels, row, std::min(row + band_rows, rows), threshold_grey,
                                    memory.candidates);
    const uint64_t* wanted = nullptr;
    if constexpr (kDropsSmallSums) {
      const int least_mean = (least_sum + 15) / 16;
      candidates = DropSmallSums(pixels, candidates, threshold_grey, least_mean, memory.candidates,
                                 memory.wanted);
      wanted = memory.wanted;
    }
    pending += score_blocks(pixels, memory.candidates, wanted, candidates, threshold_grey, scores,
                            memory.corner_blocks + pending);

    const int decided_rows = row + band_rows - kRadius;
    int decided = 0;
    for (; decided < pending; ++decided) {
      const auto& [block, corners] = memory.corner_blocks[decided];
      if (block.row >= decided_rows) break;
      const int y = y_begin + block.row;
      if (y < region.y_begin || y >= region.y_end) continue;
      uint8_t* const of_block = scores.At(block);
      const uint64_t inside = BitsInside(block, region.x_begin, region.x_end);
      uint64_t stay = corners & inside;
      if constexpr (kZones) {
        stay = ZoneMaxima(stay, of_block, memory.stride,
                          {edges->has_left + block.column, edges->has_right + block.column});
      } else {
        stay = Maxima<kRadius>(stay, of_block, memory.stride);
      }
      out = WriteCorners(stay, of_block, block.column, y, out);
    }
    std::copy(memory.corner_blocks + decided, memory.corner_blocks + pending, memory.corner_blocks);
    pending -= decided;
    std::memmove(memory.scores, memory.scores + band_rows * memory.stride,
                 static_cast<size_t>(2 * kRadius * memory.stride));
  }
  return static_cast<int>(out - out_begin);
}

template <bool kBlends>
BlockScorer BlockScorerOf(int arc_length) {
  return arc_length == 9    ? &ScoreBlocks<9, kBlends>
         : arc_length == 10 ? &ScoreBlocks<10, kBlends>
         : arc_length == 11 ? &ScoreBlocks<11, kBlends>
                            : &ScoreBlocks<12, kBlends>;
}

BlockScorer BlockScorerOf(int arc_length) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // Intel's processors have one port for 512-bit minima and maxima.
  static const bool blends = __builtin_cpu_is("intel") != 0;
  if (blends) return BlockScorerOf<true>(arc_length);
#endif
  return BlockScorerOf<false>(arc_length);
}

int StrongFastCorners(const ImageView& image, const Region& region, int arc_length,
                      int threshold_grey, int least_sum, uint8_t* scratch, Corner* out) {
  const BlockScorer score_blocks = BlockScorerOf(arc_length);
  // Nearly every corner exceeds as little as that: telling the others would cost more than it
  // saves.
  if (least_sum <= arc_length * (threshold_grey + 1)) {
    return FastCornersOf<0>(image, region, score_blocks, threshold_grey, scratch, out);
  }
  return FastCornersOf<0, true>(image, region, score_blocks, threshold_grey, scratch, out,
                                least_sum);
}

int ZoneFastCorners(const ImageView& image, const Region& row, int arc_length, int threshold_grey,
                    const ZoneEdges& edges, uint8_t* scratch, Corner* out) {
  return FastCornersOf<1, /*kDropsSmallSums=*/false, /*kZones=*/true>(
      image, row, BlockScorerOf(arc_length), threshold_grey, scratch, out, /*least_sum=*/0, &edges);
}

int FastCorners(const ImageView& image, const Region& region, int arc_length, int threshold_grey,
                int radius_px, uint8_t* scratch, Corner* out) {
  const BlockScorer score_blocks = BlockScorerOf(arc_length);
  switch (radius_px) {
    case 0:
      return FastCornersOf<0>(image, region, score_blocks, threshold_grey, scratch, out);
    case 1:
      return FastCornersOf<1>(image, region, score_blocks, threshold_grey, scratch, out);
    case 2:
      return FastCornersOf<2>(image, region, score_blocks, threshold_grey, scratch, out);
    case 3:
      return FastCornersOf<3>(image, region, score_blocks, threshold_grey, scratch, out);
    default:
      return FastCornersOf<4>(image, region, score_blocks, threshold_grey, scratch, out);
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

ZoneFastKernel ZoneFastKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(ZoneFastCorners, ReferenceZoneFast, target.simd_target)}

StrongFastKernel StrongFastKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(StrongFastCorners, ReferenceStrongFast, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
