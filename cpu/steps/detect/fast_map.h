// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// FAST for suppression by minimum distance: a level to the map of the responses of all its corners
// (FrameLists::responses), but for those under a masked pixel.

#ifndef ORBSERVE_CPU_STEPS_DETECT_FAST_MAP_H_
#define ORBSERVE_CPU_STEPS_DETECT_FAST_MAP_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeFastMap(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_FAST_MAP_H_
