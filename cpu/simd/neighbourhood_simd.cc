// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Peaks of response maps: the twin of ReferencePeaks(). Most vectors hold no candidate, and their
// neighbours are not read.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/neighbourhood_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstdint>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/suppress/neighbourhood.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<uint32_t>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
static_assert(kLanes <= kMapRowSlack);

// Largest of three neighbouring entries.
HWY_INLINE hn::Vec<D> MaxOfThree(const uint32_t* middle) {
  const D d;
  return hn::Max(hn::Max(hn::LoadU(d, middle - 1), hn::LoadU(d, middle + 1)), hn::LoadU(d, middle));
}

int Peaks(const uint32_t* above, const uint32_t* row, const uint32_t* below, int count,
          uint32_t threshold, uint16_t* peaks, int* candidates) {
  const D d;
  const auto limit = hn::Set(d, threshold);
  int number = 0;
  int above_threshold = 0;
  // The first and the last column have neighbours on one side only.
  const auto test_end = [&](int x, int begin, int end) {
    if (row[x] <= threshold) return;
    ++above_threshold;
    for (int u = begin; u < end; ++u) {
      if (row[x] < above[u] || row[x] < row[u] || row[x] < below[u]) return;
    }
    peaks[number++] = static_cast<uint16_t>(x);
  };
  test_end(0, 0, std::min(2, count));
  for (int x = 1; x < count - 1; x += kLanes) {
    const auto values = hn::LoadU(d, row + x);
    uint32_t inside = FirstBits(count - 1 - x);
    inside &= MaskBits(d, hn::Gt(values, limit));
    if (inside == 0) continue;
    above_threshold += static_cast<int>(hwy::PopCount(inside));
    const auto others =
        hn::Max(hn::Max(MaxOfThree(above + x), MaxOfThree(below + x)), MaxOfThree(row + x));
    uint32_t bits = inside & MaskBits(d, hn::Eq(values, others));
    for (; bits != 0; bits &= bits - 1) {
      peaks[number++] =
          static_cast<uint16_t>(x + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(bits)));
    }
  }
  if (count > 1) test_end(count - 1, count - 2, count);
  *candidates = above_threshold;
  return number;
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

PeaksKernel PeaksKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(Peaks, ReferencePeaks, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
