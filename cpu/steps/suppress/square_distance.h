// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Minimum distance of squares on corner maps: the passes of features/algo/minimum_distance.h over a
// map of 16 bits.
//
// Candidates lie between the quality threshold and the best response, so that 16 bits hold their
// order but for responses that are nearly equal: the coarse map keeps those bits, 0 where there is
// no undefined candidate. A candidate whose coarse entry is the largest of its square and alone in
// that outranks all that it is in conflict with. Only where another entry of the square is equal do
// the responses themselves decide.
//
//   1. The coarse map, strip by strip.
//   2. First half of the first pass, strip by strip.
//   3. The rest, one task for a level. The second half of a pass clears squares of the coarse map.
//      The next first half looks again at the candidates within two reaches of a new corner, since
//      no other one has lost anything that outranked it. A bit for each cell of kChangedCellPx by
//      kBandRows pixels says where they are.
//
// Pixels of the coarse map are counted from the first one of the region. There are `reach` zeros on
// every side, and kBandRows rows more below, so that no square leaves the memory of the map.
//
// The corners of a level become one list, as in cpu/steps/suppress/minimum_distance.h, whose steps
// do all other minimum distances.

#ifndef ORBSERVE_CPU_STEPS_SUPPRESS_SQUARE_DISTANCE_H_
#define ORBSERVE_CPU_STEPS_SUPPRESS_SQUARE_DISTANCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// Most columns of a band (kBandRows) that are searched at a time: what is known of them stays in
// the first cache.
inline constexpr int kBandColumns = 512;
inline constexpr int kMaxSquareReach = 63;
// Entries of a row of the kernel's scratch memory, with room for vectors that begin at the last.
inline constexpr int kBandPitch = kBandColumns + 2 * kMaxSquareReach + 66;
inline constexpr size_t kBandScratchBytes =
    kBandRows * static_cast<size_t>(kBandPitch) * 2 * sizeof(uint16_t);

// Makes the entries of a response map (FrameLists::responses) coarse.
struct CoarseScale {
  uint32_t threshold;  // entries up to this one are no candidates
  int shift;

  // `top`: the largest entry of the map.
  static CoarseScale Of(uint32_t threshold, uint32_t top);
  // 0 for no candidate. The order of two candidates stays, or they become equal.
  uint16_t Coarse(uint32_t entry) const;
};

// Writes `count` coarse entries, and more of no meaning up to a multiple of kCoarseBlock. Reads as
// many entries.
using CoarsenKernel = void (*)(const uint32_t* row, int count, const CoarseScale& scale,
                               uint16_t* coarse);
void ReferenceCoarsen(const uint32_t* row, int count, const CoarseScale& scale, uint16_t* coarse);
CoarsenKernel CoarsenKernelFor(const KernelTarget& target);

// `entries`: of the first pixel of the region. `pitch` entries between rows.
struct CoarseMap {
  uint16_t* entries;
  ptrdiff_t pitch;
};

// An entry above 0 that none within reach is above.
struct CoarseMaximum {
  int16_t x;
  int16_t y;
  int32_t has_equal;  // 1 if another one within reach is equal, else 0
};

// Finds the maxima of a part of the map, of up to kBandRows rows and kBandColumns columns. Writes
// them in any order to `maxima`, which has room for all entries of the part and one more; returns
// their number. `reach`: 1..kMaxSquareReach entries in x and in y. `scratch`: kBandScratchBytes,
// 64-byte aligned.
using CoarseMaximaKernel = int (*)(const CoarseMap& map, int reach, const Region& part,
                                   uint8_t* scratch, CoarseMaximum* maxima);
int ReferenceCoarseMaxima(const CoarseMap& map, int reach, const Region& part, uint8_t* scratch,
                          CoarseMaximum* maxima);
CoarseMaximaKernel CoarseMaximaKernelFor(const KernelTarget& target);

// The three steps, in their order.
std::unique_ptr<Step> MakeCoarseMap(const StepSetup& setup);
std::unique_ptr<Step> MakeFirstSquarePass(const StepSetup& setup);
std::unique_ptr<Step> MakeSquareDistance(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SUPPRESS_SQUARE_DISTANCE_H_
