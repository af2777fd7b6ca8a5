// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// rBRIEF-32: the twin of features/algo/rbrief32.h.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/rbrief32_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstdint>

#include "cpu/simd/rbrief-inl.h"
#include "cpu/steps/describe/rbrief32.h"
#include "features/algo/rbrief32.h"

#ifndef ORBSERVE_CPU_SIMD_RBRIEF32_COLUMNS_
#define ORBSERVE_CPU_SIMD_RBRIEF32_COLUMNS_
namespace orbserve::cpu {
inline constexpr auto kRBrief32Columns = MakeRBriefColumns(algo::kRBrief32Pattern);
}  // namespace orbserve::cpu
#endif  // ORBSERVE_CPU_SIMD_RBRIEF32_COLUMNS_

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

void DescribeRBrief32(const ImageView& image, const LevelPoint* points, int count,
                      uint8_t* descriptors) {
  DescribePoints(kRBrief32Columns, algo::kRBrief32RadiusPx, image, points, count, descriptors);
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {

RBrief32Kernel RBrief32KernelFor(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(DescribeRBrief32, ReferenceRBrief32, target.simd_target)
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
