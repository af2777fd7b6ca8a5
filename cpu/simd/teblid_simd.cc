// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// TEBLID and BEBLID: the twin of features/algo/teblid.h for keypoints well inside the image, a
// vector of tests at a time. The corners of the squares are gathered. Tests of a byte lie in
// columns in reverse, so that the bits of a mask are the bytes of the descriptor. Keypoints near
// the edges go through the plain loop.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/teblid_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/describe/teblid.h"
#include "features/algo/teblid.h"

#ifndef ORBSERVE_CPU_SIMD_TEBLID_COLUMNS_
#define ORBSERVE_CPU_SIMD_TEBLID_COLUMNS_

namespace orbserve::cpu {

inline constexpr int kMostBoxTests = 512;

// The tests of a set as columns.
struct BoxColumns {
  alignas(64) float x1[kMostBoxTests];
  alignas(64) float y1[kMostBoxTests];
  alignas(64) float x2[kMostBoxTests];
  alignas(64) float y2[kMostBoxTests];
  alignas(64) float radius[kMostBoxTests];
  alignas(64) float threshold[kMostBoxTests];
};

inline BoxColumns MakeBoxColumns(const algo::BoxTestSet& set) {
  BoxColumns columns = {};
  for (int i = 0; i < set.count; ++i) {
    const int place = i ^ 7;
    const algo::BoxTest& test = set.tests[i];
    columns.x1[place] = test.x1;
    columns.y1[place] = test.y1;
    columns.x2[place] = test.x2;
    columns.y2[place] = test.y2;
    columns.radius[place] = test.radius;
    columns.threshold[place] = algo::ThresholdOf(test, set.thresholds);
  }
  return columns;
}

// Made once for each set.
inline const BoxColumns& BoxColumnsOf(const algo::BoxTestSet& set) {
  static const BoxColumns of_teblid_256 = MakeBoxColumns(algo::kTeblid256);
  static const BoxColumns of_teblid_512 = MakeBoxColumns(algo::kTeblid512);
  static const BoxColumns of_beblid_256 = MakeBoxColumns(algo::kBeblid256);
  static const BoxColumns of_beblid_512 = MakeBoxColumns(algo::kBeblid512);
  if (set.tests == algo::kTeblid256Tests) return of_teblid_256;
  if (set.tests == algo::kTeblid512Tests) return of_teblid_512;
  if (set.tests == algo::kBeblid256Tests) return of_beblid_256;
  return of_beblid_512;
}

}  // namespace orbserve::cpu
#endif  // ORBSERVE_CPU_SIMD_TEBLID_COLUMNS_

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using BoxF32 = hn::ScalableTag<float>;
using BoxI32 = hn::ScalableTag<int32_t>;
constexpr int kBoxLanes = static_cast<int>(hn::MaxLanes(BoxF32()));

// A patch, its places counted from an entry of the integral image near it.
struct BoxPatch {
  hn::Vec<BoxF32> a;
  hn::Vec<BoxF32> b;
  hn::Vec<BoxF32> x;
  hn::Vec<BoxF32> y;
  hn::Vec<BoxF32> scale;
  hn::Vec<BoxI32> left;  // column and row of that entry
  hn::Vec<BoxI32> top;
  hn::Vec<BoxI32> pitch;
  const int32_t* entry;
};

// Rounds as algo::RoundPlace() does.
HWY_INLINE hn::Vec<BoxI32> RoundPlaces(hn::Vec<BoxF32> value) {
  const BoxF32 d;
  return hn::ConvertTo(BoxI32(), hn::Add(value, hn::Set(d, 0.5f)));
}

