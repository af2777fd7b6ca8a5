// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_MATCHING_MATCH_KERNEL_H_
#define ORBSERVE_GPU_MATCHING_MATCH_KERNEL_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "features/algo/match_window.h"
#include "features/algo/metric.h"

namespace orbserve::gpu {

// A neighbour as one number: distance in the upper bits, index in the lower ones, so that the
// smaller number is the nearer neighbour and, at equal distance, the lower index. A Hamming
// distance has 10 bits beside 22 of the index; a squared distance of vectors has half of 64 bits.
using PackedNeighbour = uint32_t;
using WideNeighbour = uint64_t;
inline constexpr int kNeighbourIndexBits = 22;
template <typename Neighbour>
inline constexpr int kIndexBits = sizeof(Neighbour) == 4 ? kNeighbourIndexBits : 32;
template <typename Neighbour>
inline constexpr Neighbour kNobody = ~Neighbour{0};
inline constexpr PackedNeighbour kNoPackedNeighbour = kNobody<PackedNeighbour>;
template <typename Neighbour>
constexpr uint32_t DistanceOfPacked(Neighbour n) {
  return static_cast<uint32_t>(n >> kIndexBits<Neighbour>);
}
template <typename Neighbour>
constexpr uint32_t IndexOfPacked(Neighbour n) {
  return static_cast<uint32_t>(n & ((Neighbour{1} << kIndexBits<Neighbour>)-1));
}
// Size of a neighbour in units of PackedNeighbour.
constexpr int UnitsOfNeighbour(int descriptor_bytes) {
  return algo::MetricOf(descriptor_bytes) == algo::Metric::kHamming ? 1 : 2;
}

struct MatchPair {
  const uint8_t* query;  // device, rows of descriptor_bytes, 32-byte aligned
  const uint8_t* train;
  int32_t query_count;  // >= 1
  int32_t train_count;  // >= 1; both at most 2^22
  // The neighbours of all queries are written here, [query_count][k], ascending, kNobody where
  // there are fewer: PackedNeighbour, or of vectors WideNeighbour. It is device or pinned host
  // memory, 16-byte aligned.
  void* nearest;
  // Of all train descriptors their nearest query, [train_count]; null = not wanted.
  void* reverse;
};

inline constexpr int kMaxMatchPairs = 24;  // of one launch; they travel as kernel parameters

inline constexpr int kMaxBlockQueries = 32;
// Memory for splitting train sets among blocks, for any size of the sets: two partial neighbours
// for each query of each block, and a number for each block that is 0 before a launch and after it.
// A launch that splits has at most one block per multiprocessor, since a block fills most of one;
// launches of more blocks fill the device unsplit.
constexpr size_t MatchScratchBytes(int multiprocessors) {
  return static_cast<size_t>(multiprocessors) * kMaxBlockQueries * 2 * sizeof(WideNeighbour);
}
constexpr size_t MatchTicketBytes(int multiprocessors) {
  return static_cast<size_t>(multiprocessors) * sizeof(uint32_t);
}

struct MatchParams {
  MatchPair pair[kMaxMatchPairs];
  int32_t pairs;
  int32_t k;                 // 1..16
  int32_t descriptor_bytes;  // 4, 8, 16, 32, 64 or 128
  bool tensor_cores;         // the device multiplies 8-bit matrices (compute capability >= 8.0)
  bool split_trains;         // may share a train set out among blocks, to fill the device
  int32_t multiprocessors;   // of the device
  // Device memory: MatchScratchBytes() and MatchTicketBytes(), of one launch at a time.
  uint8_t* scratch;
  uint32_t* tickets;
  // Set by LaunchMatch.
  int32_t train_splits;
  int32_t directions;  // 2 where any pair wants its reverse
};

// Places of the keypoints of one side in level-0 pixels, [count] each in device memory, and what is
// added to them.
struct MatchPlaces {
  const float* x;
  const float* y;
  float offset_x_px;
  float offset_y_px;
};

// The rules of places of a pair (features/algo/match_window.h): its two sides are compared where
// they admit it.
struct WindowPair {
  MatchPlaces query;
  MatchPlaces train;
  float half_side_px;  // of the window; FLT_MAX = off
  bool has_band;       // `band` has a limit, or there are lines
  bool backwards;      // `query` is the train side of the match; `band` is seen from `query`
  algo::MatchBand band;
  algo::EpipolarBand epipolar;

  // The same rules for a search from the other side.
  WindowPair Backwards() const {
    return {train, query, half_side_px, has_band, !backwards, band.Backwards(), epipolar};
  }
};

struct MatchWindows {
  WindowPair pair[kMaxMatchPairs];  // of the pairs of MatchParams
};

// Returns true if pairs without rules of places are matched on the tensor cores.
bool MatchUsesTensorCores(const MatchParams& params);

// The k nearest train descriptors of every query, and backwards the nearest query of every train
// descriptor where wanted.
absl::Status LaunchMatch(MatchParams params, cudaStream_t stream);
// The same among the pairs of keypoints that `windows` admit. All of them have a band, or none.
absl::Status LaunchWindowMatch(const MatchParams& params, const MatchWindows& windows,
                               cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MATCHING_MATCH_KERNEL_H_
