// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matching of descriptors on the host (features/algo/metric.h): of all pairs, or of those that
// places admit (features/algo/match_window.h). Its kernels exist twice with the same bits, as those
// of steps do (cpu/kernels/kernel_target.h).

#ifndef ORBSERVE_CPU_MATCHING_MATCH_DESCRIPTORS_H_
#define ORBSERVE_CPU_MATCHING_MATCH_DESCRIPTORS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "cpu/matching/place_strips.h"
#include "features/algo/match_window.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve::cpu {

// One neighbour: distance in the upper half, train index in the lower, so that the smaller
// value is the nearer neighbour and, at equal distance, the lower index.
using Neighbour = uint64_t;
inline constexpr Neighbour kNoNeighbour = ~Neighbour{0};
constexpr Neighbour MakeNeighbour(uint32_t distance, uint32_t train_index) {
  return (static_cast<Neighbour>(distance) << 32) | train_index;
}
constexpr uint32_t DistanceOf(Neighbour n) { return static_cast<uint32_t>(n >> 32); }
constexpr uint32_t TrainIndexOf(Neighbour n) { return static_cast<uint32_t>(n); }

// One side of a match by places.
struct PlacedRows {
  const uint8_t* rows = nullptr;  // descriptors
  // Places in level-0 pixels. Null where every pair is admissible.
  const float* x = nullptr;
  const float* y = nullptr;
  int count = 0;
  // Offset of the window for the queries of a match with a band, else 0: without a band the places
  // of the queries are moved already, so a search has less to add.
  float offset_x_px = 0.0f;
  float offset_y_px = 0.0f;
};

// Epipolar lines, one for each query keypoint of a match or none: the columns of
// algo::EpipolarLine.
struct EpipolarLines {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;
  std::vector<float> most;

  bool empty() const { return a.empty(); }
  void reserve(size_t count);
  void push_back(const algo::EpipolarLine& line);
  algo::EpipolarLine operator[](size_t i) const { return {a[i], b[i], c[i], most[i]}; }
};

// Lines in the order of strips, and what narrows a search of them.
struct StripLines {
  EpipolarLines lines;      // padded as the strips are
  std::vector<float> most;  // of each strip the largest of its lines
  algo::EpipolarBand epipolar;
};

// A search of `query` in `train` among the pairs that features/algo/match_window.h admits. A search
// backwards has the train side of the match as its `query`.
struct WindowSearch {
  PlacedRows query;
  PlacedRows train;
  const PlaceStrips* strips;  // of the places of `train`
  int descriptor_bytes;
  float half_side_px;    // of the window; FLT_MAX = off
  bool has_band;         // `band` has a limit, or there are lines
  algo::MatchBand band;  // seen from `query`
  // Where the match has epipolar lines: those of `query`, or in a search backwards those of
  // `train`. At most one is not null.
  const EpipolarLines* query_lines;
  const EpipolarLines* train_lines;
  const StripLines* strip_lines;  // `train_lines` for the strips
};

struct MatchKernels {
  absl::string_view name;
  // For queries [query_begin, query_end): the k nearest of `train_count` descriptors, ascending,
  // into `nearest[query * k + i]`, kNoNeighbour where there are fewer. `query`, `train`: rows of
  // `descriptor_bytes` (4, 8, 16, 32, 64 or 128). 1 <= k <= 16. `scratch` holds
  // MatchScratchBytes(train_count, descriptor_bytes), 64-byte aligned, prepared once for the train
  // set by `prepare_train` and then shared by any number of threads.
  void (*prepare_train)(const uint8_t* train, int train_count, int descriptor_bytes,
                        uint8_t* scratch);
  void (*nearest)(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
                  int train_count, int descriptor_bytes, int k, const uint8_t* scratch,
                  Neighbour* nearest);
  // Finds the nearest among the admissible pairs of `search`. It needs no scratch.
  void (*nearest_in_window)(const WindowSearch& search, int query_begin, int query_end, int k,
                            Neighbour* nearest);
};

// Bytes that prepare_train may fill: a transposed copy of the train set, two bits for each of its
// bits, and four bytes for each descriptor, padded to blocks of 512 descriptors.
constexpr int64_t MatchScratchBytes(int train_count, int descriptor_bytes) {
  return (static_cast<int64_t>(train_count) + 511) / 512 * 512 * (descriptor_bytes * 2 + 4);
}

const MatchKernels& ReferenceMatchKernels();
const MatchKernels& SimdMatchKernels();
std::vector<const MatchKernels*> AllSimdMatchKernels();

// Who runs the parts of a match.
class MatchSlices {
 public:
  virtual ~MatchSlices() = default;
  // Calls `slice(begin, end)` for ranges that make up [0, count), in any order and from several
  // threads at a time, and returns when all of them have returned. `size`: what a range should have
  // at least, and where others wait for the threads also at most.
  virtual void ForEach(int count, int size, absl::FunctionRef<void(int, int)> slice) = 0;
};

// The threads of the calling arena.
class ArenaSlices final : public MatchSlices {
 public:
  void ForEach(int count, int size, absl::FunctionRef<void(int, int)> slice) override;
};

// Matches the rows of `query` with those of `train` under `options`. Both have the same
// `descriptor_bytes` > 0. nullopt when `cancelled`, which may be null, was seen to be true; it is
// looked at before each slice.
std::optional<Matches> MatchDescriptors(const MatchKernels& kernels, const Features& query,
                                        const Features& train, const MatchOptions& options,
                                        const std::atomic<bool>* cancelled, MatchSlices& slices);

// Matches in the calling arena, without cancellation.
Matches MatchDescriptors(const MatchKernels& kernels, const Features& query, const Features& train,
                         const MatchOptions& options);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MATCHING_MATCH_DESCRIPTORS_H_
