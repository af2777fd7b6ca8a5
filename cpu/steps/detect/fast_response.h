// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST with suppression by response (suppress.compare SCORE): a level to the rank keys of its
// corners, strip by strip. The response of every corner is computed before any is dropped; corners
// that exceed all others of their window by it stay, but for those under a masked pixel.

#ifndef ORBSERVE_CPU_STEPS_DETECT_FAST_RESPONSE_H_
#define ORBSERVE_CPU_STEPS_DETECT_FAST_RESPONSE_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeFastResponse(const StepSetup& setup);
// Makes the step that searches level 0 alone. A pipeline has it if FrameLists::BoundsLevelZero()
// is true: the step of MakeFastResponse() leaves level 0 out then.
std::unique_ptr<Step> MakeFastResponseOfLevelZero(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_FAST_RESPONSE_H_
