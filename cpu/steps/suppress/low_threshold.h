// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Low threshold: where a frame has a second threshold, corners below the first one are dropped from
// those cells of a level that hold a corner of at least the first (features/algo/low_threshold.h).
// It works on the strips of corners that detection leaves, or on the response map. Frames without a
// second threshold give it nothing to do.

#ifndef ORBSERVE_CPU_STEPS_SUPPRESS_LOW_THRESHOLD_H_
#define ORBSERVE_CPU_STEPS_SUPPRESS_LOW_THRESHOLD_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeLowThreshold(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SUPPRESS_LOW_THRESHOLD_H_
