// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Minimum distance of squares: the twins of the loops in cpu/steps/suppress/square_distance.cc.
//
// The maximum of a square is taken over columns first. Eight rows are done together: their windows
// share the rows in the middle, so that maxima over the rows above, taken upwards, and over the
// rows below, taken downwards, make each of the eight by one more maximum.
//
//   row of entries   0 ... 7 8 ... 2r ... 2r+7        window of row j: entries of rows j ... 2r+j
//                    <------ |             above[j] = max of rows j ... 7
//                            | ------>     below[j] = max of rows 8 ... 2r+j
//
// An entry can be a maximum if it is that of its column and no less than its two neighbours in the
// row, which leaves few. Each of them is compared with the maxima of the columns within reach.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/square_distance_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/suppress/square_distance.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<uint16_t>;
using V16 = hn::Vec<D16>;
using DU32 = hn::ScalableTag<uint32_t>;
using D32 = hn::ScalableTag<int32_t>;
using DHalf16 = hn::Half<D16>;
// Entries of a row that are compared with one at a time.
using DWindow = hn::CappedTag<uint16_t, 16>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D16()));
constexpr int kLanes32 = static_cast<int>(hn::MaxLanes(DU32()));
constexpr int kWindowLanes = static_cast<int>(hn::MaxLanes(DWindow()));
static_assert(kLanes <= kCoarseBlock && kCoarseBlock % kLanes == 0);
static_assert(kBandPitch % 2 == 0 && kBandPitch >= kBandColumns + 2 * kMaxSquareReach + kLanes);

// Bit i: lane i of a mask over at most 32 lanes of 16 bits.
template <class D, class M>
HWY_INLINE uint32_t BitsOf(D d, M mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  uint32_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

HWY_INLINE int FirstBit(uint32_t bits) {
  return static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
}

// Bits below `count`, which may be any number.
HWY_INLINE uint32_t LowBits(int count) {
  return count >= 32 ? ~uint32_t{0} : count <= 0 ? 0 : (uint32_t{1} << count) - 1;
}

void Coarsen(const uint32_t* row, int count, const CoarseScale& scale, uint16_t* coarse) {
  const DU32 d;
  const DHalf16 half;
  const auto threshold = hn::Set(d, scale.threshold);
  const auto round_up = hn::Set(d, (uint32_t{1} << scale.shift) - 1);
  const auto convert = [&](const uint32_t* from) {
    const auto above = hn::Sub(hn::Max(hn::LoadU(d, from), threshold), threshold);
    const auto shifted = hn::ShiftRightSame(hn::Add(above, round_up), scale.shift);
    return hn::DemoteTo(half, hn::BitCast(D32(), shifted));  // saturates
  };
  for (int x = 0; x < count; x += kLanes) {
    hn::StoreU(convert(row + x), half, coarse + x);
    hn::StoreU(convert(row + x + kLanes32), half, coarse + x + kLanes32);
  }
}

// Places of a band that may be maxima: bits of the columns of one vector of a row.
struct Candidates {
  uint32_t bits;
  int16_t column;  // of bit 0, counted from the first column of the part
  int16_t row;
};

// Takes the maxima over columns, from `reach` columns before the part on, into `highest`, and lists
// the candidates; returns their number.
template <bool kFar>
HWY_INLINE int MaximaOfColumns(const CoarseMap& map, int reach, const Region& part,
                               uint16_t* highest, Candidates* candidates) {
  const D16 d;
  const auto one = hn::Set(d, 1);
  const uint16_t* const first =
      map.entries + (part.y_begin - reach) * map.pitch + part.x_begin - reach;
  const int columns = part.width() + 2 * reach;
  const int rows = part.height();
  int number = 0;
  for (int i = 0; i < columns; i += kLanes) {
    const uint16_t* const top = first + i;
    const auto row = [&](int k) { return hn::LoadU(d, top + k * map.pitch); };
    V16 window[kBandRows];
    if (kFar) {
      window[kBandRows - 1] = row(kBandRows - 1);
      for (int j = kBandRows - 2; j >= 0; --j) window[j] = hn::Max(window[j + 1], row(j));
      V16 below = row(kBandRows);
      for (int k = kBandRows + 1; k <= 2 * reach; ++k) below = hn::Max(below, row(k));
      window[0] = hn::Max(window[0], below);
      for (int j = 1; j < kBandRows; ++j) {
        below = hn::Max(below, row(2 * reach + j));
        window[j] = hn::Max(window[j], below);
      }
    } else {
      for (int j = 0; j < kBandRows; ++j) {
        window[j] = row(j);
        for (int k = 1; k <= 2 * reach; ++k) window[j] = hn::Max(window[j], row(j + k));
      }
    }
    for (int j = 0; j < kBandRows; ++j) hn::StoreU(window[j], d, highest + j * kBandPitch + i);
    const uint32_t inside = LowBits(reach + part.width() - i) & ~LowBits(reach - i);
    for (int j = 0; j < kBandRows; ++j) {
      const uint16_t* const at = top + (reach + j) * map.pitch;
      const V16 own = hn::LoadU(d, at);
      const V16 beside = hn::Max(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1));
      const V16 limit = hn::Max(hn::Max(window[j], beside), one);
      const uint32_t bits = BitsOf(d, hn::Eq(own, limit)) & inside;
      candidates[number] = {bits, static_cast<int16_t>(i - reach), static_cast<int16_t>(j)};
      number += bits != 0 && j < rows ? 1 : 0;
    }
  }
  return number;
}

