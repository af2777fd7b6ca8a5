// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Minimum distance: the twins of the loops in cpu/steps/suppress/minimum_distance.cc. A row of
// conflicting places is one vector or a few, the last of which is masked.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/minimum_distance_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/suppress/minimum_distance.h"
#include "cpu/steps/suppress/neighbourhood.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<uint32_t>;
using V = hn::Vec<D>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
static_assert(kLanes <= kMapRowSlack);

HWY_INLINE int FirstBit(uint32_t bits) {
  return static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
}

// Index of the first of `count` entries that is above `limit`, or -1.
HWY_INLINE int FirstAbove(const uint32_t* entries, int count, V limit) {
  const D d;
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const uint32_t bits = MaskBits(d, hn::Gt(hn::LoadU(d, entries + i), limit));
    if (bits != 0) return i + FirstBit(bits);
  }
  if (i >= count) return -1;
  const V last = hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count - i)), d, entries + i);
  const uint32_t bits = MaskBits(d, hn::Gt(last, limit));
  return bits != 0 ? i + FirstBit(bits) : -1;
}

// Outranking() where each row of conflicting places has at most `kVectors` vectors. Reads up to so
// many vectors from the first place of a row on.
template <int kVectors>
HWY_INLINE ptrdiff_t OutrankingNear(const PlaceMap& map, const ConflictRows& rows, int x, int y,
                                    bool ties_in_row) {
  const D d;
  static_assert(kVectors * kLanes <= 32 && kVectors * kLanes <= kMapRowSlack);
  const Region& region = map.region;
  const uint32_t own = map.entries[y * map.pitch + x];
  // Entries above `lower` outrank from below and from the right, those above `upper` from above.
  const V lower = hn::Set(d, own);
  const V upper = hn::Set(d, own - 1);
  const auto above = [&](const uint32_t* entries, V limit) {
    uint32_t bits = 0;
    for (int i = 0; i < kVectors; ++i) {
      bits |= MaskBits(d, hn::Gt(hn::LoadU(d, entries + i * kLanes), limit)) << (i * kLanes);
    }
    return bits;
  };
  const int widest = rows.half_width[0];
  int begin = std::max(x - widest, region.x_begin);
  int end = std::min(x + widest + 1, region.x_end);
  const ptrdiff_t row = y * map.pitch + begin;
  uint32_t in_row = above(map.entries + row, lower);
  if (ties_in_row) in_row |= above(map.entries + row, upper) & ((uint32_t{1} << (x - begin)) - 1);
  in_row &= FirstBits(end - begin);
  if (in_row != 0) return row + FirstBit(in_row);
  // Neighbours are the likeliest to outrank. The rows above and below share a branch, which is
  // foreseen badly.
  for (int dy = 1; dy <= rows.reach; ++dy) {
    const int half_width = rows.half_width[dy];
    begin = std::max(x - half_width, region.x_begin);
    end = std::min(x + half_width + 1, region.x_end);
    const ptrdiff_t upper_row = (y - dy) * map.pitch + begin;
    const ptrdiff_t lower_row = (y + dy) * map.pitch + begin;
    const uint32_t inside = FirstBits(end - begin);
    const uint32_t in_upper =
        y - dy >= region.y_begin ? above(map.entries + upper_row, upper) & inside : 0;
    const uint32_t in_lower =
        y + dy < region.y_end ? above(map.entries + lower_row, lower) & inside : 0;
    if ((in_upper | in_lower) == 0) continue;
    return in_upper != 0 ? upper_row + FirstBit(in_upper) : lower_row + FirstBit(in_lower);
  }
  return -1;
}

