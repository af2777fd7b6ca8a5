// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/runtime/check.h"

#include <atomic>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace orbserve::gpu {
namespace {

// "cudaMalloc(&data, size)" -> "cudaMalloc": arguments say nothing to an operator.
absl::string_view CallName(absl::string_view call) { return call.substr(0, call.find('(')); }

std::atomic<bool> leaks{false};

}  // namespace

void LeakFromNowOn() { leaks.store(true, std::memory_order_release); }
bool Leaks() { return leaks.load(std::memory_order_acquire); }

absl::Status StatusFromCuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(CallName(call), ": ", cudaGetErrorName(result), " (",
                                           cudaGetErrorString(result), ")");
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // not sticky: the next launch must not report it again
    return MakeError(ErrorReason::kOutOfMemory, message);
  }
  return MakeError(ErrorReason::kDeviceLost, message);
}

absl::Status CheckLaunch(const char* kernel) { return StatusFromCuda(cudaGetLastError(), kernel); }

void LogIfFailed(cudaError_t result, const char* call) noexcept {
  if (result == cudaSuccess || result == cudaErrorCudartUnloading || Leaks()) return;
  std::fprintf(stderr, "orbserve: %s: %s\n", call, cudaGetErrorName(result));
}

}  // namespace orbserve::gpu
