// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Neighbourhood: a response map to the rank keys of those candidates that are strictly greater than
// all others in a window round them, strip by strip (the suppression NEIGHBOURHOOD, and the first
// half of CELL).

#ifndef ORBSERVE_CPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_
#define ORBSERVE_CPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_

#include <cstdint>
#include <memory>

#include "cpu/kernel_target.h"
#include "cpu/steps/step.h"

namespace orbserve::cpu {

// Finds the peaks of a row of a map: entries above `threshold` that are not below any of the up to
// eight entries beside them in the columns [0, count) of the three rows. At the border of a map
// `row` stands for a row that does not exist. Writes their columns in order to `peaks`, which has
// room for count + kMapRowSlack, and returns their number. `candidates` is set to the number of
// entries above `threshold`.
using PeaksKernel = int (*)(const uint32_t* above, const uint32_t* row, const uint32_t* below,
                            int count, uint32_t threshold, uint16_t* peaks, int* candidates);
int ReferencePeaks(const uint32_t* above, const uint32_t* row, const uint32_t* below, int count,
                   uint32_t threshold, uint16_t* peaks, int* candidates);
PeaksKernel PeaksKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeNeighbourhood(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_
