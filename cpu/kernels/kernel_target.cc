// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/kernel_target.h"

#include "cpu/simd/targets.h"
#include "hwy/targets.h"

namespace orbserve::cpu {

KernelTarget ReferenceTarget() { return {"reference", 0}; }

std::vector<KernelTarget> SimdTargets() {
  std::vector<KernelTarget> all;
  // Lower bits stand for faster targets.
  uint64_t targets = static_cast<uint64_t>(hwy::SupportedTargets() & ORBSERVE_SIMD_TARGETS);
  for (; targets != 0; targets &= targets - 1) {
    const auto target = static_cast<int64_t>(targets & (~targets + 1));
    all.push_back({hwy::TargetName(target), target});
  }
  return all;
}

KernelTarget FastestTarget() {
  const std::vector<KernelTarget> all = SimdTargets();
  return all.empty() ? ReferenceTarget() : all.front();
}

}  // namespace orbserve::cpu
