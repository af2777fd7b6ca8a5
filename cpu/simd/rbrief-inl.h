// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tests of rotated BRIEF on the points of a pattern: the twin of features/algo/rbrief.h and
// features/algo/rbrief32.h. Points are turned a vector at a time, their grey levels gathered, and a
// comparison of vectors is the bits in their order. Included once per target.

#ifndef ORBSERVE_CPU_SIMD_RBRIEF_COLUMNS_
#define ORBSERVE_CPU_SIMD_RBRIEF_COLUMNS_

#include "features/algo/rbrief_pattern.h"

namespace orbserve::cpu {

// A pattern as columns.
template <int kPairCount>
struct RBriefColumns {
  static constexpr int kPairs = kPairCount;
  alignas(64) float x1[kPairs];
  alignas(64) float y1[kPairs];
  alignas(64) float x2[kPairs];
  alignas(64) float y2[kPairs];
};

template <int kPairs>
constexpr RBriefColumns<kPairs> MakeRBriefColumns(const algo::RBriefPair (&pattern)[kPairs]) {
  RBriefColumns<kPairs> columns = {};
  for (int i = 0; i < kPairs; ++i) {
    columns.x1[i] = pattern[i].x1;
    columns.y1[i] = pattern[i].y1;
    columns.x2[i] = pattern[i].x2;
    columns.y2[i] = pattern[i].y2;
  }
  return columns;
}

}  // namespace orbserve::cpu
#endif  // ORBSERVE_CPU_SIMD_RBRIEF_COLUMNS_

#if defined(ORBSERVE_CPU_SIMD_RBRIEF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_RBRIEF_INL_H_
#undef ORBSERVE_CPU_SIMD_RBRIEF_INL_H_
#else
#define ORBSERVE_CPU_SIMD_RBRIEF_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "cpu/frame/level_point.h"
#include "cpu/simd/ops-inl.h"
#include "features/algo/sincos.h"
#include "features/image_view.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS

// A turn maps points of a pattern to byte offsets from the keypoint.
struct Turn {
  VecF32 cosine;
  VecF32 sine;
  VecI32 pitch;
};

HWY_INLINE HWY_MAYBE_UNUSED VecI32 TurnedOffsets(const float* x, const float* y, const Turn& turn) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const auto fx = hn::Load(d, x);
  const auto fy = hn::Load(d, y);
  const auto column = hn::Sub(hn::Mul(fx, turn.cosine), hn::Mul(fy, turn.sine));
  const auto row = hn::Add(hn::Mul(fx, turn.sine), hn::Mul(fy, turn.cosine));
  return hn::Add(RoundToInt32(column), hn::Mul(RoundToInt32(row), turn.pitch));
}

// Writes Columns::kPairs / 8 bytes. Reads three bytes beyond the last sample.
template <typename Columns>
HWY_INLINE HWY_MAYBE_UNUSED void DescribePoint(const Columns& columns, const uint8_t* centre,
                                               const Turn& turn, uint8_t* descriptor) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86
  const hn::ScalableTag<int32_t> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(decltype(d)()));
  static_assert(Columns::kPairs % kLanes == 0);
  const int32_t* base = reinterpret_cast<const int32_t*>(centre);
  for (int i = 0; i < Columns::kPairs; i += kLanes) {
    const auto at1 = TurnedOffsets(columns.x1 + i, columns.y1 + i, turn);
    const auto at2 = TurnedOffsets(columns.x2 + i, columns.y2 + i, turn);
    // Four bytes are read, the lowest counts; signs are the same for all of a byte's values.
    const auto grey1 = hn::And(hn::GatherOffset(d, base, at1), hn::Set(d, 0xFF));
    const auto grey2 = hn::And(hn::GatherOffset(d, base, at2), hn::Set(d, 0xFF));
    hn::StoreMaskBits(d, hn::Lt(grey1, grey2), descriptor + i / 8);
  }
#else
  const hn::ScalableTag<int32_t> d;
  const hn::ScalableTag<uint8_t> d8;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(decltype(d)()));
  constexpr int kByteLanes = static_cast<int>(hn::MaxLanes(decltype(d8)()));
  static_assert(Columns::kPairs % kByteLanes == 0);
  alignas(64) int32_t at1[Columns::kPairs];
  alignas(64) int32_t at2[Columns::kPairs];
  alignas(64) uint8_t grey1[Columns::kPairs];
  alignas(64) uint8_t grey2[Columns::kPairs];
  for (int i = 0; i < Columns::kPairs; i += kLanes) {
    hn::Store(TurnedOffsets(columns.x1 + i, columns.y1 + i, turn), d, at1 + i);
    hn::Store(TurnedOffsets(columns.x2 + i, columns.y2 + i, turn), d, at2 + i);
  }
  for (int i = 0; i < Columns::kPairs; ++i) {
    grey1[i] = centre[at1[i]];
    grey2[i] = centre[at2[i]];
  }
  for (int i = 0; i < Columns::kPairs; i += kByteLanes) {
    hn::StoreMaskBits(d8, hn::Lt(hn::Load(d8, grey1 + i), hn::Load(d8, grey2 + i)),
                      descriptor + i / 8);
  }
#endif
}

// Describes all points. Turned points of the pattern stay within `reach_px`.
template <typename Columns>
HWY_INLINE HWY_MAYBE_UNUSED void DescribePoints(const Columns& columns, int reach_px,
                                                const ImageView& image, const LevelPoint* points,
                                                int count, uint8_t* descriptors) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> df;
  const hn::ScalableTag<int32_t> di;
  const auto pitch = hn::Set(di, static_cast<int32_t>(image.pitch_bytes));
  for (int i = 0; i < count; ++i) {
    if (i + 1 < count) PrefetchSquare(image, points[i + 1].x, points[i + 1].y, reach_px);
    const LevelPoint& point = points[i];
    const algo::SinCos angle = algo::SinCosOf(algo::RadiansOfDegrees(point.angle_deg));
    const Turn turn = {hn::Set(df, angle.cosine), hn::Set(df, angle.sine), pitch};
    DescribePoint(columns, image.Row(point.y) + point.x, turn,
                  descriptors + static_cast<ptrdiff_t>(i) * (Columns::kPairs / 8));
  }
}

#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
