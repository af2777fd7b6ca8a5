// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/runtime/kernel_image.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

// Compiled for what every kernel of the program is compiled for. Never launched.
__global__ void ProbeKernel() {}

// "7.5, 9.0"
std::string BuiltFor() {
#if defined(__CUDA_ARCH_LIST__)
  std::string text;
  for (const int architecture : {__CUDA_ARCH_LIST__}) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", architecture / 100, ".",
                    architecture / 10 % 10);
  }
  return text;
#else
  return "others";
#endif
}

}  // namespace

absl::Status StatusOfKernelImage(cudaError_t result, int major, int minor) {
  switch (result) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
      (void)cudaGetLastError();  // not sticky: the device is as good as before
      return MakeError(
          ErrorReason::kUnsupported,
          absl::StrCat("no code in this program for a device of compute capability ", major, ".",
                       minor, " (", cudaGetErrorName(result), "); it was compiled for ", BuiltFor(),
                       ": compile with ORBSERVE_CUDA_ARCHITECTURES=", major, minor));
    default:
      return StatusFromCuda(result, "cudaFuncGetAttributes");
  }
}

absl::StatusOr<int> KernelArchitecture(int major, int minor) {
  cudaFuncAttributes attributes;
  ORBSERVE_RETURN_IF_ERROR(StatusOfKernelImage(
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(ProbeKernel)), major,
      minor));
  return attributes.ptxVersion;
}

}  // namespace orbserve::gpu
