// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Minimum distance: a response map to the corners that passes of labels leave
// (features/algo/minimum_distance.h), and the number of passes.
//
// A map of places serves as the label map: an entry is the order of an undefined candidate, or 0
// once the candidate is inside or outside. Places are the pixels of the response map itself or,
// with compression, blocks of 2x2 pixels. Entries that are no candidates may stay: they are lower
// than any candidate and outrank none.
//
//   1. With compression: blocks of the response map, strip by strip.
//   2. First half of the first pass, strip by strip. Only peaks of 3x3 places need the full test.
//   3. The rest, one task for a level, with a list of the undefined peaks. Each remembers one
//      candidate that outranks it and is tested again only after that one has left the undefined.
//      A candidate becomes a peak when the last higher one of its neighbours is taken out of the
//      map, so new peaks appear beside the places that a new corner takes out, and nowhere else.
//      If the list has no room, the next pass goes through the whole map as the first one does.
//
// The corners of a level become one list, which is that of its first strip; the other strips have
// none then. Their order is arbitrary.

#ifndef ORBSERVE_CPU_STEPS_SUPPRESS_MINIMUM_DISTANCE_H_
#define ORBSERVE_CPU_STEPS_SUPPRESS_MINIMUM_DISTANCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/algo/minimum_distance.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

inline constexpr int kMaxDistanceReach = 63;

// The places in conflict with one at distance 0: half_width[dy] places to either side in the rows
// dy above and below, dy up to `reach`.
struct ConflictRows {
  int reach = 0;
  int half_width[kMaxDistanceReach + 1] = {};

  static ConflictRows Of(const algo::DistanceRule& rule);
};

// Entries of places, `pitch` entries between rows. Only those in `region` count.
struct PlaceMap {
  uint32_t* entries = nullptr;  // entry (0, 0)
  ptrdiff_t pitch = 0;
  Region region;
};

// Index (y * pitch + x) of an undefined candidate that is in conflict with the one at (x, y) and
// outranks it; -1 when there is none. Of equal entries the one in the upper row, then the one more
// to the left outranks. Without `ties_in_row` equal entries in the same row do not.
using OutrankingKernel = ptrdiff_t (*)(const PlaceMap& map, const ConflictRows& rows, int x, int y,
                                       bool ties_in_row);
ptrdiff_t ReferenceOutranking(const PlaceMap& map, const ConflictRows& rows, int x, int y,
                              bool ties_in_row);
OutrankingKernel OutrankingKernelFor(const KernelTarget& target);

// Sets the entry (x, y) and all in conflict with it to 0.
using ClearConflictsKernel = void (*)(const PlaceMap& map, const ConflictRows& rows, int x, int y);
void ReferenceClearConflicts(const PlaceMap& map, const ConflictRows& rows, int x, int y);
ClearConflictsKernel ClearConflictsKernelFor(const KernelTarget& target);

// Columns of those of `count` entries that are above `threshold`, in order. `columns` has room for
// count + kMapRowSlack. Returns their number.
using CandidatesKernel = int (*)(const uint32_t* row, int count, uint32_t threshold,
                                 uint16_t* columns);
int ReferenceCandidates(const uint32_t* row, int count, uint32_t threshold, uint16_t* columns);
CandidatesKernel CandidatesKernelFor(const KernelTarget& target);

// Largest entries of `count` blocks of two rows and two columns each. `upper` and `lower` may be
// equal.
using BlocksKernel = void (*)(const uint32_t* upper, const uint32_t* lower, int count,
                              uint32_t* blocks);
void ReferenceBlocks(const uint32_t* upper, const uint32_t* lower, int count, uint32_t* blocks);
BlocksKernel BlocksKernelFor(const KernelTarget& target);

// The three steps, in their order. The first one exists only with FrameLists::HasBlocks().
std::unique_ptr<Step> MakeDistanceBlocks(const StepSetup& setup);
std::unique_ptr<Step> MakeFirstDistancePass(const StepSetup& setup);
std::unique_ptr<Step> MakeMinimumDistance(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SUPPRESS_MINIMUM_DISTANCE_H_
