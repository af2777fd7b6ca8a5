// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// rBRIEF-32: the descriptor of each keypoint at its angle, from the level itself.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_RBRIEF32_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_RBRIEF32_H_

#include <cstdint>
#include <memory>

#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// rBRIEF-32 of each point at its angle (features/algo/rbrief32.h): 4 bytes per point. Points keep
// algo::kRBrief32RadiusPx to the border.
using RBrief32Kernel = void (*)(const ImageView& image, const LevelPoint* points, int count,
                                uint8_t* descriptors);
void ReferenceRBrief32(const ImageView& image, const LevelPoint* points, int count,
                       uint8_t* descriptors);
RBrief32Kernel RBrief32KernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeRBrief32(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_RBRIEF32_H_
