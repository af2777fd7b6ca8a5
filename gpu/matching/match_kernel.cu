// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: two sets of descriptors. Out: the nearest rows of the one for each row of the other by their
// metric (features/algo/metric.h), the lowest index first among equals.
//
// Up to two neighbours of 256-bit descriptors and of vectors of 128 bytes: match_tiles.cuh.
//
// Up to two neighbours of 32-bit descriptors: a lane has a query, the same 32 queries in each warp
// of a block; the warps share out the train descriptors, which all lanes read at once, four a load.
// The results of a block go to the host in one piece: single ones took longer than the search.
//
// More neighbours, or other descriptors: a warp per query measures distances, each lane keeps its
// own best, and the warp draws the smallest one k times.
//
// By places (features/algo/match_window.h): the same with any number of neighbours. Each lane reads
// the places of train keypoints first, a few at a time, and the descriptors of the admissible ones
// only, so most pairs cost the reading and comparison of a place.

#include "gpu/matching/match_kernel.h"

#include <type_traits>

#include "features/algo/match_window.h"
#include "features/host_device.h"
#include "gpu/matching/match_direction.cuh"
#include "gpu/matching/match_tiles.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWordWarps = 8;
constexpr int kWordDescriptorBytes = 4;

// blockIdx.x: 32 queries, y: pair and direction.
__global__ __launch_bounds__(kWordWarps* kWarpLanes) void MatchWordsKernel(
    const __grid_constant__ MatchParams params) {
  __shared__ TwoBest<uint32_t> warp_best[kWordWarps][kWarpLanes];
  Direction pair;
  if (!FindDirection(params, static_cast<int>(blockIdx.y), &pair)) return;
  const int first_query = static_cast<int>(blockIdx.x) * kWarpLanes;
  if (first_query >= pair.query_count) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int query = first_query + lane;
  const uint32_t word =
      query < pair.query_count ? reinterpret_cast<const uint32_t*>(pair.query)[query] : 0;
  TwoBest<uint32_t> best = {kNoPackedNeighbour, kNoPackedNeighbour};
  const auto add = [&](uint32_t train, int index) {
    best.Add(static_cast<uint32_t>(__popc(word ^ train)) * kOne + static_cast<uint32_t>(index));
  };
  const int quads = pair.train_count / 4;
#pragma unroll 4
  for (int i = warp; i < quads; i += kWordWarps) {
    const uint4 trains = reinterpret_cast<const uint4*>(pair.train)[i];
    add(trains.x, 4 * i);
    add(trains.y, 4 * i + 1);
    add(trains.z, 4 * i + 2);
    add(trains.w, 4 * i + 3);
  }
  const int last = 4 * quads + warp;
  if (last < pair.train_count) add(reinterpret_cast<const uint32_t*>(pair.train)[last], last);
  warp_best[warp][lane] = best;
  __syncthreads();  // every warp has put in its best
  if (warp != 0 || query >= pair.query_count) return;
#pragma unroll
  for (int w = 1; w < kWordWarps; ++w) best.Add(warp_best[w][lane]);
  StoreNearest(pair, query, best);
}

constexpr int kSearchWarps = 4;
constexpr int kMaxNeighbours = 16;
// Train places that a lane reads before it compares them, so that it waits for memory once.
constexpr int kPlacesAtOnce = 4;

__device__ __forceinline__ uint32_t SmallestOfWarp(uint32_t n) { return WarpMin(n); }
__device__ __forceinline__ uint64_t SmallestOfWarp(uint64_t n) {
  return JoinOfWarp(n, [](uint64_t a, uint64_t b) { return Min(a, b); });
}

// The nearest that one lane has met, ascending.
template <int kMax, typename Neighbour>
struct NearestList {
  Neighbour entry[kMax];

  __device__ __forceinline__ NearestList() {
#pragma unroll
    for (int i = 0; i < kMax; ++i) entry[i] = kNobody<Neighbour>;
  }

  __device__ __forceinline__ void Add(uint32_t distance, int train) {
    Neighbour candidate =
        Neighbour{distance} << kIndexBits<Neighbour> | static_cast<uint32_t>(train);
    if (candidate >= entry[kMax - 1]) return;
      // A sorted list takes the candidate in and pushes its last out.
#pragma unroll
    for (int i = 0; i < kMax; ++i) {
      const Neighbour smaller = min(entry[i], candidate);
      candidate = max(entry[i], candidate);
      entry[i] = smaller;
    }
  }

