// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: response maps of (frame, level), and of corner maps the best response of each frame. Out: per
// (frame, level) the corners that are kept, in any order, and the number of passes. Arithmetic:
// features/algo/distance_grid.h (paper 5, sec. 3.1, 3.3, 3.4), which divides a level into
// cells that hold one corner at most.
//
// Data decides the number of passes: a dozen on photographs, hundreds where responses fall along a
// line or are equal everywhere. The launches are the same for all of them. With cells of up to
// 16 x 16 places:
//
//   1. LaunchTilePasses(): all passes over tiles of cells, one block a tile. Cells that depend
//      on what lies beyond what their blocks know are listed: none or a few on photographs.
//   2. LastPassesKernel: the listed cells. Where they are very few, one block decides them from
//      the cells round them (features/algo/distance_rest.h). Else it does the passes for them,
//      from the first one on. Decided cells round them take part with the corners that they are
//      known to get (they "follow"). A level of a frame has one block, or one cluster of blocks
//      where there are many cells and the device has clusters. Barriers part the halves of a
//      pass. Cells that stay undecided go to a second list. It ends when the list is empty.
//
// With larger cells, which are fewer:
//
//   1. DistanceCellsKernel: the best candidate of each cell, one warp a cell.
//   2. InsideKernel and OutsideKernel, the halves of a pass, for each of the first passes. All
//      cells have warps, and the ends of launches part the halves. The last of them lists the
//      cells that are still undecided.
//   3. LastPassesKernel: all other passes.
//
// No kernel waits for a block that may not be running: the blocks of a cluster start together. So
// batches of other lanes cannot hold it up, as they could a barrier of a whole grid.

#include "gpu/steps/suppress/minimum_distance.h"

#include <algorithm>

#include "features/algo/distance_rest.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/suppress/distance_levels.cuh"
#include "gpu/steps/suppress/distance_tiles.h"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 256;  // of kernels that have threads for all cells
// Threads of a block of the last passes. A larger block would wait for a multiprocessor of its own.
constexpr int kLastThreads = 512;
constexpr int kMaxClusterBlocks = 8;  // every device with clusters has as many

// Lanes that share a cell which tiles have left: most have eight neighbours.
constexpr int kLanesOfTiledCells = 8;
// This version decides cells without passes.
constexpr int kLanesOfRest = kWarpLanes;

// kCount lanes of a warp that work on one cell together (algo::OneLane names the functions).
// Groups of a warp take ways of their own. `kAlone`: no other block works on their level meanwhile.
template <int kCount, bool kAlone>
class WarpLanes {
 public:
  static constexpr int kLanes = kCount;

  __device__ __forceinline__ WarpLanes()
      : lane_(static_cast<int>(threadIdx.x % kCount)),
        first_(static_cast<int>(threadIdx.x % kWarpLanes) - lane_),
        mask_((kCount == kWarpLanes ? kFullWarp : (1u << (kCount % kWarpLanes)) - 1) << first_) {}

  __device__ __forceinline__ int lane() const { return lane_; }
  __device__ __forceinline__ bool Any(bool value) const {
    return kCount == 1 ? value : __any_sync(mask_, value) != 0;
  }
  __device__ __forceinline__ uint32_t Or(uint32_t value) const {
#pragma unroll
    for (int distance = kCount / 2; distance > 0; distance /= 2) {
      value |= __shfl_xor_sync(mask_, value, distance);
    }
    return value;
  }
  __device__ __forceinline__ uint64_t Least(uint64_t value) const {
#pragma unroll
    for (int distance = kCount / 2; distance > 0; distance /= 2) {
      value = Min<uint64_t>(
          value, __shfl_xor_sync(mask_, static_cast<unsigned long long>(value), distance));
    }
    return value;
  }
  __device__ __forceinline__ uint32_t Ballot(bool value) const {
    return kCount == 1 ? (value ? 1u : 0u) : (__ballot_sync(mask_, value) & mask_) >> first_;
  }
  __device__ __forceinline__ uint32_t Broadcast(uint32_t value, int lane) const {
    return kCount == 1 ? value : __shfl_sync(mask_, value, lane, kCount);
  }
  __device__ __forceinline__ void Sync() const {
    if (kCount > 1) __syncwarp(mask_);
  }
  // Past the first-level cache, which may hold what other blocks of the cluster have replaced.
  template <typename T>
  __device__ __forceinline__ T Load(const T* from) const {
    if constexpr (kAlone) return *from;
    return *static_cast<const volatile T*>(from);
  }

