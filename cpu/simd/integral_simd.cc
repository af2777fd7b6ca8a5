// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Integral image: the twin of features/algo/bfrost.h, IntegralRow().
//
// A vector of pixels is widened to 16 bits and summed from the left within blocks of 8 lanes, then
// across blocks: at most 32 * 255, which fits. Widened to 32 bits, it takes the row's sum so far
// and the row above.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/integral_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/describe/integral.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<uint16_t>;
using D32 = hn::RepartitionToWide<D16>;
using D8 = hn::Rebind<uint8_t, D16>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D16()));
constexpr int kHalf = kLanes / 2;
constexpr int kBlocks = kLanes / 8;

// Sum of lanes 0 to i in lane i.
HWY_INLINE hn::Vec<D16> RunningSums(hn::Vec<D16> v) {
  const D16 d;
  v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  v = hn::Add(v, hn::ShiftLeftLanes<4>(d, v));
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  // Odd blocks take the last lane of the block before them.
  const auto zero = hn::Zero(d);
  v = hn::Add(v, hn::OddEvenBlocks(hn::SwapAdjacentBlocks(hn::Broadcast<7>(v)), zero));
  if constexpr (kBlocks == 4) {
    // The upper two blocks take the last lane of the second block.
    const auto ends = hn::Broadcast<7>(v);
    const auto odd_ends = hn::OddEvenBlocks(ends, hn::SwapAdjacentBlocks(ends));
    v = hn::Add(v, hn::ConcatLowerLower(d, odd_ends, zero));
  }
#endif
  return v;
}

void IntegralRows(const ImageView& image, int row_begin, int row_end, const uint32_t* above,
                  uint32_t* rows, ptrdiff_t pitch) {
  const D16 d16;
  const D32 d32;
  const hn::Half<D16> half;
  alignas(64) uint32_t last_lane[kHalf];
  std::fill_n(last_lane, kHalf, static_cast<uint32_t>(kHalf - 1));
  const auto last = hn::SetTableIndices(d32, last_lane);
  for (int y = row_begin; y < row_end; ++y) {
    const uint8_t* const pixels = image.Row(y);
    rows[0] = 0;
    auto sum = hn::Zero(d32);  // of the row so far, in all lanes
    for (int x = 0; x < image.width_px; x += kLanes) {
      const auto run = RunningSums(hn::PromoteTo(d16, hn::LoadU(D8(), pixels + x)));
      const auto lower = hn::PromoteTo(d32, hn::LowerHalf(half, run));
      const auto upper = hn::PromoteTo(d32, hn::UpperHalf(half, run));
      hn::Store(hn::Add(hn::Add(lower, sum), hn::Load(d32, above + x + 1)), d32, rows + x + 1);
      hn::Store(hn::Add(hn::Add(upper, sum), hn::Load(d32, above + x + 1 + kHalf)), d32,
                rows + x + 1 + kHalf);
      sum = hn::Add(sum, hn::TableLookupLanes(upper, last));
    }
    above = rows;
    rows += pitch;
  }
}

void SumColumns(const ImageView& image, int row_begin, int row_end, uint32_t* sums) {
  constexpr int kColumns = 64;  // at a time: a cache line
  constexpr int kVectors = kColumns / kLanes;
  constexpr int kRows = 256;  // whose sum fits 16 bits
  const D16 d16;
  const D32 d32;
  const hn::Half<D16> half;
  for (int x = 0; x < image.width_px; x += kColumns) {
    for (int begin = row_begin; begin < row_end; begin += kRows) {
      hn::Vec<D16> total[kVectors];
      for (int i = 0; i < kVectors; ++i) total[i] = hn::Zero(d16);
      for (int y = begin; y < std::min(begin + kRows, row_end); ++y) {
        const uint8_t* const pixels = image.Row(y) + x;
        for (int i = 0; i < kVectors; ++i) {
          total[i] = hn::Add(total[i], hn::PromoteTo(d16, hn::LoadU(D8(), pixels + i * kLanes)));
        }
      }
      for (int i = 0; i < kVectors; ++i) {
        uint32_t* const at = sums + x + i * kLanes;
        auto lower = hn::PromoteTo(d32, hn::LowerHalf(half, total[i]));
        auto upper = hn::PromoteTo(d32, hn::UpperHalf(half, total[i]));
        if (begin > row_begin) {
          lower = hn::Add(lower, hn::Load(d32, at));
          upper = hn::Add(upper, hn::Load(d32, at + kHalf));
        }
        hn::Store(lower, d32, at);
        hn::Store(upper, d32, at + kHalf);
      }
    }
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

IntegralKernel IntegralKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(IntegralRows, ReferenceIntegral, target.simd_target)}

ColumnSumsKernel ColumnSumsKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(SumColumns, ReferenceColumnSums, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