  // Writes the k nearest of all lanes of the warp, k <= kMax, which takes them out of the lists.
  __device__ __forceinline__ void Store(int lane, int k, Neighbour* nearest) {
    for (int i = 0; i < k; ++i) {
      const Neighbour smallest = SmallestOfWarp(entry[0]);
      if (lane == 0) nearest[i] = smallest;
      if (entry[0] == smallest) {
#pragma unroll
        for (int j = 0; j + 1 < kMax; ++j) entry[j] = entry[j + 1];
        entry[kMax - 1] = kNobody<Neighbour>;
      }
    }
  }
};

// A descriptor in registers.
template <int kWords>
struct RowWords {
  static constexpr bool kIsVector = algo::MetricOf(4 * kWords) == algo::Metric::kSquaredEuclidean;
  using Neighbour = std::conditional_t<kIsVector, WideNeighbour, PackedNeighbour>;

  uint32_t word[kWords];

  // `rows`: aligned to a row.
  __device__ __forceinline__ RowWords(const uint8_t* rows, int row) {
    if constexpr (kWords == 1) {
      word[0] = reinterpret_cast<const uint32_t*>(rows)[row];
    } else if constexpr (kWords == 2) {
      const uint2 both = reinterpret_cast<const uint2*>(rows)[row];
      word[0] = both.x;
      word[1] = both.y;
    } else {
      static_assert(kWords % 4 == 0);
      constexpr int kParts = kWords / 4;
      const uint4* const at =
          reinterpret_cast<const uint4*>(rows) + static_cast<int64_t>(row) * kParts;
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const uint4 part = at[i];
        word[4 * i] = part.x;
        word[4 * i + 1] = part.y;
        word[4 * i + 2] = part.z;
        word[4 * i + 3] = part.w;
      }
    }
  }

  __device__ __forceinline__ uint32_t Distance(const RowWords& other) const {
    uint32_t distance = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if constexpr (kIsVector) {
        const uint32_t difference = __vabsdiffu4(word[i], other.word[i]);
        distance = __dp4a(difference, difference, distance);
      } else {
        distance += static_cast<uint32_t>(__popc(word[i] ^ other.word[i]));
      }
    }
    return distance;
  }
};

// The k <= kMax nearest rows of `train` for row `row` of `query`; a whole warp.
template <int kMax, int kWords>
__device__ void SearchRow(const uint8_t* query, int row, const uint8_t* train, int train_count,
                          int k, void* nearest) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const RowWords<kWords> mine(query, row);
  using Neighbour = typename RowWords<kWords>::Neighbour;
  NearestList<kMax, Neighbour> list;
  for (int t = lane; t < train_count; t += kWarpLanes) {
    list.Add(mine.Distance(RowWords<kWords>(train, t)), t);
  }
  list.Store(lane, k, static_cast<Neighbour*>(nearest) + static_cast<int64_t>(row) * k);
}

// One side of a search by places.
struct PlacedSide {
  const uint8_t* rows;
  int count;
  const MatchPlaces& places;
};

// The band and the epipolar lines of a search from one side.
struct BandOfSide {
  const algo::MatchBand& band;
  const algo::EpipolarBand& epipolar;
  bool backwards;  // the side is the train side of the match
  float x;         // place of the row that searches
  float y;
  algo::EpipolarLine line;  // of the row, unless `backwards`

  __device__ __forceinline__ BandOfSide(const algo::MatchBand& of, const WindowPair& window,
                                        bool from_train, float place_x, float place_y)
      : band(of),
        epipolar(window.epipolar),
        backwards(from_train),
        x(place_x),
        y(place_y),
        line(window.epipolar.LineOf(place_x, place_y)) {}

  __device__ __forceinline__ bool Admits(float candidate_x, float candidate_y) const {
    if (!algo::IsInBand(band, x, y, candidate_x, candidate_y)) return false;
    if (epipolar.max_px == 0.0f) return true;
    return backwards ? algo::IsNearLine(epipolar.LineOf(candidate_x, candidate_y), x, y)
                     : algo::IsNearLine(line, candidate_x, candidate_y);
  }
};