 private:
  int lane_;
  int first_;  // of the group's lanes in the warp
  unsigned mask_;
};

// The warp's cell in it; the last block has warps without a cell.
using WideLanes = WarpLanes<kWarpLanes, false>;
constexpr int kCellsPerBlock = kThreads / kWarpLanes;
__device__ __forceinline__ int CellOfWarp(const DistanceParams::Level& level) {
  return (static_cast<int>(blockIdx.x) - level.first_block) * kCellsPerBlock +
         static_cast<int>(threadIdx.x) / kWarpLanes;
}

template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void DistanceCellsKernel(
    const __grid_constant__ DistanceParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const FrameCounters& counters = params.frames.counters[frame_index];
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceGrid& grid = data.level.grid;
  const int i = CellOfWarp(data.level);
  if (i >= grid.count()) return;  // the whole warp; no barrier follows
  const WideLanes lanes;
  const uint64_t best =
      algo::BestOfCell(grid, MakePlaces<kCompressed>(params, frame, counters, frame_index, l),
                       i % grid.columns, i / grid.columns, lanes);
  if (lanes.lane() == 0) {
    data.best[i] = best;
    data.inside[i] = 0;
  }
}

// Half a of a pass.
template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void InsideKernel(
    const __grid_constant__ DistanceParams params, int pass) {
  __shared__ int block_corners;
  __shared__ int list_begin;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceGrid& grid = data.level.grid;
  const int i = CellOfWarp(data.level);
  const WideLanes lanes;
  const uint64_t own = i < grid.count() ? lanes.Load(data.best + i) : algo::kNoCandidate;
  if (threadIdx.x == 0) block_corners = 0;
  // No corner is counted yet. Most blocks of late passes end here: nothing is undecided.
  if (__syncthreads_or(own != algo::kNoCandidate) == 0) return;

  const bool becomes_inside =
      own != algo::kNoCandidate &&
      algo::BestBecomesInside(grid,
                              MakePlaces<kCompressed>(params, frame, counters, frame_index, l),
                              data.best, own, lanes);
  const bool stores = becomes_inside && lanes.lane() == 0;
  int place = 0;
  if (stores) {
    data.inside[i] = algo::InsideEntryOf(grid, own, pass);
    place = atomicAdd(&block_corners, 1);
  }
  __syncthreads();  // all corners of the block are counted
  if (threadIdx.x == 0 && block_corners > 0) {
    list_begin = atomicAdd(&counters.corners[l], block_corners);
    atomicMax(&counters.suppression_passes[l], pass);
  }
  __syncthreads();  // the block has its part of the list
  if (stores) {
    StoreCorner(params.sink, params.images, frame, frame_index, l, counters, list_begin + place,
                own, static_cast<int>(threadIdx.x / kWarpLanes));
  }
}

