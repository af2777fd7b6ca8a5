// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The cuts: which of the corners found go on. A cut keeps the best of what it is given and either
// every further one that equals the last, or, under a total order, exactly the wanted number. The
// set kept does not depend on the order of arrival.

#ifndef ORBSERVE_CPU_KERNELS_SELECTION_H_
#define ORBSERVE_CPU_KERNELS_SELECTION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "cpu/frame/corner.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Counts of FAST scores 0..255.
struct ScoreHistogram {
  int32_t count[256];

  void Clear();
  void Add(const Corner* corners, int number);
  int64_t Total() const;
  // The lowest score of the best `wanted` corners: keep those with at least this score. 256
  // (none) when `wanted` is 0, 0 (all) when there are no more than `wanted`.
  int CutFor(int wanted) const;
};

// Keeps the corners with at least `lowest_score`, in their order. Returns their number.
// `kept` may be `corners` or lie before it.
int KeepScores(const Corner* corners, int number, int lowest_score, Corner* kept);

// Keeps the corners whose pixel of `mask` is not 0, in place, in their order.
int KeepUnmasked(const ImageView& mask, Corner* corners, int number);

// Keeps the rank keys whose pixel of `mask` is not 0, in place, in their order.
int KeepUnmasked(const ImageView& mask, uint64_t* keys, int number);

// Rank keys of corners whose responses are their scores, in order. The corners come by rows, then
// by columns.
void RankScores(const Corner* corners, int number, uint64_t* keys);

// Moves the best `wanted` of `keys` (features/algo/order.h: ascending = better first) and those
// whose response equals the last one's to the front; returns their number.
int KeepBestKeys(uint64_t* keys, int number, int wanted);

// KeepBestKeys() of keys that are in order.
int CountBestKeys(const uint64_t* keys, int number, int wanted);

// Counts the keys of each run that belong to the first `wanted` of all runs: the upper halves of
// keys are compared first, then the runs, then the lower halves. Exactly `wanted` keys, or all
// where there are fewer. `kept` has an entry for each run.
void DivideBest(absl::Span<const absl::Span<const uint64_t>> runs, int64_t wanted,
                absl::Span<int> kept);

// Moves the first `wanted` of `keys` in order to the front; returns their number.
int KeepFirstKeys(uint64_t* keys, int number, int wanted);

// Puts rank keys in order.
void SortKeys(uint64_t* keys, int number);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_SELECTION_H_