// The k <= kMax nearest admissible rows of `train` for row `row` of `query`; a whole warp. `band`:
// seen from `query`; `backwards`: `query` is the train side of the match.
template <int kMax, int kWords, bool kBand>
__device__ void SearchWindow(const PlacedSide& query, int row, const PlacedSide& train,
                             const WindowPair& window, const algo::MatchBand& band, bool backwards,
                             int k, void* nearest) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const RowWords<kWords> mine(query.rows, row);
  const float x = query.places.x[row] + query.places.offset_x_px;
  const float y = query.places.y[row] + query.places.offset_y_px;
  const float half_side_px = window.half_side_px;
  const BandOfSide of_side(band, window, backwards, query.places.x[row], query.places.y[row]);
  using Neighbour = typename RowWords<kWords>::Neighbour;
  NearestList<kMax, Neighbour> list;
  for (int first = lane; first < train.count; first += kPlacesAtOnce * kWarpLanes) {
    float train_x[kPlacesAtOnce];
    float train_y[kPlacesAtOnce];
#pragma unroll
    for (int i = 0; i < kPlacesAtOnce; ++i) {
      // Past the end the last place stands for the others, which are not compared.
      const int t = min(first + i * kWarpLanes, train.count - 1);
      train_x[i] = train.places.x[t];
      train_y[i] = train.places.y[t];
    }
#pragma unroll
    for (int i = 0; i < kPlacesAtOnce; ++i) {
      const int t = first + i * kWarpLanes;
      if (t >= train.count ||
          !algo::IsNear(half_side_px, train_x[i] + train.places.offset_x_px, x) ||
          !algo::IsNear(half_side_px, train_y[i] + train.places.offset_y_px, y)) {
        continue;
      }
      if (kBand && !of_side.Admits(train_x[i], train_y[i])) continue;
      list.Add(mine.Distance(RowWords<kWords>(train.rows, t)), t);
    }
  }
  list.Store(lane, k, static_cast<Neighbour*>(nearest) + static_cast<int64_t>(row) * k);
}

// blockIdx.x: rows of both sides, a warp each, y: pair.
template <int kMax, int kWords, bool kBand>
__global__ __launch_bounds__(kSearchWarps* kWarpLanes) void SearchWindowKernel(
    const __grid_constant__ MatchParams params, const __grid_constant__ MatchWindows windows) {
  const MatchPair& pair = params.pair[blockIdx.y];
  const WindowPair& window = windows.pair[blockIdx.y];
  const PlacedSide query = {pair.query, pair.query_count, window.query};
  const PlacedSide train = {pair.train, pair.train_count, window.train};
  const int row =
      static_cast<int>(blockIdx.x) * kSearchWarps + static_cast<int>(threadIdx.x) / kWarpLanes;
  if (row < pair.query_count) {
    SearchWindow<kMax, kWords, kBand>(query, row, train, window, window.band, window.backwards,
                                      params.k, pair.nearest);
  }
  if (pair.reverse != nullptr && row < pair.train_count) {
    SearchWindow<kMax, kWords, kBand>(train, row, query, window, window.band.Backwards(),
                                      !window.backwards, 1, pair.reverse);
  }
}

// The parameters of a launch, most of which are windows, must fit.
static_assert(sizeof(MatchParams) + sizeof(MatchWindows) <= 4096);

template <int kMax, int kWords>
__global__ __launch_bounds__(kSearchWarps* kWarpLanes) void SearchKernel(
    const __grid_constant__ MatchParams params) {
  const MatchPair& pair = params.pair[blockIdx.y];
  const int row =
      static_cast<int>(blockIdx.x) * kSearchWarps + static_cast<int>(threadIdx.x) / kWarpLanes;
  if (row < pair.query_count) {
    SearchRow<kMax, kWords>(pair.query, row, pair.train, pair.train_count, params.k, pair.nearest);
  }
  if (pair.reverse != nullptr && row < pair.train_count) {
    SearchRow<kMax, kWords>(pair.train, row, pair.query, pair.query_count, 1, pair.reverse);
  }
}

// The largest numbers of rows of all pairs, and whether any wants its reverse.
struct Sides {
  int queries = 0;
  int trains = 0;
  bool reverse = false;
};

Sides LargestSides(const MatchParams& params) {
  Sides sides;
  for (int i = 0; i < params.pairs; ++i) {
    sides.queries = Max(sides.queries, params.pair[i].query_count);
    sides.trains = Max(sides.trains, params.pair[i].train_count);
    sides.reverse = sides.reverse || params.pair[i].reverse != nullptr;
  }
  return sides;
}

// Search kernels have a warp a row and a row of blocks a pair.
dim3 SearchGrid(const MatchParams& params) {
  const auto [queries, trains, reverse] = LargestSides(params);
  return dim3(DivUp(reverse ? Max(queries, trains) : queries, kSearchWarps), params.pairs);
}