// Half b of a pass.
template <bool kCompressed>
__global__ __launch_bounds__(kThreads) void OutsideKernel(
    const __grid_constant__ DistanceParams params, int pass, bool lists) {
  __shared__ int block_cells;
  __shared__ int list_begin;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  const FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceGrid& grid = data.level.grid;
  const int i = CellOfWarp(data.level);
  const WideLanes lanes;
  const uint64_t own = i < grid.count() ? lanes.Load(data.best + i) : algo::kNoCandidate;
  uint64_t best = algo::kNoCandidate;
  if (own != algo::kNoCandidate) {
    best = algo::RemoveConflicts(grid,
                                 MakePlaces<kCompressed>(params, frame, counters, frame_index, l),
                                 data.inside, i % grid.columns, i / grid.columns, own, pass, lanes);
    if (lanes.lane() == 0 && best != own) data.best[i] = best;
  }
  if (!lists) return;

  const bool is_listed = best != algo::kNoCandidate && lanes.lane() == 0;
  if (threadIdx.x == 0) block_cells = 0;
  __syncthreads();  // no cell is counted yet
  int place = 0;
  if (is_listed) place = atomicAdd(&block_cells, 1);
  __syncthreads();  // all undecided cells of the block are counted
  if (threadIdx.x == 0 && block_cells > 0) {
    list_begin = atomicAdd(&data.list_count[0], block_cells);
  }
  __syncthreads();  // the block has its part of the list
  if (is_listed) data.list[0][list_begin + place] = i;
}

// Waits for all threads of the cluster, or of the block where there are no clusters. What they have
// written can be read afterwards.
__device__ __forceinline__ void SyncCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#else
  __syncthreads();
#endif
}

// Prepares the cells that tiles have left undecided, and lists the cells that follow them as
// their complements, which are negative: decided ones with candidates, not farther away than a
// candidate reaches. Counts them in *followers.
template <typename Lanes, typename Places>
__device__ void ListFollowers(const LevelData& data, const Places& places, int undecided, int group,
                              int groups, int32_t* followers, const Lanes& lanes) {
  const algo::DistanceGrid& grid = data.level.grid;
  const int reach = grid.CellReach();
  // Calls visit(cell) for those near cell i, row by row, until it returns true.
  const auto visit_near = [&](int i, const auto& visit) {
    const int column = i % grid.columns;
    const int row = i / grid.columns;
    const int last_column = min(column + reach, grid.columns - 1);
    const int last_row = min(row + reach, grid.rows - 1);
    for (int r = max(row - reach, 0); r <= last_row; ++r) {
      for (int c = max(column - reach, 0); c <= last_column; ++c) {
        if (visit(r * grid.columns + c)) return;
      }
    }
  };
  const auto is_undecided = [&](int i) {
    return lanes.Load(data.inside + i) == algo::kUndecidedCell;
  };
  for (int n = group; n < undecided; n += groups) {
    const int own = lanes.Load(data.list[0] + n);
    visit_near(own, [&](int i) {
      if (i != own) {
        // Only the first undecided cell near it lists a follower.
        int first = -1;
        if (is_undecided(i)) return false;
        visit_near(i, [&](int other) {
          first = other;
          return is_undecided(other);
        });
        if (first != own) return false;
      }
      const uint64_t best =
          algo::BestOfCell(grid, places, i % grid.columns, i / grid.columns, lanes);
      if (lanes.lane() == 0) {
        data.best[i] = best;
        if (i != own && best != algo::kNoCandidate) {
          data.list[0][undecided + atomicAdd(followers, 1)] = ~i;
        }
      }
      return false;
    });
  }
}

