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
// An entry can be a maximum only if it is that of its column and of a few columns beside, aligned
// groups of four (or two, where reaches are small). Each of these is compared with the maxima of
// all columns within reach.

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
#include "features/host_device.h"

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

// Each lane: the largest of the lanes of its group, aligned groups of four or of two.
template <bool kOfFour>
HWY_INLINE V16 MaxOfGroup(V16 v) {
  const D16 d;
  const DU32 du;
  v = hn::Max(v, hn::Reverse2(d, v));
  if (kOfFour) v = hn::Max(v, hn::BitCast(d, hn::Reverse2(du, hn::BitCast(du, v))));
  return v;
}

// Places of a band that may be maxima: bits of the columns of one vector in two rows, the upper one
// in the lower half.
struct Candidates {
  uint64_t bits;
  int16_t column;  // of bits 0 and 32, counted from the first column of the part
  int16_t row;     // of bit 0
};

// Scratch memory: maxima over columns, rows kBandPitch apart, and the candidates.
struct Band {
  uint16_t* highest;
  Candidates* candidates;
};

HWY_INLINE Band BandIn(uint8_t* scratch) {
  Band band;
  band.highest = reinterpret_cast<uint16_t*>(scratch);
  band.candidates = reinterpret_cast<Candidates*>(band.highest + kBandRows * kBandPitch);
  return band;
}
static_assert((DivUp(kBandPitch, kLanes) * kBandRows / 2 + 1) * sizeof(Candidates) <=
              kBandScratchBytes / 2);

// Takes the maxima over columns, from `reach` columns before the part on, and lists candidates;
// returns the length of the list. kReach: `reach`, or 0 for any.
template <int kReach, bool kFar>
HWY_NOINLINE int MaximaOfColumns(const CoarseMap& map, int any_reach, const Region& part,
                                 const Band& band) {
  const D16 d;
  const int reach = kReach > 0 ? kReach : any_reach;
  const auto one = hn::Set(d, 1);
  const ptrdiff_t pitch = map.pitch;
  const uint16_t* const first = map.entries + (part.y_begin - reach) * pitch + part.x_begin - reach;
  const int columns = part.width() + 2 * reach;
  const int rows = part.height();
  uint16_t* const highest = band.highest;
  int listed = 0;
  for (int i = 0; i < columns; i += kLanes) {
    const uint16_t* const top = first + i;
    // Few pointers and a multiple of the pitch each are cheaper than a pointer for each row.
    const uint16_t* const fours[4] = {top, top + 4 * pitch, top + 8 * pitch, top + 12 * pitch};
    const auto row = [&](int k) {
      return hn::LoadU(d, kReach > 0 && k < 16 ? fours[k / 4] + k % 4 * pitch : top + k * pitch);
    };
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
    const uint32_t inside = LowBits(reach + part.width() - i) & ~LowBits(reach - i);
    const auto candidates = [&](int j) -> uint64_t {
      hn::StoreU(window[j], d, highest + j * kBandPitch + i);
      const V16 limit = hn::Max(MaxOfGroup<kFar>(window[j]), one);
      return BitsOf(d, hn::Eq(row(reach + j), limit)) & (j < rows ? inside : 0);
    };
    for (int j = 0; j < kBandRows; j += 2) {  // without branches, which would be foreseen badly
      const uint64_t bits = candidates(j) | candidates(j + 1) << 32;
      band.candidates[listed] = {bits, static_cast<int16_t>(i - reach), static_cast<int16_t>(j)};
      listed += bits != 0 ? 1 : 0;
    }
  }
  return listed;
}

// Maxima of the columns within reach, compared with `own`, the entry of their middle.
struct Comparison {
  bool is_above;
  bool is_equal;  // in another column
};

template <int kReach>
HWY_INLINE Comparison CompareColumns(const uint16_t* window, int any_reach, uint16_t own) {
  const DWindow d;
  const int reach = kReach > 0 ? kReach : any_reach;
  const int side = 2 * reach + 1;
  const auto centre = hn::Set(d, own);
  uint32_t above = 0;
  uint32_t equal = 0;
  for (int u = 0; u < side; u += kWindowLanes) {
    const auto values = hn::LoadU(d, window + u);
    const uint32_t lanes = LowBits(std::min(side - u, kWindowLanes));
    const uint32_t others = lanes & ~(LowBits(reach - u + 1) & ~LowBits(reach - u));
    above |= ~BitsOf(d, hn::Eq(hn::Max(values, centre), centre)) & lanes;
    equal |= BitsOf(d, hn::Eq(values, centre)) & others;
  }
  return {above != 0, equal != 0};
}

template <int kReach, bool kFar>
int MaximaOfBand(const CoarseMap& map, int any_reach, const Region& part, uint8_t* scratch,
                 CoarseMaximum* maxima) {
  const int reach = kReach > 0 ? kReach : any_reach;
  const Band band = BandIn(scratch);
  const int listed = MaximaOfColumns<kReach, kFar>(map, reach, part, band);
  int number = 0;
  for (int c = 0; c < listed; ++c) {
    const Candidates& candidates = band.candidates[c];
    for (uint64_t bits = candidates.bits; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
      const int row = candidates.row + bit / 32;
      const int x = candidates.column + bit % 32;
      const uint16_t own = map.entries[(part.y_begin + row) * map.pitch + part.x_begin + x];
      const Comparison comparison =
          CompareColumns<kReach>(band.highest + row * kBandPitch + x, reach, own);
      maxima[number] = {static_cast<int16_t>(part.x_begin + x),
                        static_cast<int16_t>(part.y_begin + row), comparison.is_equal ? 1 : 0};
      number += comparison.is_above ? 0 : 1;
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

int CoarseMaxima(const CoarseMap& map, int reach, const Region& part, uint8_t* scratch,
                 CoarseMaximum* maxima) {
  constexpr int kUsualReach = 4;  // of the presets
  if (reach == kUsualReach) return MaximaOfBand<kUsualReach, true>(map, 0, part, scratch, maxima);
  return 2 * reach >= kBandRows ? MaximaOfBand<0, true>(map, reach, part, scratch, maxima)
                                : MaximaOfBand<0, false>(map, reach, part, scratch, maxima);
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