ptrdiff_t Outranking(const PlaceMap& map, const ConflictRows& rows, int x, int y,
                     bool ties_in_row) {
  const int row_places = 2 * rows.half_width[0] + 1;
  if (row_places <= kLanes) return OutrankingNear<1>(map, rows, x, y, ties_in_row);
  if (row_places <= 2 * kLanes) return OutrankingNear<2>(map, rows, x, y, ties_in_row);
  const D d;
  const Region& region = map.region;
  const uint32_t own = map.entries[y * map.pitch + x];
  // Entries above `lower` outrank from below and from the right, those above `upper` from above.
  const V lower = hn::Set(d, own);
  const V upper = hn::Set(d, own - 1);
  const auto search = [&](int v, int begin, int end, V limit) -> ptrdiff_t {
    const ptrdiff_t at = v * map.pitch + begin;
    const int found = FirstAbove(map.entries + at, end - begin, limit);
    return found < 0 ? -1 : at + found;
  };
  const auto begin_of = [&](int half_width) { return std::max(x - half_width, region.x_begin); };
  const auto end_of = [&](int half_width) { return std::min(x + half_width + 1, region.x_end); };
  const int widest = rows.half_width[0];
  ptrdiff_t found = search(y, begin_of(widest), x, ties_in_row ? upper : lower);
  if (found >= 0) return found;
  found = search(y, x + 1, end_of(widest), lower);
  if (found >= 0) return found;
  // Neighbours are the likeliest to outrank.
  for (int dy = 1; dy <= rows.reach; ++dy) {
    const int begin = begin_of(rows.half_width[dy]);
    const int end = end_of(rows.half_width[dy]);
    if (y - dy >= region.y_begin) {
      found = search(y - dy, begin, end, upper);
      if (found >= 0) return found;
    }
    if (y + dy < region.y_end) {
      found = search(y + dy, begin, end, lower);
      if (found >= 0) return found;
    }
  }
  return -1;
}

void ClearConflicts(const PlaceMap& map, const ConflictRows& rows, int x, int y) {
  const D d;
  const V zero = hn::Zero(d);
  const Region& region = map.region;
  const int v_end = std::min(y + rows.reach + 1, region.y_end);
  for (int v = std::max(y - rows.reach, region.y_begin); v < v_end; ++v) {
    const int half_width = rows.half_width[v < y ? y - v : v - y];
    const int end = std::min(x + half_width + 1, region.x_end);
    int u = std::max(x - half_width, region.x_begin);
    uint32_t* const row = map.entries + v * map.pitch;
    for (; u + kLanes <= end; u += kLanes) hn::StoreU(zero, d, row + u);
    if (u < end) hn::BlendedStore(zero, hn::FirstN(d, static_cast<size_t>(end - u)), d, row + u);
  }
}

int Candidates(const uint32_t* row, int count, uint32_t threshold, uint16_t* columns) {
  const D d;
  const V limit = hn::Set(d, threshold);
  int number = 0;
  for (int x = 0; x < count; x += kLanes) {
    uint32_t bits = MaskBits(d, hn::Gt(hn::LoadU(d, row + x), limit)) & FirstBits(count - x);
    for (; bits != 0; bits &= bits - 1) {
      columns[number++] = static_cast<uint16_t>(x + FirstBit(bits));
    }
  }
  return number;
}

void Blocks(const uint32_t* upper, const uint32_t* lower, int count, uint32_t* blocks) {
  const D d;
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const V left = hn::Max(hn::LoadU(d, upper + 2 * i), hn::LoadU(d, lower + 2 * i));
    const V right =
        hn::Max(hn::LoadU(d, upper + 2 * i + kLanes), hn::LoadU(d, lower + 2 * i + kLanes));
    hn::StoreU(hn::Max(hn::ConcatEven(d, right, left), hn::ConcatOdd(d, right, left)), d,
               blocks + i);
  }
  ReferenceBlocks(upper + 2 * i, lower + 2 * i, count - i, blocks + i);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

OutrankingKernel OutrankingKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(Outranking, ReferenceOutranking, target.simd_target)}

ClearConflictsKernel ClearConflictsKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(ClearConflicts, ReferenceClearConflicts, target.simd_target)}

CandidatesKernel CandidatesKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(Candidates, ReferenceCandidates, target.simd_target)}

BlocksKernel BlocksKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(Blocks, ReferenceBlocks, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
