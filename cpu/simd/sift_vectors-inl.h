// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The vectors of the two halves of SIFT.

#if defined(ORBSERVE_CPU_SIMD_SIFT_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_SIFT_VECTORS_INL_H_
#undef ORBSERVE_CPU_SIMD_SIFT_VECTORS_INL_H_
#else
#define ORBSERVE_CPU_SIMD_SIFT_VECTORS_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using SiftF = hn::ScalableTag<float>;
using SiftI = hn::ScalableTag<int32_t>;
using SiftV = hn::Vec<SiftF>;
constexpr int kSiftLanes = static_cast<int>(hn::MaxLanes(SiftF()));
constexpr int kSiftAlign = 16;  // floats of a cache line, and of the longest vector

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_SIFT_VECTORS_INL_H_