// The passes from `first_pass` on over the cells of list 0 by `groups` groups of lanes, of blocks
// that `sync` waits for. `number`: their number. `counts`: three that take turns, of which
// counts[read] and the next one may be written. Returns the last pass in which this thread stored a
// corner, or 0.
template <typename Lanes, typename Places, typename Sync>
__device__ int DoPasses(const DistanceParams& params, const FrameParams& frame,
                        FrameCounters& counters, int frame_index, int l, const LevelData& data,
                        const Places& places, int first_pass, int number, int group, int groups,
                        bool leads, int32_t* counts, int read, const Lanes& lanes,
                        const Sync& sync) {
  const algo::DistanceGrid& grid = data.level.grid;
  int last_pass = 0;
  int32_t* from = data.list[0];
  int32_t* to = data.list[1];
  for (int pass = first_pass; number > 0 && (params.max_passes == 0 || pass <= params.max_passes);
       ++pass) {
    const int filled = (read + 1) % 3;
    // Read for the last time two barriers ago, and counted up from the barrier after the next on.
    if (leads) counts[(read + 2) % 3] = 0;
    for (int n = group; n < number; n += groups) {
      const int i = lanes.Load(from + n);
      if (i < 0) continue;  // follows
      const uint64_t own = lanes.Load(data.best + i);
      if (!algo::BestBecomesInside(grid, places, data.best, own, lanes)) continue;
      if (lanes.lane() == 0) {
        data.inside[i] = algo::InsideEntryOf(grid, own, pass);
        StoreCorner(params.sink, params.images, frame, frame_index, l, counters,
                    atomicAdd(&counters.corners[l], 1), own,
                    static_cast<int>(threadIdx.x / kWarpLanes));
        last_pass = pass;
      }
    }
    sync();  // all new inside places are there
    for (int n = group; n < number; n += groups) {
      const int entry = lanes.Load(from + n);
      const int i = entry < 0 ? ~entry : entry;
      const uint64_t own = lanes.Load(data.best + i);
      const uint64_t best = algo::RemoveConflicts(grid, places, data.inside, i % grid.columns,
                                                  i / grid.columns, own, pass, lanes);
      if (lanes.lane() == 0) {
        if (best != own) data.best[i] = best;
        if (best != algo::kNoCandidate) to[atomicAdd(&counts[filled], 1)] = entry;
      }
    }
    sync();  // the next list and its count are complete
    int32_t* const emptied = from;
    from = to;
    to = emptied;
    read = filled;
    number = lanes.Load(counts + read);
  }
  return last_pass;
}

// Decides the cells of list 0, which tiles have left, by one block.
template <typename Places>
__device__ void DecideRest(const DistanceParams& params, const FrameParams& frame,
                           FrameCounters& counters, int frame_index, int l, const LevelData& data,
                           const Places& places, int number) {
  __shared__ uint32_t entries[kMaxRest];  // inside entries as a step has found them
  const algo::DistanceGrid& grid = data.level.grid;
  const WarpLanes<kLanesOfRest, true> lanes;
  const int thread = static_cast<int>(threadIdx.x);
  const auto for_rest = [&](const auto& visit) {
    for (int n = thread / kLanesOfRest; n < number; n += kLastThreads / kLanesOfRest) {
      const int i = data.list[0][n];
      visit(n, i, i % grid.columns, i / grid.columns, data.inside[i]);
    }
  };
  // Stores what a step has found. True in all threads if `goes_on(entry)` is for one of them.
  const auto store = [&](const auto& goes_on) {
    __syncthreads();  // all cells have read, and what they found is there
    bool any = false;
    for (int n = thread; n < number; n += kLastThreads) {
      data.inside[data.list[0][n]] = entries[n];
      any = any || goes_on(entries[n]);
    }
    return __syncthreads_or(any ? 1 : 0) != 0;  // all entries are stored
  };
  bool goes_on = true;
  while (goes_on) {
    for_rest([&](int /*n*/, int i, int column, int row, uint32_t entry) {
      if (entry != algo::kUndecidedCell) return;
      const uint64_t best = algo::BestOfRest(grid, places, data.inside, column, row, lanes);
      if (lanes.lane() == 0) data.best[i] = best;
    });
    __syncthreads();  // the bests of all undecided cells are there
    for_rest([&](int n, int i, int column, int row, uint32_t entry) {
      if (entry == algo::kUndecidedCell) {
        const uint64_t own = data.best[i];
        if (own == algo::kNoCandidate) {
          entry = 0;
        } else if (algo::RestBecomesInside(grid, data.best, data.inside, column, row, own, lanes)) {
          entry = algo::InsideEntryOf(grid, own, algo::kUnknownPass);
        }
      }
      if (lanes.lane() == 0) entries[n] = entry;
    });
    goes_on = store([](uint32_t entry) { return entry == algo::kUndecidedCell; });
  }
  const auto is_unknown = [](uint32_t entry) {
    return entry != 0 && algo::InsidePass(entry) == algo::kUnknownPass;
  };
  goes_on = true;
  while (goes_on) {
    for_rest([&](int n, int /*i*/, int column, int row, uint32_t entry) {
      if (is_unknown(entry)) {
        const int pass = algo::RestPass(grid, places, data.inside, column, row, lanes);
        entry = algo::InsideEntry(pass, algo::InsidePlace(entry));
      }
      if (lanes.lane() == 0) entries[n] = entry;
    });
    goes_on = store(is_unknown);
  }
  for (int n = thread; n < number; n += kLastThreads) {
    const uint32_t entry = entries[n];
    if (entry == 0) continue;
    const int i = data.list[0][n];
    const int side = grid.rule.cell_side;
    const int place = algo::InsidePlace(entry);
    const uint64_t key = places.Key(lanes, grid.u_begin + i % grid.columns * side + place % side,
                                    grid.v_begin + i / grid.columns * side + place / side);
    StoreCorner(params.sink, params.images, frame, frame_index, l, counters,
                atomicAdd(&counters.corners[l], 1), key, thread / kWarpLanes);
    atomicMax(&counters.suppression_passes[l], algo::InsidePass(entry));
  }
}

