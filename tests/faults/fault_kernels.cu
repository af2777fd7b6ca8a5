// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tests/faults/fault_kernels.h"

namespace orbserve::faults {
namespace {

// Divides the threads of a multiprocessor of every architecture: 1024, 1536, 2048.
constexpr int kHangThreads = 512;

__global__ void TrapKernel() { asm volatile("trap;"); }

__device__ uint64_t DeviceTimeNs() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void __launch_bounds__(kHangThreads) HangKernel(uint64_t time_ns) {
  const uint64_t begin = DeviceTimeNs();
  while (DeviceTimeNs() - begin < time_ns) {
  }
}

absl::Status Check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", cudaGetErrorName(result)));
}

// A stream that waits for no other; never destroyed, as that would wait for the kernel.
absl::Status MakeStream(int device, cudaStream_t* stream) {
  const absl::Status status = Check(cudaSetDevice(device), "cudaSetDevice");
  if (!status.ok()) return status;
  return Check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
}

}  // namespace

absl::Status LaunchTrap(int device) {
  cudaStream_t stream = nullptr;
  if (absl::Status status = MakeStream(device, &stream); !status.ok()) return status;
  TrapKernel<<<1, 1, 0, stream>>>();
  return Check(cudaGetLastError(), "TrapKernel");
}

absl::Status LaunchHang(int device, std::chrono::seconds time) {
  cudaStream_t stream = nullptr;
  if (absl::Status status = MakeStream(device, &stream); !status.ok()) return status;
  int processors = 0;
  int threads = 0;
  absl::Status status =
      Check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
  status.Update(
      Check(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device),
            "cudaDeviceGetAttribute"));
  if (!status.ok()) return status;
  const auto time_ns = static_cast<uint64_t>(std::chrono::nanoseconds(time).count());
  HangKernel<<<processors*(threads / kHangThreads), kHangThreads, 0, stream>>>(time_ns);
  return Check(cudaGetLastError(), "HangKernel");
}

}  // namespace orbserve::faults
