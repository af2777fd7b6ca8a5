// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Cell bound: how strong a corner of level 0 must be to be among the best of a frame that keeps one
// corner of each cell, over all levels. The winners of the cells on the other levels are known by
// then, and level 0 can only replace them by stronger ones: where n features are wanted, the n-th
// best of these winners bounds the responses that matter, and the answer is the same with or
// without the corners below. 0 where there are fewer winners, or where a second threshold may yet
// drop some of them.

#ifndef ORBSERVE_CPU_STEPS_DETECT_CELL_BOUND_H_
#define ORBSERVE_CPU_STEPS_DETECT_CELL_BOUND_H_

#include <memory>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

std::unique_ptr<Step> MakeCellBound(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_CELL_BOUND_H_