// Blocks [l * cluster_blocks, (l + 1) * cluster_blocks) of a frame are the cluster of its level l.
// `after_tiles`: list 0 has what tiles have left; else what the passes before first_pass have left.
template <int kLanes, bool kCompressed>
__global__ __launch_bounds__(kLastThreads) void LastPassesKernel(
    const __grid_constant__ DistanceParams params, int first_pass, int cluster_blocks,
    bool after_tiles) {
  constexpr int kGroups = kLastThreads / kLanes;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole cluster
  const int l = static_cast<int>(blockIdx.x) / cluster_blocks;
  const int rank = static_cast<int>(blockIdx.x) - l * cluster_blocks;
  const LevelData data = DataOf(params, frame_index, l);
  int number = data.list_count[0];
  if (number == 0) return;  // the whole cluster
  const auto places = MakePlaces<kCompressed>(params, frame, counters, frame_index, l);
  if constexpr (kLanes == kLanesOfTiledCells) {
    if (params.DecidesAtOnce(number)) {
      if (rank == 0) DecideRest(params, frame, counters, frame_index, l, data, places, number);
      return;  // the whole block; nobody waits for it
    }
  }
  const WarpLanes<kLanes, false> lanes;
  const auto sync = [] { SyncCluster(); };
  const int group = rank * kGroups + static_cast<int>(threadIdx.x) / kLanes;
  const int groups = cluster_blocks * kGroups;
  const bool leads = rank == 0 && threadIdx.x == 0;
  int read = 0;
  if (after_tiles) {
    ListFollowers(data, places, number, group, groups, data.list_count + 1, lanes);
    sync();  // the list is complete
    number += lanes.Load(data.list_count + 1);
    read = 1;
  }
  const int last_pass = DoPasses(params, frame, counters, frame_index, l, data, places, first_pass,
                                 number, group, groups, leads, data.list_count, read, lanes, sync);
  if (last_pass > 0) atomicMax(&counters.suppression_passes[l], last_pass);
}

struct ClusterLaunch {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute cluster = {};

  ClusterLaunch(dim3 grid, int cluster_blocks, cudaStream_t stream) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(cluster_blocks);
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    config.gridDim = grid;
    config.blockDim = dim3(kLastThreads);
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
};

// Blocks of the largest cluster that the current device runs `kernel` in, 1 where it has none. The
// code must be of 9.0 or newer, besides the device: older code has no cluster barrier.
absl::StatusOr<int> MostClusterBlocks(int device, const void* kernel) {
  int has_clusters = 0;
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device));
  cudaFuncAttributes attributes;
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaFuncGetAttributes(&attributes, kernel));
  if (has_clusters == 0 || attributes.ptxVersion < 90) return 1;
  for (int blocks = kMaxClusterBlocks; blocks > 1; blocks /= 2) {
    const ClusterLaunch launch(dim3(static_cast<unsigned>(blocks)), blocks, nullptr);
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) == cudaSuccess) {
      if (clusters > 0) return blocks;
    } else {
      (void)cudaGetLastError();  // not sticky: the size is not possible
    }
  }
  return 1;
}

}  // namespace

