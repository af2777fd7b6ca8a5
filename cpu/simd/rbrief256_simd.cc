// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// rBRIEF-256: the twin of features/algo/rbrief.h. Points of the pattern are turned a vector at a
// time, their grey levels gathered, and a comparison of vectors is the bits in their order.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/rbrief256_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>

#include "cpu/simd/ops-inl.h"
#include "cpu/steps/rbrief256.h"
#include "features/algo/rbrief.h"

#ifndef ORBSERVE_CPU_SIMD_RBRIEF_COLUMNS_
#define ORBSERVE_CPU_SIMD_RBRIEF_COLUMNS_
namespace orbserve::cpu {

// The pattern as columns.
struct RBriefColumns {
  alignas(64) float x1[algo::kRBriefPairs];
  alignas(64) float y1[algo::kRBriefPairs];
  alignas(64) float x2[algo::kRBriefPairs];
  alignas(64) float y2[algo::kRBriefPairs];
};

constexpr RBriefColumns MakeRBriefColumns() {
  RBriefColumns columns = {};
  for (int i = 0; i < algo::kRBriefPairs; ++i) {
    columns.x1[i] = algo::kRBriefPattern[i].x1;
    columns.y1[i] = algo::kRBriefPattern[i].y1;
    columns.x2[i] = algo::kRBriefPattern[i].x2;
    columns.y2[i] = algo::kRBriefPattern[i].y2;
  }
  return columns;
}

inline constexpr RBriefColumns kRBriefColumns = MakeRBriefColumns();

}  // namespace orbserve::cpu
#endif  // ORBSERVE_CPU_SIMD_RBRIEF_COLUMNS_

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using D8 = hn::ScalableTag<uint8_t>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF()));
constexpr int kReachPx = algo::kRBriefRadiusPx;

// What turns points of the pattern into byte offsets from the keypoint.
struct Turn {
  VecF32 cosine;
  VecF32 sine;
  VecI32 pitch;
};

HWY_INLINE VecI32 TurnedOffsets(const float* x, const float* y, const Turn& turn) {
  const DF d;
  const auto fx = hn::Load(d, x);
  const auto fy = hn::Load(d, y);
  const auto column = hn::Sub(hn::Mul(fx, turn.cosine), hn::Mul(fy, turn.sine));
  const auto row = hn::Add(hn::Mul(fx, turn.sine), hn::Mul(fy, turn.cosine));
  return hn::Add(RoundToInt32(column), hn::Mul(RoundToInt32(row), turn.pitch));
}

#if HWY_ARCH_X86

HWY_INLINE void DescribePoint(const uint8_t* centre, const Turn& turn, uint8_t* descriptor) {
  const DI d;
  const int32_t* base = reinterpret_cast<const int32_t*>(centre);
  for (int i = 0; i < algo::kRBriefPairs; i += kLanes) {
    const auto at1 = TurnedOffsets(kRBriefColumns.x1 + i, kRBriefColumns.y1 + i, turn);
    const auto at2 = TurnedOffsets(kRBriefColumns.x2 + i, kRBriefColumns.y2 + i, turn);
    // Four bytes are read, the lowest counts; signs are the same for all of a byte's values.
    const auto grey1 = hn::And(hn::GatherOffset(d, base, at1), hn::Set(d, 0xFF));
    const auto grey2 = hn::And(hn::GatherOffset(d, base, at2), hn::Set(d, 0xFF));
    hn::StoreMaskBits(d, hn::Lt(grey1, grey2), descriptor + i / 8);
  }
}

#else

HWY_INLINE void DescribePoint(const uint8_t* centre, const Turn& turn, uint8_t* descriptor) {
  const DI d;
  const D8 d8;
  alignas(64) int32_t at1[algo::kRBriefPairs];
  alignas(64) int32_t at2[algo::kRBriefPairs];
  alignas(64) uint8_t grey1[algo::kRBriefPairs];
  alignas(64) uint8_t grey2[algo::kRBriefPairs];
  for (int i = 0; i < algo::kRBriefPairs; i += kLanes) {
    hn::Store(TurnedOffsets(kRBriefColumns.x1 + i, kRBriefColumns.y1 + i, turn), d, at1 + i);
    hn::Store(TurnedOffsets(kRBriefColumns.x2 + i, kRBriefColumns.y2 + i, turn), d, at2 + i);
  }
  for (int i = 0; i < algo::kRBriefPairs; ++i) {
    grey1[i] = centre[at1[i]];
    grey2[i] = centre[at2[i]];
  }
  for (int i = 0; i < algo::kRBriefPairs; i += static_cast<int>(hn::MaxLanes(d8))) {
    hn::StoreMaskBits(d8, hn::Lt(hn::Load(d8, grey1 + i), hn::Load(d8, grey2 + i)),
                      descriptor + i / 8);
  }
}

#endif  // HWY_ARCH_X86

void DescribeRBrief256(const ImageView& smoothed, const LevelPoint* points, int count,
                       uint8_t* descriptors) {
  const DF df;
  const DI di;
  const auto pitch = hn::Set(di, static_cast<int32_t>(smoothed.pitch_bytes));
  for (int i = 0; i < count; ++i) {
    if (i + 1 < count) PrefetchSquare(smoothed, points[i + 1].x, points[i + 1].y, kReachPx);
    const LevelPoint& point = points[i];
    const algo::SinCos angle = algo::SinCosOf(algo::RadiansOfDegrees(point.angle_deg));
    const Turn turn = {hn::Set(df, angle.cosine), hn::Set(df, angle.sine), pitch};
    DescribePoint(smoothed.Row(point.y) + point.x, turn,
                  descriptors + static_cast<ptrdiff_t>(i) * algo::kRBriefBytes);
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

RBrief256Kernel RBrief256KernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(DescribeRBrief256, ReferenceRBrief256, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
