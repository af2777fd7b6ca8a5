// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Cell: the suppression that leaves one keypoint in each cell of a grid, over all levels together:
// the first in the order of the frame (features/algo/cell.h). It shortens the keyed lists of all
// levels.

#ifndef ORBSERVE_CPU_STEPS_SUPPRESS_CELL_H_
#define ORBSERVE_CPU_STEPS_SUPPRESS_CELL_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeCell(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SUPPRESS_CELL_H_