absl::Status LaunchDistanceCells(const DistanceParams& params, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithCompression(params, [&](auto compressed) {
    DistanceCellsKernel<compressed.value><<<grid, kThreads, 0, stream>>>(params);
    return CheckLaunch("DistanceCellsKernel");
  });
}

absl::Status LaunchPass(const DistanceParams& params, int pass, bool lists, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithCompression(params, [&](auto compressed) -> absl::Status {
    InsideKernel<compressed.value><<<grid, kThreads, 0, stream>>>(params, pass);
    ORBSERVE_RETURN_IF_ERROR(CheckLaunch("InsideKernel"));
    if (pass == params.max_passes) return absl::OkStatus();  // nothing looks at what is left
    OutsideKernel<compressed.value><<<grid, kThreads, 0, stream>>>(params, pass, lists);
    return CheckLaunch("OutsideKernel");
  });
}

absl::Status LaunchLastPasses(const DistanceParams& params, int first_pass, int cluster_blocks,
                              cudaStream_t stream) {
  const dim3 grid(params.levels * cluster_blocks, params.frames.count);
  const bool after_tiles = params.in_tiles;
  const auto launch = [&](auto* kernel) -> absl::Status {
    if (cluster_blocks == 1) {
      kernel<<<grid, kLastThreads, 0, stream>>>(params, first_pass, cluster_blocks, after_tiles);
      return CheckLaunch("LastPassesKernel");
    }
    const ClusterLaunch cluster(grid, cluster_blocks, stream);
    return StatusFromCuda(cudaLaunchKernelEx(&cluster.config, kernel, params, first_pass,
                                             cluster_blocks, after_tiles),
                          "LastPassesKernel");
  };
  return WithCompression(params, [&](auto compressed) {
    constexpr bool kCompressed = compressed.value;
    return after_tiles ? launch(LastPassesKernel<kLanesOfTiledCells, kCompressed>)
                       : launch(LastPassesKernel<kWarpLanes, kCompressed>);
  });
}

MinimumDistanceStep::MinimumDistanceStep(const CompiledPipeline& pipeline,
                                         const LevelImageBuffers& images,
                                         const ResponseMapBuffers& maps,
                                         const CornerSinkBuffers& sink, ArenaLayout* layout)
    : images_(images), maps_(maps), sink_(sink) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  const SuppressOptions& suppress = options.suppress;
  const algo::DistanceRule rule = algo::DistanceRuleOf(
      suppress.minimum_distance_px, suppress.distance_shape == DistanceShape::kDisc,
      suppress.cornerness_compression);
  params_.is_corner_map = options.detect.detector != Detector::kFast;
  many_candidates_ = options.detect.detector == Detector::kShiTomasi;
  params_.is_compressed = rule.pixels_per_place > 1;
  params_.max_passes = suppress.max_passes;
  params_.levels = pipeline.pyramid.detecting_levels;
  int first_cell = 0;
  for (int l = 0; l < params_.levels; ++l) {
    const Region& region = pipeline.level(l).region;
    DistanceParams::Level& level = params_.level[l];
    level.grid =
        algo::DistanceGrid::Of(rule, region.x_begin, region.y_begin, region.x_end, region.y_end);
    level.region = region;
    level.first_cell = first_cell;
    const int cells = level.grid.count();
    most_cells_ = std::max(most_cells_, cells);
    first_cell += cells;
  }
  params_.cell_stride = first_cell;
  const auto cells = static_cast<size_t>(first_cell);
  best_ = layout->Add("best of cells", cells * sizeof(uint64_t));
  inside_ = layout->Add("inside places", cells * sizeof(uint32_t));
  for (BufferId& list : list_) list = layout->Add("undecided cells", cells * sizeof(int32_t));
}

