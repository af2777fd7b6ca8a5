// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SAD scores: the twin of features/algo/sad_score.h and segment_test.h.
//
// A vector holds the rings of one corner per 16 bytes: AVX-512 does four corners at a time. Eight
// pixels of each of the seven rows are loaded, two rows to a block, and byte shuffles put the ring
// in order. Comparisons with the threshold give 16 bits per corner, whose arcs are found in lanes
// of 32 bits, one per corner.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/sad_score_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels/corner_responses.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<uint8_t>;
using D64 = hn::Repartition<uint64_t, D8>;
using V8 = hn::Vec<D8>;
constexpr int kBlocks = static_cast<int>(hn::MaxLanes(D8())) / 16;
static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4);

// Eight pixels from `at` in the lower half of a block, eight from `at + step` in the upper one.
HWY_INLINE hn::Vec<hn::Full128<uint8_t>> LoadTwoRows(const uint8_t* at, ptrdiff_t step) {
  const hn::Full128<uint8_t> d;
  const hn::Half<decltype(d)> dh;
  return hn::Combine(d, hn::LoadU(dh, at + step), hn::LoadU(dh, at));
}

// Loads two rows of each of kBlocks corners. `corner` points to their top left pixels.
HWY_INLINE V8 LoadTwoRowsOfEach(const uint8_t* const* corner, ptrdiff_t offset, ptrdiff_t step) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const hn::Half<D8> dh;
  return hn::Combine(
      D8(),
      hn::Combine(dh, LoadTwoRows(corner[3] + offset, step), LoadTwoRows(corner[2] + offset, step)),
      hn::Combine(dh, LoadTwoRows(corner[1] + offset, step),
                  LoadTwoRows(corner[0] + offset, step)));
#elif HWY_ARCH_X86
  return hn::Combine(D8(), LoadTwoRows(corner[1] + offset, step),
                     LoadTwoRows(corner[0] + offset, step));
#else
  return LoadTwoRows(corner[0] + offset, step);
#endif
}

// Rings in the order of features/algo/fast.h, and their centres in all 16 bytes.
struct Rings {
  V8 ring;
  V8 centre;
};

HWY_INLINE Rings LoadRings(const uint8_t* const* corner, ptrdiff_t pitch) {
  constexpr uint8_t kNo = 128;
  // The tables give the place of each ring pixel among the pixels loaded. Column 0 is x - 3.
  // clang-format off
  alignas(16) static constexpr uint8_t kTop[16] =       // rows y - 3 and y - 2
      {kNo, kNo, kNo, kNo, kNo, kNo, 13, 4, 3, 2, 9, kNo, kNo, kNo, kNo, kNo};
  alignas(16) static constexpr uint8_t kMiddle[16] =    // rows y - 1 and y
      {kNo, kNo, kNo, kNo, 14, 6, kNo, kNo, kNo, kNo, kNo, 0, 8, kNo, kNo, kNo};
  alignas(16) static constexpr uint8_t kBottom[16] =    // rows y + 1 and y + 2
      {kNo, kNo, 13, 6, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, 0, 9, kNo};
  alignas(16) static constexpr uint8_t kLowest[16] =    // row y + 3, twice
      {3, 4, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, 2};
  alignas(16) static constexpr uint8_t kCentre[16] =    // in rows y - 1 and y
      {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11};
  // clang-format on
  const D8 d;
  const V8 middle = LoadTwoRowsOfEach(corner, 2 * pitch, pitch);
  const auto pick = [&](V8 rows, const uint8_t* places) HWY_ATTR {
    return hn::TableLookupBytesOr0(rows, hn::LoadDup128(d, places));
  };
  const V8 upper = hn::Or(pick(LoadTwoRowsOfEach(corner, 0, pitch), kTop), pick(middle, kMiddle));
  const V8 lower = hn::Or(pick(LoadTwoRowsOfEach(corner, 4 * pitch, pitch), kBottom),
                          pick(LoadTwoRowsOfEach(corner, 6 * pitch, 0), kLowest));
  return {hn::Or(upper, lower), pick(middle, kCentre)};
}

// Strings of 16 bits, one per corner.
using D32 = hn::FixedTag<uint32_t, kBlocks>;
using V32 = hn::Vec<D32>;

// Bit i of a string: difference i of the corner > threshold.
HWY_INLINE V32 AboveStrings(V8 difference, V8 threshold) {
  const D8 d;
  const D32 d32;
  const hn::Rebind<uint16_t, D32> d16;
  alignas(16) uint8_t bytes[8];
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  hn::StoreMaskBits(d, hn::Gt(difference, threshold), bytes);
  return hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(bytes)));
#else
  // Equality with the maximum is cheaper where there is no unsigned comparison.
  hn::StoreMaskBits(d, hn::Eq(hn::Max(difference, threshold), threshold), bytes);
  const V32 not_above =
      hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(bytes)));
  return hn::Xor(not_above, hn::Set(d32, 0xffffu));
