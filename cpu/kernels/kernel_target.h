// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Choice of the implementation of its kernels that a step runs.
//
// A kernel is the inner loop of a step: a function over memory that the caller owns. It keeps no
// state, allocates nothing and may run on any thread. Most kernels exist twice with the same bits:
// the plain loop over features/algo/ beside its step (cpu/steps/), which is the reference, and its
// Highway twin in cpu/simd/. The header of a step declares both, as
//
//   using FastKernel = int (*)(...);            // the contract
//   int ReferenceFast(...);                     // the plain loop
//   FastKernel FastKernelFor(const KernelTarget&);  // the twin compiled for a target

#ifndef ORBSERVE_CPU_KERNELS_KERNEL_TARGET_H_
#define ORBSERVE_CPU_KERNELS_KERNEL_TARGET_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace orbserve::cpu {

struct KernelTarget {
  absl::string_view name;   // "reference", or the Highway target ("AVX2"); never freed
  int64_t simd_target = 0;  // Highway's number of the target; 0 = the plain loops

  bool operator==(const KernelTarget&) const = default;
};

// The plain loops over features/algo/.
KernelTarget ReferenceTarget();

// The fastest target that this processor supports, or the reference where there is none.
KernelTarget FastestTarget();

// The SIMD targets that this processor supports, the fastest first.
std::vector<KernelTarget> SimdTargets();

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_KERNEL_TARGET_H_
