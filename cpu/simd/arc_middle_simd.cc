// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Directions of FAST corners: the twin of features/algo/arc_middle.h. The ring of a corner is one
// vector of 16 bytes.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/arc_middle_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>

#include "cpu/steps/describe/arc_middle.h"
#include "features/algo/arc_middle.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::Full128<uint8_t>;
using V16 = hn::Vec<D16>;

// Which bytes of two rows, each from three columns left of the centre on, are which ring pixels.
constexpr uint8_t kNo = 0x80;
alignas(16) constexpr uint8_t kOfRows[4][16] = {
    {kNo, kNo, kNo, kNo, kNo, kNo, 13, 4, 3, 2, 9, kNo, kNo, kNo, kNo, kNo},     // -3 and -2
    {kNo, kNo, kNo, kNo, 14, 6, kNo, kNo, kNo, kNo, kNo, 0, 8, kNo, kNo, kNo},   // -1 and 0
    {kNo, kNo, 13, 6, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, 0, 9, kNo},   // 1 and 2
    {3, 4, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, 2},  // 3
};

HWY_INLINE V16 LoadRing(const uint8_t* centre, ptrdiff_t pitch) {
  const D16 d;
  const hn::Full64<uint8_t> d_row;
  const uint8_t* const first = centre - 3 * pitch - 3;
  V16 ring = hn::TableLookupBytesOr0(hn::ZeroExtendVector(d, hn::LoadU(d_row, first + 6 * pitch)),
                                     hn::Load(d, kOfRows[3]));
  for (int i = 0; i < 3; ++i) {
    const uint8_t* const rows = first + 2 * i * pitch;
    const V16 both = hn::Combine(d, hn::LoadU(d_row, rows + pitch), hn::LoadU(d_row, rows));
    ring = hn::Or(ring, hn::TableLookupBytesOr0(both, hn::Load(d, kOfRows[i])));
  }
  return ring;
}

// Bit i: a[i] > b[i].
HWY_INLINE uint32_t GreaterBits(V16 a, V16 b) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(D16(), hn::Gt(a, b), bytes);
  return bytes[0] | static_cast<uint32_t>(bytes[1]) << 8;
}

void ArcMiddles(const ImageView& image, const uint8_t* directions, LevelPoint* points, int count) {
  const D16 d;
  for (int i = 0; i < count; ++i) {
    LevelPoint& point = points[i];
    const uint8_t* const centre = image.Row(point.y) + point.x;
    const V16 ring = LoadRing(centre, image.pitch_bytes);
    const V16 p = hn::Set(d, *centre);
    const V16 score = hn::Set(d, static_cast<uint8_t>(point.response));
    // Sums and differences beyond the range of a byte compare as the range's ends do.
    const int bright = directions[GreaterBits(ring, hn::SaturatedAdd(p, score))];
    const int dark = directions[GreaterBits(hn::SaturatedSub(p, score), ring)];
    point.angle_deg = algo::ArcDirectionAngle(bright != algo::kNoArcDirection ? bright : dark);
  }
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

ArcMiddleKernel ArcMiddleKernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(ArcMiddles, ReferenceArcMiddles, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