#endif
}

// algo::ArcStarts(), but for bits above the lower 16, which mean nothing.
template <int kArcLength>
HWY_INLINE V32 ArcStarts(V32 strings) {
  V32 runs = hn::Or(strings, hn::ShiftLeft<16>(strings));
  runs = hn::And(runs, hn::ShiftRight<1>(runs));
  runs = hn::And(runs, hn::ShiftRight<2>(runs));
  runs = hn::And(runs, hn::ShiftRight<4>(runs));
  return hn::And(runs, hn::ShiftRight<kArcLength - 8>(runs));
}

// The rest of algo::ArcMembers(): each start spread over the arc's length.
template <int kArcLength>
HWY_INLINE V32 SpreadStarts(V32 starts) {
  const V32 low = hn::Set(D32(), 0xffffu);
  V32 members = hn::And(starts, low);
  members = hn::Or(members, hn::ShiftLeft<1>(members));
  members = hn::Or(members, hn::ShiftLeft<2>(members));
  members = hn::Or(members, hn::ShiftLeft<4>(members));
  members = hn::Or(members, hn::ShiftLeft<kArcLength - 8>(members));
  return hn::And(hn::Or(members, hn::ShiftRight<16>(members)), low);
}

// Lanes of a vector of rings whose bit is set in the strings.
HWY_INLINE hn::Mask<D8> LanesOf(V32 strings) {
  const hn::Rebind<uint16_t, D32> d16;
  const hn::Rebind<int32_t, D32> di32;
  uint16_t words[4] = {};
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di32, strings)), d16, words);
  return hn::LoadMaskBits(D8(), reinterpret_cast<const uint8_t*>(words));
}

// Writes the sum of each corner's differences.
HWY_INLINE void StoreSums(V8 differences, int count, float* responses) {
  const D64 d64;
  HWY_ALIGN uint64_t sums[2 * kBlocks];
  hn::Store(hn::SumsOf8(differences), d64, sums);
  for (int k = 0; k < std::min(kBlocks, count); ++k) {
    responses[k] = static_cast<float>(static_cast<int32_t>(sums[2 * k] + sums[2 * k + 1]));
  }
}

// Calls `score` with the rings of each kBlocks corners and the index of the first.
template <typename Score>
HWY_INLINE void ForRings(const ImageView& image, const Corner* corners, int count, Score score) {
  for (int i = 0; i < count; i += kBlocks) {
    const uint8_t* corner[kBlocks];
    for (int k = 0; k < kBlocks; ++k) {
      const Corner& at = corners[std::min(i + k, count - 1)];
      corner[k] = image.Row(at.y - 3) + at.x - 3;
    }
    score(LoadRings(corner, image.pitch_bytes), i);
  }
}

template <int kArcLength>
void SadArcOf(const ImageView& image, const Corner* corners, int count, int threshold_grey,
              float* responses) {
  const D8 d;
  const V8 threshold = hn::Set(d, static_cast<uint8_t>(threshold_grey));
  ForRings(image, corners, count, [&](const Rings& rings, int first) HWY_ATTR {
    const V8 brighter = hn::SaturatedSub(rings.ring, rings.centre);
    const V8 darker = hn::SaturatedSub(rings.centre, rings.ring);
    // A ring has an arc on one side at most.
    const V32 starts = hn::Or(ArcStarts<kArcLength>(AboveStrings(brighter, threshold)),
                              ArcStarts<kArcLength>(AboveStrings(darker, threshold)));
    const auto members = LanesOf(SpreadStarts<kArcLength>(starts));
    StoreSums(hn::IfThenElseZero(members, hn::Or(brighter, darker)), count - first,
              responses + first);
  });
}

void SadArc(const ImageView& image, const Corner* corners, int count, const SegmentTest& test,
            float* responses) {
  const int threshold_grey = test.threshold_grey;
  switch (test.arc_length) {
    case 9:
      return SadArcOf<9>(image, corners, count, threshold_grey, responses);
    case 10:
      return SadArcOf<10>(image, corners, count, threshold_grey, responses);
    case 11:
      return SadArcOf<11>(image, corners, count, threshold_grey, responses);
    default:
      return SadArcOf<12>(image, corners, count, threshold_grey, responses);
  }
}

void SadCircle(const ImageView& image, const Corner* corners, int count,
               const SegmentTest& /*test*/, float* responses) {
  ForRings(image, corners, count, [&](const Rings& rings, int first) HWY_ATTR {
    StoreSums(hn::Or(hn::SaturatedSub(rings.ring, rings.centre),
                     hn::SaturatedSub(rings.centre, rings.ring)),
              count - first, responses + first);
  });
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

template <>
ResponseKernel ResponseKernelOf<Score::kSadArc>(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(SadArc, ReferenceResponses<Score::kSadArc>, target.simd_target)
}

template <>
ResponseKernel ResponseKernelOf<Score::kSadCircle>(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(SadCircle, ReferenceResponses<Score::kSadCircle>, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
