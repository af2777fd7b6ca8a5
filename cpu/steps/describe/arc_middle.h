// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Arc middle: the angle of each FAST corner, from its centre to the middle of its arc.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_ARC_MIDDLE_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_ARC_MIDDLE_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeArcMiddle(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_ARC_MIDDLE_H_