template <int kMax, int kWords>
absl::Status LaunchSearchOf(const MatchParams& params, const MatchWindows* windows,
                            cudaStream_t stream) {
  const dim3 grid = SearchGrid(params);
  if (windows == nullptr) {
    SearchKernel<kMax, kWords><<<grid, kSearchWarps * kWarpLanes, 0, stream>>>(params);
    return CheckLaunch("SearchKernel");
  }
  if (windows->pair[0].has_band) {
    SearchWindowKernel<kMax, kWords, true>
        <<<grid, kSearchWarps * kWarpLanes, 0, stream>>>(params, *windows);
  } else {
    SearchWindowKernel<kMax, kWords, false>
        <<<grid, kSearchWarps * kWarpLanes, 0, stream>>>(params, *windows);
  }
  return CheckLaunch("SearchWindowKernel");
}

template <int kWords>
absl::Status LaunchSearch(const MatchParams& params, const MatchWindows* windows,
                          cudaStream_t stream) {
  return params.k <= 2 ? LaunchSearchOf<2, kWords>(params, windows, stream)
                       : LaunchSearchOf<kMaxNeighbours, kWords>(params, windows, stream);
}

// `windows`: null = everywhere.
absl::Status LaunchSearchOfSize(const MatchParams& params, const MatchWindows* windows,
                                cudaStream_t stream) {
  switch (params.descriptor_bytes) {
    case 4:
      return LaunchSearch<1>(params, windows, stream);
    case 8:
      return LaunchSearch<2>(params, windows, stream);
    case 16:
      return LaunchSearch<4>(params, windows, stream);
    case 32:
      return LaunchSearch<8>(params, windows, stream);
    case 64:
      return LaunchSearch<16>(params, windows, stream);
    default:
      return LaunchSearch<algo::kVectorBytes / 4>(params, windows, stream);
  }
}

}  // namespace

bool MatchUsesTensorCores(const MatchParams& params) {
  return params.tensor_cores && params.k <= 2 &&
         (params.descriptor_bytes == kDescriptorBits / 8 ||
          params.descriptor_bytes == algo::kVectorBytes);
}

absl::Status LaunchMatch(MatchParams params, cudaStream_t stream) {
  if (params.pairs == 0) return absl::OkStatus();
  const auto [queries, trains, reverse] = LargestSides(params);
  const int rows = reverse ? Max(queries, trains) : queries;
  params.directions = reverse ? 2 : 1;
  const int searches = params.directions * params.pairs;
  if (params.descriptor_bytes == kWordDescriptorBytes && params.k <= 2) {
    const dim3 grid(DivUp(rows, kWarpLanes), searches);
    MatchWordsKernel<<<grid, kWordWarps * kWarpLanes, 0, stream>>>(params);
    return CheckLaunch("MatchWordsKernel");
  }
  if (!MatchUsesTensorCores(params)) return LaunchSearchOfSize(params, nullptr, stream);
  const bool two_tiles = reverse || !params.split_trains ||
                         DivUp(rows, kMaxBlockQueries) * params.pairs >= params.multiprocessors;
  const int query_blocks = DivUp(rows, (two_tiles ? kTilesOfTwo : kTilesAlone) * kTileQueries);
  const int searched = reverse ? rows : trains;
  // If there is more than one split, the number of multiprocessors bounds the grid, and the grid
  // bounds tickets and scratch.
  params.train_splits = params.split_trains
                            ? Clamp(params.multiprocessors / (query_blocks * searches), 1,
                                    Min(DivUp(searched, kLeastTrains), kMaxTrainSplits))
                            : 1;
  const dim3 grid(query_blocks, params.train_splits, searches);
  if (params.descriptor_bytes == algo::kVectorBytes) {
    if (two_tiles) {
      MatchVectorTilesKernel<kTilesOfTwo><<<grid, kThreads, 0, stream>>>(params);
    } else {
      MatchVectorTilesKernel<kTilesAlone><<<grid, kThreads, 0, stream>>>(params);
    }
    return CheckLaunch("MatchVectorTilesKernel");
  }
  if (two_tiles) {
    MatchTilesKernel<kTilesOfTwo><<<grid, kThreads, 0, stream>>>(params);
  } else {
    MatchTilesKernel<kTilesAlone><<<grid, kThreads, 0, stream>>>(params);
  }
  return CheckLaunch("MatchTilesKernel");
}

absl::Status LaunchWindowMatch(const MatchParams& params, const MatchWindows& windows,
                               cudaStream_t stream) {
  if (params.pairs == 0) return absl::OkStatus();
  return LaunchSearchOfSize(params, &windows, stream);
}

}  // namespace orbserve::gpu
