// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// rBRIEF-256: the twin of features/algo/rbrief.h.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/rbrief256_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include <cstdint>

#include "cpu/simd/rbrief-inl.h"
#include "cpu/steps/describe/rbrief256.h"
#include "features/algo/rbrief.h"

#ifndef ORBSERVE_CPU_SIMD_RBRIEF256_COLUMNS_
#define ORBSERVE_CPU_SIMD_RBRIEF256_COLUMNS_
namespace orbserve::cpu {
inline constexpr auto kRBrief256Columns = MakeRBriefColumns(algo::kRBriefPattern);
}  // namespace orbserve::cpu
#endif  // ORBSERVE_CPU_SIMD_RBRIEF256_COLUMNS_

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

void DescribeRBrief256(const ImageView& smoothed, const LevelPoint* points, int count,
                       uint8_t* descriptors) {
  DescribePoints(kRBrief256Columns, algo::kRBriefRadiusPx, smoothed, points, count, descriptors);
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
