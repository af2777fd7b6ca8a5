// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Suppression by responses in a window: the twin of features/algo/window_maximum.h.
//
// Corner by corner: the maximum of the window's rows, lane by lane, against the response. Up to
// eight columns fit into a vector; wider windows take loads that overlap. Most corners fall, and
// which ones is hard to foresee: the index of a corner is written in any case, and only the count
// depends on the comparison. Keys are made of those that stay.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/window_maximum_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels/window_maximum.h"
#include "features/algo/order.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Loads of the columns -kRadius..kRadius of a window.
template <int kRadius>
struct WindowLoads {
  static constexpr int kSide = 2 * kRadius + 1;
  static constexpr int kMax = static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  static constexpr int kLanes = kSide <= 4 || kMax == 4 ? 4 : 8;
  static constexpr int kLoads = (kSide + kLanes - 1) / kLanes;
  // First column of a load. The last one ends at kRadius, unless one load is more than enough.
  static constexpr int First(int load) {
    return load > 0 && load == kLoads - 1 ? kRadius + 1 - kLanes : -kRadius + load * kLanes;
  }
};

// Writes the indices of the maxima among corners [begin, end); returns their number.
template <int kRadius>
int FindMaxima(const ResponseRows& map, const Corner* corners, const float* responses, int begin,
               int end, int32_t* maxima) {
  using C = WindowLoads<kRadius>;
  const hn::FixedTag<float, C::kLanes> d;
  using V = hn::Vec<decltype(d)>;
  int found = 0;
  for (int i = begin; i < end; ++i) {
    const float* const centre = map.At(corners[i].x, corners[i].y);
    V greatest = hn::Zero(d);
    for (int load = 0; load < C::kLoads; ++load) {
      const int first = C::First(load);
      const auto lane = hn::Iota(d, static_cast<float>(first));
      V values = hn::LoadU(d, centre + first);
      values = hn::IfThenZeroElse(hn::Eq(lane, hn::Zero(d)), values);  // the corner itself
      for (int v = 1; v <= kRadius; ++v) {
        values = hn::Max(values, hn::LoadU(d, centre - v * map.pitch + first));
        values = hn::Max(values, hn::LoadU(d, centre + v * map.pitch + first));
      }
      if (first + C::kLanes - 1 > kRadius) {
        values = hn::IfThenElseZero(hn::Le(lane, hn::Set(d, static_cast<float>(kRadius))), values);
      }
      greatest = hn::Max(greatest, values);
    }
    // A response of 0 or less is not greater than the zero that `greatest` begins with.
    maxima[found] = i;
    found += hn::AllTrue(d, hn::Lt(greatest, hn::Set(d, responses[i]))) ? 1 : 0;
  }
  return found;
}

template <int kRadius>
int KeepMaxima(const ResponseRows& map, const Columns& columns, const Corner* corners,
               const float* responses, int count, uint64_t* keys) {
  constexpr int kBlock = 256;
  int32_t maxima[kBlock];
  int kept = 0;
  for (int begin = 0; begin < count; begin += kBlock) {
    const int found = FindMaxima<kRadius>(map, corners, responses, begin,
                                          std::min(begin + kBlock, count), maxima);
    for (int k = 0; k < found; ++k) {
      const Corner& corner = corners[maxima[k]];
      if (corner.x < columns.begin || corner.x >= columns.end) continue;
      keys[kept++] = algo::RankKey(responses[maxima[k]], corner.x, corner.y);
    }
  }
  return kept;
}

int WindowMaximum(const ResponseRows& map, const Columns& columns, const Corner* corners,
                  const float* responses, int count, int radius_px, uint64_t* keys) {
  switch (radius_px) {
    case 1:
      return KeepMaxima<1>(map, columns, corners, responses, count, keys);
    case 2:
      return KeepMaxima<2>(map, columns, corners, responses, count, keys);
    case 3:
      return KeepMaxima<3>(map, columns, corners, responses, count, keys);
    default:
      return KeepMaxima<4>(map, columns, corners, responses, count, keys);
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

WindowMaximumKernel WindowMaximumKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(WindowMaximum, ReferenceWindowMaximum, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
