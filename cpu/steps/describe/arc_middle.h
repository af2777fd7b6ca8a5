// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Arc middle: the angle of each FAST corner, from its centre to the middle of its arc.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_ARC_MIDDLE_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_ARC_MIDDLE_H_

#include <cstdint>
#include <memory>

#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Angles of points whose responses are their FAST scores. `directions`: of
// algo::FillArcDirections().
using ArcMiddleKernel = void (*)(const ImageView& image, const uint8_t* directions,
                                 LevelPoint* points, int count);
void ReferenceArcMiddles(const ImageView& image, const uint8_t* directions, LevelPoint* points,
                         int count);
ArcMiddleKernel ArcMiddleKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeArcMiddle(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_ARC_MIDDLE_H_
