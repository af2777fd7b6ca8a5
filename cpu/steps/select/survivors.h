// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Survivors: the first cut, by FAST score. The strips of a level become one list without gaps, and
// where the score itself ranks keypoints, each survivor gets its rank key. Other scores have a step
// of their own that makes the keys. Keyed corners are joined only: they have no first cut.

#ifndef ORBSERVE_CPU_STEPS_SELECT_SURVIVORS_H_
#define ORBSERVE_CPU_STEPS_SELECT_SURVIVORS_H_

#include <memory>

#include "cpu/steps/step.h"
#include "features/options.h"

namespace orbserve::cpu {

// True where the step leaves rank keys that are in order: of FAST corners whose response is their
// score.
bool SurvivorsAreRanked(const PipelineOptions& options);

std::unique_ptr<Step> MakeSurvivors(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SELECT_SURVIVORS_H_
