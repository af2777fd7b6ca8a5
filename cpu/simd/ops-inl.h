// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Operations that Highway 1.0.3 lacks or guards against inputs that do not occur here. Included
// once per target.

#if defined(ORBSERVE_CPU_SIMD_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_OPS_INL_H_
#undef ORBSERVE_CPU_SIMD_OPS_INL_H_
#else
#define ORBSERVE_CPU_SIMD_OPS_INL_H_
#endif

#include <cstdint>

#include "cpu/simd/targets.h"
#include "features/image_view.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS

using VecI16 = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int16_t>>;
using VecI32 = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<int32_t>>;
using VecF32 = hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::ScalableTag<float>>;

// Nearest integer, halves to even; |v| < 2^31.
HWY_INLINE HWY_MAYBE_UNUSED VecI32 RoundToInt32(VecF32 v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return VecI32{_mm512_cvtps_epi32(v.raw)};
#elif HWY_ARCH_X86
  return VecI32{_mm256_cvtps_epi32(v.raw)};
#else
  return hwy::HWY_NAMESPACE::NearestInt(v);
#endif
}

// a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1].
HWY_INLINE HWY_MAYBE_UNUSED VecI32 SumPairProducts(VecI16 a, VecI16 b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return VecI32{_mm512_madd_epi16(a.raw, b.raw)};
#elif HWY_ARCH_X86
  return VecI32{_mm256_madd_epi16(a.raw, b.raw)};
#else
  return VecI32{vpaddq_s32(vmull_s16(vget_low_s16(a.raw), vget_low_s16(b.raw)),
                           vmull_s16(vget_high_s16(a.raw), vget_high_s16(b.raw)))};
#endif
}

// Bit i: lane i of a mask over 32-bit lanes. At most 32 lanes.
template <class D, class M>
HWY_INLINE HWY_MAYBE_UNUSED uint32_t MaskBits(D d, M mask) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  (void)d;
  uint32_t bits = mask.raw;
  // GCC 12 may store the 16 bits of a mask and read 32 where registers are few (with -O2 and the
  // thread sanitizer): the value must be in a register of its own.
  asm("" : "+r"(bits));
  return bits;
#else
  uint8_t bytes[8] = {};
  hwy::HWY_NAMESPACE::StoreMaskBits(d, mask, bytes);
  return bytes[0];
#endif
}

// Bits below `count` > 0.
HWY_INLINE HWY_MAYBE_UNUSED uint32_t FirstBits(int count) {
  return count >= 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
}

// Asks for the square of pixels at most `radius` from (x, y), which lies in the image: its rows are
// on different pages, which hardware does not foresee. At most 64 pixels wide.
HWY_INLINE HWY_MAYBE_UNUSED void PrefetchSquare(const ImageView& image, int x, int y, int radius) {
  for (int v = -radius; v <= radius; ++v) {
    const uint8_t* centre = image.Row(y + v) + x;
    hwy::Prefetch(centre - radius);
    hwy::Prefetch(centre + radius);
  }
}

#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