absl::Status MinimumDistanceStep::AddDevice(int device,
                                            const std::shared_ptr<MemoryBudget>& /*budget*/) {
  ORBSERVE_ASSIGN_OR_RETURN(const int tile_bytes, AllowTileBytes(device, params_.is_compressed));
  tile_bytes_.push_back(tile_bytes);
  return WithCompression(params_, [&](auto compressed) -> absl::Status {
    // Both kinds of the kernel allow the same clusters.
    const auto* const kernel =
        reinterpret_cast<const void*>(LastPassesKernel<kWarpLanes, compressed.value>);
    ORBSERVE_ASSIGN_OR_RETURN(const int blocks, MostClusterBlocks(device, kernel));
    most_cluster_blocks_.push_back(blocks);
    return absl::OkStatus();
  });
}

DistanceParams MinimumDistanceStep::ParamsFor(const StepContext& context) const {
  DistanceParams params = params_;
  params.frames = context.frames;
  params.images = images_.At(context);
  params.maps = maps_.At(context);
  params.sink = sink_.At(context);
  params.best = reinterpret_cast<uint64_t*>(context.At(best_));
  params.inside = reinterpret_cast<uint32_t*>(context.At(inside_));
  for (int i = 0; i < kCellLists; ++i) {
    params.list[i] = reinterpret_cast<int32_t*>(context.At(list_[i]));
  }
  params.in_tiles =
      SetTiles(tile_bytes_[context.device_index], context.tables->multiprocessors, &params);
  if (params.in_tiles) return params;
  params.thread_blocks = 0;
  for (int l = 0; l < params.levels; ++l) {
    DistanceParams::Level& level = params.level[l];
    level.first_block = params.thread_blocks;
    params.thread_blocks += DivUp(level.grid.count(), kCellsPerBlock);
  }
  return params;
}

int MinimumDistanceStep::ClusterBlocks(const StepContext& context) const {
  int blocks = most_cluster_blocks_[context.device_index];
  // All levels of all frames at once, one block a multiprocessor.
  while (blocks > 1 &&
         blocks * params_.levels * context.frames.count > context.tables->multiprocessors) {
    blocks /= 2;
  }
  return blocks;
}

int MinimumDistanceStep::WidePasses(int cluster_blocks) const {
  // Share of the cells that a pass leaves undecided, as on photographs. Smaller eigenvalues have
  // many more candidates than Harris responses. The last passes begin when a group of lanes has
  // two cells at most.
  const float undecided_share = many_candidates_ ? 0.6f : 0.4f;
  constexpr int kMaxPasses = 8;
  const int groups = cluster_blocks * kLastThreads / kWarpLanes;
  int passes = 1;
  float cells = undecided_share * static_cast<float>(most_cells_);
  while (passes < kMaxPasses && cells > 2.0f * static_cast<float>(groups)) {
    cells *= undecided_share;
    ++passes;
  }
  return passes;
}

absl::Status MinimumDistanceStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const DistanceParams params = ParamsFor(context);
  if (params.frames.count == 0 || params.thread_blocks == 0) return absl::OkStatus();
  const int cluster_blocks = ClusterBlocks(context);
  if (params.in_tiles) {
    ORBSERVE_RETURN_IF_ERROR(LaunchTilePasses(params, stream));
    return LaunchLastPasses(params, 1, cluster_blocks, stream);
  }
  ORBSERVE_RETURN_IF_ERROR(LaunchDistanceCells(params, stream));
  const int wide_passes = WidePasses(cluster_blocks);
  for (int pass = 1; pass <= wide_passes; ++pass) {
    ORBSERVE_RETURN_IF_ERROR(LaunchPass(params, pass, pass == wide_passes, stream));
    if (pass == params.max_passes) return absl::OkStatus();
  }
  return LaunchLastPasses(params, wide_passes + 1, cluster_blocks, stream);
}

}  // namespace orbserve::gpu