int CoarseMaxima(const CoarseMap& map, int reach, const Region& part, uint8_t* scratch,
                 CoarseMaximum* maxima) {
  const DWindow d;
  auto* const highest = reinterpret_cast<uint16_t*>(scratch);
  auto* const candidates = reinterpret_cast<Candidates*>(highest + kBandRows * kBandPitch);
  static_assert((kBandPitch / kLanes + 1) * kBandRows * sizeof(Candidates) <=
                kBandScratchBytes / 2);
  const int listed = 2 * reach >= kBandRows
                         ? MaximaOfColumns<true>(map, reach, part, highest, candidates)
                         : MaximaOfColumns<false>(map, reach, part, highest, candidates);
  const int side = 2 * reach + 1;
  int number = 0;
  for (int c = 0; c < listed; ++c) {
    const int y = part.y_begin + candidates[c].row;
    const uint16_t* const row = map.entries + y * map.pitch + part.x_begin;
    for (uint32_t bits = candidates[c].bits; bits != 0; bits &= bits - 1) {
      const int x = candidates[c].column + FirstBit(bits);
      const uint16_t* const window = highest + candidates[c].row * kBandPitch + x;
      const auto own = hn::Set(d, row[x]);
      uint32_t above = 0;
      uint32_t equal = 0;  // in columns other than its own
      for (int u = 0; u < side; u += kWindowLanes) {
        const auto values = hn::LoadU(d, window + u);
        const uint32_t lanes = LowBits(side - u);
        above |= ~BitsOf(d, hn::Eq(hn::Max(values, own), own)) & lanes & LowBits(kWindowLanes);
        equal |= BitsOf(d, hn::Eq(values, own)) & lanes &
                 ~(LowBits(reach - u + 1) & ~LowBits(reach - u));
      }
      maxima[number] = {static_cast<int16_t>(part.x_begin + x), static_cast<int16_t>(y),
                        equal != 0 ? 1 : 0};
      number += above == 0 ? 1 : 0;
    }
  }
  for (int i = 0; i < number; ++i) {
    const uint16_t* const centre = map.entries + maxima[i].y * map.pitch + maxima[i].x;
    int equal = 0;
    for (int v = -reach; v <= reach; ++v) equal += centre[v * map.pitch] == *centre ? 1 : 0;
    maxima[i].has_equal |= equal > 1 ? 1 : 0;
  }
  return number;
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

CoarsenKernel CoarsenKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(Coarsen, ReferenceCoarsen, target.simd_target)}

CoarseMaximaKernel CoarseMaximaKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(CoarseMaxima, ReferenceCoarseMaxima, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
