// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rank: the second cut, by response, and the order of what it keeps. The cut is made on each level
// by itself and keeps ties, or, where the pipeline selects the best of the frame, over all levels
// together and keeps none.

#ifndef ORBSERVE_CPU_STEPS_SELECT_RANK_H_
#define ORBSERVE_CPU_STEPS_SELECT_RANK_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

// Puts the first `kept` rank keys of the level in order and makes its keypoints of them, no more
// than the answer can hold. Selections end with it.
// Makes keypoints of the first `kept` keys of a level, which are put in order unless they are.
void RankLevel(FrameContext& frame, int level, int kept, bool in_order = false);

std::unique_ptr<Step> MakeRank(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SELECT_RANK_H_
