// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Gaussian: smooths the parts of a level that descriptors read.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_GAUSSIAN_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_GAUSSIAN_H_

#include <cstdint>
#include <memory>

#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// 7x7 Gaussian of `region` (features/algo/gaussian.h): dst pixels of the region from src,
// reflect-101 at the image's border. `scratch`: GaussianScratchFloats(region) floats, 64-byte
// aligned. Bytes of `dst` rows between region.x_end and the next multiple of 64 may be overwritten;
// nothing else is.
using GaussianKernel = void (*)(const ImageView& src, const MutableImageView& dst,
                                const Region& region, float* scratch);
void ReferenceGaussian(const ImageView& src, const MutableImageView& dst, const Region& region,
                       float* scratch);
GaussianKernel GaussianKernelFor(const KernelTarget& target);
// These smooth by the rules of features/algo/fixed_gaussian.h.
void ReferenceFixedGaussian(const ImageView& src, const MutableImageView& dst, const Region& region,
                            float* scratch);
GaussianKernel FixedGaussianKernelFor(const KernelTarget& target);
// Row-filtered rows of the region and three on each side.
constexpr int64_t GaussianScratchFloats(const Region& region) {
  return (static_cast<int64_t>(region.width()) + 64) * (region.height() + 6);
}

std::unique_ptr<Step> MakeGaussian(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_GAUSSIAN_H_
