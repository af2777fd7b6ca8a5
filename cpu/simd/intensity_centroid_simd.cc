// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Angles by the intensity centroid: the twin of features/algo/orientation.h and of the patch of
// features/algo/rbrief32.h.
//
// Rows v and -v of the disc go together: u weighs their sum, v their difference. Pixels outside the
// disc have weight 0, so every row is 32 bytes wide.
//
// The rows of the patch are summed first, as they are for x and weighted for y; columns beyond it
// have weight 0 at the end. Both kinds of sums fit 16 bits.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/intensity_centroid_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/describe/intensity_centroid.h"
#include "features/algo/orientation.h"
#include "features/algo/rbrief32.h"
#include "features/host_device.h"

#ifndef ORBSERVE_CPU_SIMD_ORIENTATION_WEIGHTS_
#define ORBSERVE_CPU_SIMD_ORIENTATION_WEIGHTS_
namespace orbserve::cpu {

constexpr int kDiscRows = algo::kCentroidRadiusPx + 1;
constexpr int kDiscColumns = 32;  // u = -15..16

struct DiscWeights {
  alignas(64) int16_t u[kDiscRows][kDiscColumns];
  alignas(64) int16_t v[kDiscRows][kDiscColumns];
};

constexpr DiscWeights MakeDiscWeights() {
  DiscWeights weights = {};
  for (int v = 0; v < kDiscRows; ++v) {
    for (int i = 0; i < kDiscColumns; ++i) {
      const int u = i - algo::kCentroidRadiusPx;
      if ((u < 0 ? -u : u) > algo::CentroidHalfWidth(v)) continue;
      weights.u[v][i] = static_cast<int16_t>(u);
      weights.v[v][i] = static_cast<int16_t>(v);
    }
  }
  return weights;
}

inline constexpr DiscWeights kDiscWeights = MakeDiscWeights();

constexpr int kPatchColumns = 16;  // u = -4..11

struct PatchWeights {
  alignas(64) int16_t u[kPatchColumns];
  alignas(64) int16_t one[kPatchColumns];
};

constexpr PatchWeights MakePatchWeights() {
  PatchWeights weights = {};
  for (int i = 0; i < algo::kPatchSidePx; ++i) {
    weights.u[i] = static_cast<int16_t>(2 * (i - algo::kPatchLeftPx) - 1);
    weights.one[i] = 1;
  }
  return weights;
}

inline constexpr PatchWeights kPatchWeights = MakePatchWeights();

}  // namespace orbserve::cpu
#endif  // ORBSERVE_CPU_SIMD_ORIENTATION_WEIGHTS_

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::RepartitionToWide<D16>;
using DF = hn::ScalableTag<float>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D16()));
constexpr int kFloatLanes = static_cast<int>(hn::MaxLanes(DF()));

constexpr int kChunk = 64;  // points whose moments are collected before their angles are computed

HWY_INLINE hn::Vec<D16> LoadPixels(const uint8_t* at) {
  return hn::PromoteTo(D16(), hn::LoadU(hn::Rebind<uint8_t, D16>(), at));
}

HWY_INLINE algo::Moments DiscMoments(const uint8_t* centre, ptrdiff_t pitch) {
  const D16 d16;
  const D32 d32;
  auto x = hn::Zero(d32), x2 = hn::Zero(d32);
  auto y = hn::Zero(d32), y2 = hn::Zero(d32);
  const uint8_t* left = centre - algo::kCentroidRadiusPx;
  for (int i = 0; i < kDiscColumns; i += kLanes) {
    const auto middle = LoadPixels(left + i);
    x = hn::ReorderWidenMulAccumulate(d32, middle, hn::Load(d16, kDiscWeights.u[0] + i), x, x2);
    for (int v = 1; v < kDiscRows; ++v) {
      const auto lower = LoadPixels(left + v * pitch + i);
      const auto upper = LoadPixels(left - v * pitch + i);
      x = hn::ReorderWidenMulAccumulate(d32, hn::Add(lower, upper),
                                        hn::Load(d16, kDiscWeights.u[v] + i), x, x2);
      y = hn::ReorderWidenMulAccumulate(d32, hn::Sub(lower, upper),
                                        hn::Load(d16, kDiscWeights.v[v] + i), y, y2);
    }
  }
  return {hn::GetLane(hn::SumOfLanes(d32, hn::Add(x, x2))),
          hn::GetLane(hn::SumOfLanes(d32, hn::Add(y, y2)))};
}