HWY_INLINE hn::Vec<BoxI32> SumBoxes(const BoxPatch& patch, const float* u, const float* v,
                                    hn::Vec<BoxI32> half_side, hn::Vec<BoxI32> side) {
  const BoxF32 d;
  const BoxI32 d32;
  const auto fu = hn::Load(d, u);
  const auto fv = hn::Load(d, v);
  const auto x = RoundPlaces(hn::Add(hn::Sub(hn::Mul(patch.a, fu), hn::Mul(patch.b, fv)), patch.x));
  const auto y = RoundPlaces(hn::Add(hn::Add(hn::Mul(patch.b, fu), hn::Mul(patch.a, fv)), patch.y));
  const auto column = hn::Sub(hn::Sub(x, half_side), patch.left);
  const auto row = hn::Sub(hn::Sub(y, half_side), patch.top);
  const auto top_left = hn::Add(hn::Mul(row, patch.pitch), column);
  const auto bottom_left = hn::Add(top_left, hn::Mul(side, patch.pitch));
  // Differences of sums modulo 2^32 have the same bits with and without a sign.
  const auto top = hn::Sub(hn::GatherIndex(d32, patch.entry, hn::Add(top_left, side)),
                           hn::GatherIndex(d32, patch.entry, top_left));
  const auto bottom = hn::Sub(hn::GatherIndex(d32, patch.entry, hn::Add(bottom_left, side)),
                              hn::GatherIndex(d32, patch.entry, bottom_left));
  return hn::Sub(bottom, top);
}

template <algo::BoxThresholds kThresholds>
HWY_INLINE void DescribeInside(const BoxPatch& patch, const BoxColumns& columns, int count,
                               uint8_t* descriptor) {
  const BoxF32 d;
  for (int i = 0; i < count; i += kBoxLanes) {
    const auto half_side = RoundPlaces(hn::Mul(patch.scale, hn::Load(d, columns.radius + i)));
    const auto side = hn::Add(hn::Add(half_side, half_side), hn::Set(BoxI32(), 1));
    const auto difference =
        hn::Sub(SumBoxes(patch, columns.x1 + i, columns.y1 + i, half_side, side),
                SumBoxes(patch, columns.x2 + i, columns.y2 + i, half_side, side));
    const auto area = hn::Mul(side, side);
    const auto threshold = hn::Load(d, columns.threshold + i);
    uint32_t bits;
    if constexpr (kThresholds == algo::BoxThresholds::kBeblid) {
      const auto most = hn::Mul(hn::ConvertTo(BoxI32(), threshold), area);
      bits = ~MaskBits(BoxI32(), hn::Gt(difference, most));
    } else {
      const auto most = hn::Mul(threshold, hn::ConvertTo(d, area));
      bits = MaskBits(d, hn::Le(hn::ConvertTo(d, difference), most));
    }
    std::memcpy(descriptor + i / 8, &bits, kBoxLanes / 8);
  }
}

void DescribeBoxTests(const BoxImage& image, const algo::BoxTestSet& set, const PatchPoint* points,
                      int count, uint8_t* descriptors) {
  const BoxF32 d;
  const BoxI32 d32;
  const BoxColumns& columns = BoxColumnsOf(set);
  for (int i = 0; i < count; ++i) {
    const PatchPoint& point = points[i];
    uint8_t* const descriptor = descriptors + static_cast<ptrdiff_t>(i) * set.bytes();
    const algo::PatchPlace place = algo::PlacePatch(
        point.x, point.y, point.size_px, point.angle_deg, image.width_px, image.height_px);
    if (!place.inside) {
      ReferenceBoxTests(image, set, &point, 1, descriptor);
      continue;
    }
    const int left = static_cast<int>(point.x);
    const int top = static_cast<int>(point.y);
    const BoxPatch patch = {hn::Set(d, place.a),
                            hn::Set(d, place.b),
                            hn::Set(d, place.x),
                            hn::Set(d, place.y),
                            hn::Set(d, place.scale),
                            hn::Set(d32, left),
                            hn::Set(d32, top),
                            hn::Set(d32, static_cast<int32_t>(image.integral.pitch)),
                            reinterpret_cast<const int32_t*>(image.integral.Row(top) + left)};
    if (set.thresholds == algo::BoxThresholds::kBeblid) {
      DescribeInside<algo::BoxThresholds::kBeblid>(patch, columns, set.count, descriptor);
    } else {
      DescribeInside<algo::BoxThresholds::kTeblid>(patch, columns, set.count, descriptor);
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

BoxTestsKernel BoxTestsKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(DescribeBoxTests, ReferenceBoxTests, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
