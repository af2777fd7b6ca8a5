// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force Hamming matching on the host. Two implementations with the same bits, as in
// cpu/stages.h.

#ifndef ORBSERVE_CPU_MATCHER_H_
#define ORBSERVE_CPU_MATCHER_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve::cpu {

// One neighbour: distance in bits in the upper half, train index in the lower, so that the smaller
// value is the nearer neighbour and, at equal distance, the lower index.
using Neighbour = uint64_t;
inline constexpr Neighbour kNoNeighbour = ~Neighbour{0};
constexpr Neighbour MakeNeighbour(uint32_t distance, uint32_t train_index) {
  return (static_cast<Neighbour>(distance) << 32) | train_index;
}
constexpr uint32_t DistanceOf(Neighbour n) { return static_cast<uint32_t>(n >> 32); }
constexpr uint32_t TrainIndexOf(Neighbour n) { return static_cast<uint32_t>(n); }

struct MatcherKernels {
  absl::string_view name;
  // For queries [query_begin, query_end): the k nearest of `train_count` descriptors, ascending,
  // into `nearest[query * k + i]`, kNoNeighbour where there are fewer. `query`, `train`: rows of
  // `descriptor_bytes` (4 or 32). 1 <= k <= 16. `scratch` holds MatchScratchBytes(train_count,
  // descriptor_bytes), 64-byte aligned, prepared once for the train set by `prepare_train` and then
  // shared by any number of threads.
  void (*prepare_train)(const uint8_t* train, int train_count, int descriptor_bytes,
                        uint8_t* scratch);
  void (*nearest)(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
                  int train_count, int descriptor_bytes, int k, const uint8_t* scratch,
                  Neighbour* nearest);
};

// Bytes that prepare_train may fill: a transposed copy of the train set, two bits for each of its
// bits, padded to blocks of 512 descriptors.
constexpr int64_t MatchScratchBytes(int train_count, int descriptor_bytes) {
  return (static_cast<int64_t>(train_count) + 511) / 512 * 512 * descriptor_bytes * 2;
}

const MatcherKernels& ReferenceMatcher();
const MatcherKernels& SimdMatcher();
std::vector<const MatcherKernels*> AllSimdMatchers();

// Matches the rows of `query` with those of `train` under `options`, using up to the calling
// arena's threads. Both have the same `descriptor_bytes` > 0.
Matches MatchDescriptors(const MatcherKernels& kernels, const Features& query,
                         const Features& train, const MatchOptions& options);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MATCHER_H_
