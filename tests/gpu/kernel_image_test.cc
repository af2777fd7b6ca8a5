// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Needs no device.

#include "gpu/runtime/kernel_image.h"

#include <string>

#include "features/errors.h"
#include "gmock/gmock.h"

namespace orbserve::gpu {
namespace {

using ::testing::HasSubstr;

TEST(KernelImageTest, NoCodeForTheDeviceIsUnsupportedAndNoLoss) {
  for (const cudaError_t result : {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction,
                                   cudaErrorUnsupportedPtxVersion, cudaErrorJitCompilerNotFound}) {
    const absl::Status status = StatusOfKernelImage(result, 8, 6);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_EQ(ReasonOf(status), ErrorReason::kUnsupported);
    const std::string message(status.message());
    EXPECT_THAT(message, HasSubstr("compute capability 8.6"));
    EXPECT_THAT(message, HasSubstr("ORBSERVE_CUDA_ARCHITECTURES=86"));
    // It names what it has code for: at least one number with a point.
    EXPECT_THAT(message, ::testing::ContainsRegex("compiled for [0-9]+[.][0-9]"));
  }
}

TEST(KernelImageTest, OtherResultsKeepTheirMeaning) {
  EXPECT_TRUE(StatusOfKernelImage(cudaSuccess, 9, 0).ok());
  EXPECT_EQ(ReasonOf(StatusOfKernelImage(cudaErrorMemoryAllocation, 9, 0)),
            ErrorReason::kOutOfMemory);
  EXPECT_EQ(ReasonOf(StatusOfKernelImage(cudaErrorECCUncorrectable, 9, 0)),
            ErrorReason::kDeviceLost);
}

}  // namespace
}  // namespace orbserve::gpu
