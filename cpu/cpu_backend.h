// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_CPU_BACKEND_H_
#define ORBSERVE_CPU_CPU_BACKEND_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/backend.h"

namespace orbserve::cpu {

struct CpuBackendOptions {
  int threads = 0;         // 1..1024; 0 = one per processor that this process may use
  bool reference = false;  // the plain loops instead of the SIMD kernels; same answers, slower
  // Name of the SIMD target to use ("AVX3_DL", "AVX2", ...); empty = the fastest. For tests and
  // benchmarks.
  absl::string_view simd_target;
  // Most bytes that leased input slots may hold; 0 = a quarter of this machine's memory.
  int64_t input_budget_bytes = 0;
  // Most bytes that the workspaces of frames may hold; 0 = no limit. A frame waits for those of
  // others; one that needs more than fifteen sixteenths is TOO_LARGE.
  int64_t workspace_budget_bytes = 0;
};

// INVALID_ARGUMENT when an option is out of range or this processor lacks `simd_target`.
absl::StatusOr<std::unique_ptr<FeatureBackend>> CreateCpuBackend(const CpuBackendOptions& options);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_CPU_BACKEND_H_
