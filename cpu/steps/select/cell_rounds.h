// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Cell rounds: the selection that takes the best keypoint of every cell, over all levels together,
// then the second best of every cell, and so on (features/algo/cell.h), until there are as many as
// are wanted; then the order of each level.

#ifndef ORBSERVE_CPU_STEPS_SELECT_CELL_ROUNDS_H_
#define ORBSERVE_CPU_STEPS_SELECT_CELL_ROUNDS_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeCellRounds(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SELECT_CELL_ROUNDS_H_
