// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Suppression by responses in a window: the twin of features/algo/window_maximum.h.
//
// Corner by corner: the maximum of the window's rows, lane by lane, against the response. Up to
// eight columns fit into a vector; wider windows take loads that overlap. Most corners fall, and
// which ones is hard to foresee: the key is written in any case, and only the count depends on it.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/window_maximum_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/window_maximum.h"
#include "features/algo/order.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// How the columns -kRadius..kRadius of a window are loaded.
template <int kRadius>
struct WindowLoads {
  static constexpr int kSide = 2 * kRadius + 1;
  static constexpr int kMost = static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  static constexpr int kLanes = kSide <= 4 || kMost == 4 ? 4 : 8;
  static constexpr int kLoads = (kSide + kLanes - 1) / kLanes;
  // First column of a load. The last one ends at kRadius, unless one load is more than enough.
  static constexpr int First(int load) {
    return load > 0 && load == kLoads - 1 ? kRadius + 1 - kLanes : -kRadius + load * kLanes;
  }
};

template <int kRadius>
int KeepMaxima(const ResponseRows& map, const Columns& columns, const Corner* corners,
               const float* responses, int count, uint64_t* keys) {
  using C = WindowLoads<kRadius>;
  const hn::FixedTag<float, C::kLanes> d;
  using V = hn::Vec<decltype(d)>;
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const int x = corners[i].x;
    const int y = corners[i].y;
    const float* const centre = map.At(x, y);
    V greatest = hn::Zero(d);
    // Rows outside the map have no corners.
    const int above = std::min(kRadius, y - map.y0);
    const int below = std::min(kRadius, map.y0 + map.height - 1 - y);
    for (int load = 0; load < C::kLoads; ++load) {
      const int first = C::First(load);
      const auto lane = hn::Iota(d, static_cast<float>(first));
      V values = hn::LoadU(d, centre + first);
      values = hn::IfThenZeroElse(hn::Eq(lane, hn::Zero(d)), values);  // the corner itself
      for (int v = 1; v <= above; ++v) {
        values = hn::Max(values, hn::LoadU(d, centre - v * map.pitch + first));
      }
      for (int v = 1; v <= below; ++v) {
        values = hn::Max(values, hn::LoadU(d, centre + v * map.pitch + first));
      }
      if (first + C::kLanes - 1 > kRadius) {
        values = hn::IfThenElseZero(hn::Le(lane, hn::Set(d, static_cast<float>(kRadius))), values);
      }
      greatest = hn::Max(greatest, values);
    }
    // A response of 0 or less is not greater than the zero that `greatest` begins with.
    const bool is_greatest = hn::AllTrue(d, hn::Lt(greatest, hn::Set(d, responses[i])));
    const bool is_inside = x >= columns.begin && x < columns.end;
    keys[kept] = algo::RankKey(responses[i], x, y);
    kept += static_cast<int>(is_greatest) & static_cast<int>(is_inside);
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
