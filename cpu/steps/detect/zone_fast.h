// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Zone FAST: a level to the corners of its zones (features/algo/zone.h), suppressed and chosen by
// both thresholds inside each zone, as rank keys in the order of zones.

#ifndef ORBSERVE_CPU_STEPS_DETECT_ZONE_FAST_H_
#define ORBSERVE_CPU_STEPS_DETECT_ZONE_FAST_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeZoneFast(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_ZONE_FAST_H_
