// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Harris: the rank key of each survivor from its Harris response.

#ifndef ORBSERVE_CPU_STEPS_DETECT_HARRIS_H_
#define ORBSERVE_CPU_STEPS_DETECT_HARRIS_H_

#include <memory>

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Harris response of each corner (features/algo/corner.h). Corners keep 4 pixels to the border.
using HarrisKernel = void (*)(const ImageView& image, const Corner* corners, int count,
                              float* responses);
void ReferenceHarris(const ImageView& image, const Corner* corners, int count, float* responses);
// For corners that are far apart, and for those that follow each other by rows, close together.
HarrisKernel HarrisKernelFor(const KernelTarget& target);
HarrisKernel DenseHarrisKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeHarris(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_HARRIS_H_
