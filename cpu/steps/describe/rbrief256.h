// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// rBRIEF-256: the descriptor of each keypoint at its angle, from the smoothed level.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_RBRIEF256_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_RBRIEF256_H_

#include <cstdint>
#include <memory>

#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// rBRIEF-256 of each point at its angle (features/algo/rbrief.h): 32 bytes per point. Points keep
// kRBriefSampleReachPx to the border.
using RBrief256Kernel = void (*)(const ImageView& smoothed, const LevelPoint* points, int count,
                                 uint8_t* descriptors);
void ReferenceRBrief256(const ImageView& smoothed, const LevelPoint* points, int count,
                        uint8_t* descriptors);
RBrief256Kernel RBrief256KernelFor(const KernelTarget& target);

// Keypoints may lie nearer to the border than the kernel allows, as given ones do.
std::unique_ptr<Step> MakeRBrief256(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_RBRIEF256_H_
