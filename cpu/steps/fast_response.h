// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST with suppression by response (suppress.compare SCORE): a level to the rank keys of its
// corners, strip by strip. The response of every corner is computed before any is dropped; corners
// that exceed all others of their window by it stay, but for those under a masked pixel.

#ifndef ORBSERVE_CPU_STEPS_FAST_RESPONSE_H_
#define ORBSERVE_CPU_STEPS_FAST_RESPONSE_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeFastResponse(const StepSetup& setup);
// Where FrameLists::BoundsLevelZero(), MakeFastResponse() leaves level 0 out, and this does the
// rest.
std::unique_ptr<Step> MakeFastResponseOfLevelZero(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_FAST_RESPONSE_H_
