// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What all kernels of a match share: which of the searches a block does, and where its results go.

#ifndef ORBSERVE_GPU_MATCHING_MATCH_DIRECTION_CUH_
#define ORBSERVE_GPU_MATCHING_MATCH_DIRECTION_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/matching/match_kernel.h"

namespace orbserve::gpu {

// The two smallest numbers.
template <typename Number>
struct TwoBest {
  Number first;
  Number second;

  __device__ __forceinline__ void Add(Number n) {
    second = min(second, max(first, n));
    first = min(first, n);
  }
  __device__ __forceinline__ void Add(const TwoBest& other) {
    second = min(max(first, other.first), min(second, other.second));
    first = min(first, other.first);
  }
};

// One search: forwards or backwards.
struct Direction {
  const uint8_t* query;
  const uint8_t* train;
  int query_count;
  int train_count;
  int k;
  void* nearest;
};

// False when nothing is to be done. `index`: the pair, and where there are two directions twice the
// pair, plus 1 for backwards.
__device__ inline bool FindDirection(const MatchParams& params, int index, Direction* direction) {
  const bool two = params.directions == 2;
  const MatchPair& pair = params.pair[two ? index / 2 : index];
  if (!two || index % 2 == 0) {
    *direction = {pair.query,       pair.train, pair.query_count,
                  pair.train_count, params.k,   pair.nearest};
    return true;
  }
  *direction = {pair.train, pair.query, pair.train_count, pair.query_count, 1, pair.reverse};
  return pair.reverse != nullptr;
}

__device__ inline void StoreNearest(const Direction& pair, int query,
                                    const TwoBest<uint32_t>& best) {
  if (pair.k == 1) {
    static_cast<uint32_t*>(pair.nearest)[query] = best.first;
  } else {
    static_cast<uint2*>(pair.nearest)[query] = make_uint2(best.first, best.second);
  }
}

__device__ inline void StoreNearest(const Direction& pair, int query,
                                    const TwoBest<uint64_t>& best) {
  if (pair.k == 1) {
    static_cast<uint64_t*>(pair.nearest)[query] = best.first;
  } else {
    static_cast<ulonglong2*>(pair.nearest)[query] = make_ulonglong2(best.first, best.second);
  }
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHING_MATCH_DIRECTION_CUH_
