// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Quality: the largest response of a frame to the threshold that its candidates exceed.

#ifndef ORBSERVE_CPU_STEPS_DETECT_QUALITY_H_
#define ORBSERVE_CPU_STEPS_DETECT_QUALITY_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeQuality(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_QUALITY_H_
