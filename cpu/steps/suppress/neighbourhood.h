// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Neighbourhood: a response map to the rank keys of those candidates that are strictly greater than
// all others in a window round them, strip by strip (the suppression NEIGHBOURHOOD, and the first
// half of CELL).

#ifndef ORBSERVE_CPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_
#define ORBSERVE_CPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// Finds the peaks of a row of a map: entries above `threshold` that are not below any of the up to
// eight entries beside them in the columns [0, count) of the three rows. At the border of a map
// `row` stands for a row that does not exist. Writes their columns in order to `peaks`, which has
// room for `count`, and returns their number.
using PeaksKernel = int (*)(const uint32_t* above, const uint32_t* row, const uint32_t* below,
                            int count, uint32_t threshold, uint16_t* peaks);
int ReferencePeaks(const uint32_t* above, const uint32_t* row, const uint32_t* below, int count,
                   uint32_t threshold, uint16_t* peaks);
PeaksKernel PeaksKernelFor(const KernelTarget& target);

// A place of a map.
struct MapPlace {
  int16_t x;
  int16_t y;
};

// Finds the peaks in a part of the map `region`, which has `pitch` entries between rows. `map`:
// entry (0, 0). Writes them in any order to `peaks`, which has room for all places of the part, and
// returns their number.
using PeaksOfPartKernel = int (*)(const uint32_t* map, ptrdiff_t pitch, const Region& region,
                                  const Region& part, uint32_t threshold, MapPlace* peaks);
int ReferencePeaksOfPart(const uint32_t* map, ptrdiff_t pitch, const Region& region,
                         const Region& part, uint32_t threshold, MapPlace* peaks);
PeaksOfPartKernel PeaksOfPartKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeNeighbourhood(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SUPPRESS_NEIGHBOURHOOD_H_
