// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT: the twin of features/algo/sift_*.h, operation for operation.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/sift_simd.cc"
#include "cpu/simd/targets.h"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "cpu/kernels/sift_kernels.h"
#include "cpu/simd/sift_features-inl.h"
#include "cpu/simd/sift_octave-inl.h"
#include "features/algo/sift_extremum.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
#if ORBSERVE_SIMD_TARGET_HAS_VECTORS
namespace {

// Inlined, so that its fused multiply-adds are instructions.
HWY_FLATTEN bool RefineSift(const algo::SiftOctaveView& octave,
                            const algo::SiftThresholds& thresholds, algo::SiftExtremum* extremum) {
  return algo::RefineSiftExtremum(octave, thresholds, extremum);
}

const SiftKernels& SimdSiftKernels() {
  static constexpr SiftKernels kKernels = {&MakeFirstSiftImage, &HalveSift,
                                           &MakeSiftOctave,     &RefineSift,
                                           &FindSiftDirections, &DescribeSift};
  return kKernels;
}

}  // namespace
#endif  // ORBSERVE_SIMD_TARGET_HAS_VECTORS
}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve::cpu {
namespace {

using SiftKernelsOf = const SiftKernels& (*)();

SiftKernelsOf SiftKernelsOfTarget(const KernelTarget& target) {
  ORBSERVE_SIMD_SELECT(SimdSiftKernels, ReferenceSiftKernels, target.simd_target)
}

}  // namespace

const SiftKernels& SiftKernelsFor(const KernelTarget& target) {
  return SiftKernelsOfTarget(target)();
}

}  // namespace orbserve::cpu
#endif  // HWY_ONCE
