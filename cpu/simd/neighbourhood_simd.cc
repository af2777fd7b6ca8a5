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

// True if no entry in the columns [begin, end) of the three rows is above row[x].
HWY_INLINE bool IsPeakAmong(const uint32_t* above, const uint32_t* row, const uint32_t* below,
                            int x, int begin, int end) {
  for (int u = begin; u < end; ++u) {
    if (row[x] < above[u] || row[x] < row[u] || row[x] < below[u]) return false;
  }
  return true;
}

HWY_INLINE int FirstBit(uint64_t bits) {
  return static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
}

int Peaks(const uint32_t* above, const uint32_t* row, const uint32_t* below, int count,
          uint32_t threshold, uint16_t* peaks) {
  const D d;
  const auto limit = hn::Set(d, threshold);
  int number = 0;
  // The first and the last column have neighbours on one side only.
  if (row[0] > threshold && IsPeakAmong(above, row, below, 0, 0, std::min(2, count))) {
    peaks[number++] = 0;
  }
  for (int x = 1; x < count - 1; x += kLanes) {
    const auto values = hn::LoadU(d, row + x);
    const uint32_t inside = MaskBits(d, hn::Gt(values, limit)) & FirstBits(count - 1 - x);
    if (inside == 0) continue;
    const auto highest =
        hn::Max(hn::Max(MaxOfThree(above + x), MaxOfThree(below + x)), MaxOfThree(row + x));
    uint32_t bits = inside & MaskBits(d, hn::Eq(values, highest));
    for (; bits != 0; bits &= bits - 1) {
      peaks[number++] = static_cast<uint16_t>(x + FirstBit(bits));
    }
  }
  if (count > 1 && row[count - 1] > threshold &&
      IsPeakAmong(above, row, below, count - 1, count - 2, count)) {
    peaks[number++] = static_cast<uint16_t>(count - 1);
  }
  return number;
}

// Parts are small and have few peaks: branches on single rows would be foreseen badly, so a word
// collects those of several.
int PeaksOfPart(const uint32_t* map, ptrdiff_t pitch, const Region& region, const Region& part,
                uint32_t threshold, MapPlace* peaks) {
  const D d;
  const auto limit = hn::Set(d, threshold);
  int number = 0;
  const auto write = [&](int x, int y) {
    peaks[number++] = {static_cast<int16_t>(x), static_cast<int16_t>(y)};
  };
  const auto row_of = [&](int y) {
    return map + std::clamp(y, region.y_begin, region.y_end - 1) * pitch;
  };
  const int begin = std::max(part.x_begin, region.x_begin + 1);
  const int end = std::min(part.x_end, region.x_end - 1);
  for (int x = begin; x < end; x += kLanes) {
    const uint32_t inside = FirstBits(end - x);
    auto above = MaxOfThree(row_of(part.y_begin - 1) + x);
    auto middle = MaxOfThree(row_of(part.y_begin) + x);
    for (int y_begin = part.y_begin; y_begin < part.y_end; y_begin += 64 / kLanes) {
      const int y_end = std::min(y_begin + 64 / kLanes, part.y_end);
      uint64_t bits = 0;
      for (int y = y_begin; y < y_end; ++y) {
        const uint32_t* const row = map + y * pitch + x;
        const auto below = MaxOfThree(y + 1 < region.y_end ? row + pitch : row);
        const auto values = hn::LoadU(d, row);
        const auto highest = hn::Max(hn::Max(above, middle), below);
        const uint32_t in_row =
            MaskBits(d, hn::And(hn::Gt(values, limit), hn::Eq(values, highest))) & inside;
        bits |= uint64_t{in_row} << ((y - y_begin) * kLanes);
        above = middle;
        middle = below;
      }
      for (; bits != 0; bits &= bits - 1) {
        const int i = FirstBit(bits);
        write(x + i % kLanes, y_begin + i / kLanes);
      }
    }
  }
  // The first and the last column of the region have neighbours on one side only.
  const auto test_column = [&](int x) {
    if (x < part.x_begin || x >= part.x_end) return;
    for (int y = part.y_begin; y < part.y_end; ++y) {
      const uint32_t* const row = row_of(y);
      if (row[x] > threshold &&
          IsPeakAmong(row_of(y - 1), row, row_of(y + 1), x, std::max(x - 1, region.x_begin),
                      std::min(x + 2, region.x_end))) {
        write(x, y);
      }
    }
  };
  test_column(region.x_begin);
  if (region.width() > 1) test_column(region.x_end - 1);
  return number;
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

PeaksKernel PeaksKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(Peaks, ReferencePeaks, target.simd_target)}

PeaksOfPartKernel PeaksOfPartKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(PeaksOfPart, ReferencePeaksOfPart, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