HWY_INLINE algo::Moments PatchMoments(const uint8_t* centre, ptrdiff_t pitch) {
  const hn::CappedTag<int16_t, kPatchColumns> d16;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const hn::Rebind<uint8_t, decltype(d16)> d8;
  auto x = hn::Zero(d32), x2 = hn::Zero(d32);
  auto y = hn::Zero(d32), y2 = hn::Zero(d32);
  const uint8_t* const left = centre - algo::kPatchLeftPx;
  for (int i = 0; i < kPatchColumns; i += static_cast<int>(hn::MaxLanes(d16))) {
    auto sum = hn::Zero(d16);
    auto weighted = hn::Zero(d16);
    for (int v = -algo::kPatchTopPx; v <= algo::kPatchBottomPx; ++v) {
      const auto pixels = hn::PromoteTo(d16, hn::LoadU(d8, left + v * pitch + i));
      sum = hn::Add(sum, pixels);
      weighted = hn::Add(weighted, hn::Mul(pixels, hn::Set(d16, static_cast<int16_t>(2 * v + 1))));
    }
    x = hn::ReorderWidenMulAccumulate(d32, sum, hn::Load(d16, kPatchWeights.u + i), x, x2);
    y = hn::ReorderWidenMulAccumulate(d32, weighted, hn::Load(d16, kPatchWeights.one + i), y, y2);
  }
  return {hn::GetLane(hn::SumOfLanes(d32, hn::Add(x, x2))),
          hn::GetLane(hn::SumOfLanes(d32, hn::Add(y, y2)))};
}

// The operations of algo::FastAtan2Degrees in its order.
HWY_INLINE hn::Vec<DF> Atan2Degrees(hn::Vec<DF> y, hn::Vec<DF> x) {
  using F = algo::FastAtan2;
  const DF d;
  const auto ax = hn::Abs(x);
  const auto ay = hn::Abs(y);
  const auto c = hn::Div(hn::Min(ax, ay), hn::Add(hn::Max(ax, ay), hn::Set(d, F::kEpsilon)));
  const auto c2 = hn::Mul(c, c);
  auto angle = hn::Add(hn::Mul(hn::Set(d, F::kP7), c2), hn::Set(d, F::kP5));
  angle = hn::Add(hn::Mul(angle, c2), hn::Set(d, F::kP3));
  angle = hn::Add(hn::Mul(angle, c2), hn::Set(d, F::kP1));
  angle = hn::Mul(angle, c);
  angle = hn::IfThenElse(hn::Lt(ax, ay), hn::Sub(hn::Set(d, 90.0f), angle), angle);
  angle = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 180.0f), angle), angle);
  return hn::IfThenElse(hn::Lt(y, hn::Zero(d)), hn::Sub(hn::Set(d, 360.0f), angle), angle);
}

// Angles of all points by the moments that `moments_of` returns for a place in the image, whose
// pixels lie at most `reach_px` from it.
template <typename MomentsOf>
HWY_INLINE void CentroidAngles(const ImageView& image, int reach_px, const MomentsOf& moments_of,
                               LevelPoint* points, int count) {
  const DF df;
  const hn::RebindToSigned<DF> di;
  for (int begin = 0; begin < count; begin += kChunk) {
    const int size = std::min(kChunk, count - begin);
    alignas(64) int32_t x[kChunk];
    alignas(64) int32_t y[kChunk];
    alignas(64) float angle[kChunk];
    for (int i = 0; i < size; ++i) {
      if (begin + i + 1 < count) {
        const LevelPoint& next = points[begin + i + 1];
        PrefetchSquare(image, next.x, next.y, reach_px);
      }
      const LevelPoint& point = points[begin + i];
      const algo::Moments moments = moments_of(image.Row(point.y) + point.x, image.pitch_bytes);
      x[i] = moments.x;
      y[i] = moments.y;
    }
    for (int i = size; i < static_cast<int>(RoundUp(size, kFloatLanes)); ++i) x[i] = y[i] = 0;
    for (int i = 0; i < size; i += kFloatLanes) {
      const auto fx = hn::ConvertTo(df, hn::Load(di, x + i));
      const auto fy = hn::ConvertTo(df, hn::Load(di, y + i));
      hn::Store(Atan2Degrees(fy, fx), df, angle + i);
    }
    for (int i = 0; i < size; ++i) points[begin + i].angle_deg = angle[i];
  }
}

void DiscAngles(const ImageView& image, LevelPoint* points, int count) {
  CentroidAngles(
      image, algo::kCentroidRadiusPx,
      [](const uint8_t* centre, ptrdiff_t pitch) HWY_ATTR { return DiscMoments(centre, pitch); },
      points, count);
}

void PatchAngles(const ImageView& image, LevelPoint* points, int count) {
  CentroidAngles(
      image, algo::kPatchReachPx,
      [](const uint8_t* centre, ptrdiff_t pitch) HWY_ATTR { return PatchMoments(centre, pitch); },
      points, count);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

IntensityCentroidKernel PatchCentroidKernelFor(const KernelTarget& target){
    ORBSERVE_SIMD_SELECT(PatchAngles, ReferencePatchCentroid, target.simd_target)}

IntensityCentroidKernel IntensityCentroidKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(DiscAngles, ReferenceIntensityCentroid, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
