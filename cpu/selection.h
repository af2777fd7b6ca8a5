// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The cuts: which of the corners found go on. Each keeps the best of what it is given and every
// further one that equals the last, so that the set kept does not depend on the order of arrival.

#ifndef ORBSERVE_CPU_SELECTION_H_
#define ORBSERVE_CPU_SELECTION_H_

#include <cstdint>

#include "absl/types/span.h"
#include "cpu/corner.h"
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

// Moves the best `wanted` of `keys` (features/algo/order.h: ascending = better first) and those
// whose response equals the last one's to the front; returns their number.
int KeepBestKeys(uint64_t* keys, int number, int wanted);

// Of several runs of keys: the upper half of the key that is number `wanted` (from 1) in order. All
// keys with an upper half up to it are kept. `wanted` >= 1 and at most the number of keys.
uint32_t LastKeptOrder(absl::Span<const absl::Span<const uint64_t>> runs, int64_t wanted);

// Moves keys whose upper half is at most `last` to the front; returns their number.
int KeepUpTo(uint64_t* keys, int number, uint32_t last);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_SELECTION_H_
