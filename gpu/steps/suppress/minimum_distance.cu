// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: response maps of (frame, level), and of corner maps the best response of each frame. Out: per
// (frame, level) the corners that are kept, in any order, and the number of passes. Arithmetic:
// features/algo/distance_squares.h (paper 5, sec. 3.1, 3.3, 3.4), which divides a level into
// squares that hold one corner at most.
//
// Data decides the number of passes: a dozen on photographs, hundreds where responses fall along a
// line or are equal everywhere. The launches are the same for all of them:
//
//   1. DistanceSquaresKernel: the best candidate of each square, one group of lanes a square.
//   2. InsideKernel and OutsideKernel, the halves of a pass, for each of the first passes. All
//      squares have threads, and the ends of launches part the halves. The last of them lists the
//      squares that are still undecided.
//   3. LastPassesKernel: all other passes. A level of a frame has one block, or one cluster of
//      blocks where the device has clusters. Barriers of the block or cluster part the halves, and
//      the squares that stay undecided go to a second list. It ends when the list is empty.
//
// No kernel waits for a block that may not be running: the blocks of a cluster start together. So
// batches of other lanes cannot hold it up, as they could a barrier of a whole grid.
// A corner leaves in the pass in which it becomes inside.

#include "gpu/steps/suppress/minimum_distance.h"

#include <algorithm>

#include "features/pipeline/capacity.h"
#include "gpu/runtime/check.h"
#include "gpu/steps/detect/corner_sink.cuh"
#include "gpu/steps/level_share.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 256;  // of kernels that have threads for all squares
// Of a block of the last passes. Larger ones would wait for a multiprocessor of their own.
constexpr int kLastThreads = 512;
constexpr int kMostClusterBlocks = 8;  // every device with clusters has as many

// kCount lanes of a warp that work on one square together (algo::OneLane names the functions).
// Groups of a warp take ways of their own.
template <int kCount>
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
    return *static_cast<const volatile T*>(from);
  }

 private:
  int lane_;
  int first_;  // of the group's lanes in the warp
  unsigned mask_;
};

// What kernels know about one level of a frame.
struct LevelData {
  const DistanceParams::Level& level;
  uint64_t* best;
  uint32_t* inside;
  int32_t* list[kSquareLists];
  int32_t* list_count;
};
__device__ __forceinline__ LevelData DataOf(const DistanceParams& params, int frame_index, int l) {
  const DistanceParams::Level& level = params.level[l];
  const int64_t first = frame_index * params.square_stride + level.first_square;
  return {level,
          params.best + first,
          params.inside + first,
          {params.list[0] + first, params.list[1] + first},
          params.list_count + (frame_index * kMaxLevels + l) * kSquareCounts};
}

// The places of a level.
template <bool kCompressed>
struct PlacesOf;
template <>
struct PlacesOf<false> {
  using Places = algo::PixelPlaces;
};
template <>
struct PlacesOf<true> {
  using Places = algo::BlockPlaces;
};
template <bool kCompressed>
__device__ __forceinline__ typename PlacesOf<kCompressed>::Places MakePlaces(
    const DistanceParams& params, const FrameParams& frame, const FrameCounters& counters,
    int frame_index, int l) {
  if constexpr (kCompressed) {
    return {params.blocks_2x2 + frame_index * params.block_stride + params.level[l].first_block_2x2,
            params.level[l].squares.rule.Places(params.images.level[l].width_px)};
  } else {
    return {params.maps.Of(frame_index, l), params.maps.pitch[l],
            CandidateThreshold(params.is_corner_map, frame, counters)};
  }
}

// The level that a thread block works on.
__device__ __forceinline__ int LevelOfBlock(const DistanceParams& params) {
  int l = 0;
  while (l + 1 < params.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_block) {
    ++l;
  }
  return l;
}
// The group's square in it; the last block has groups without a square.
template <typename Lanes>
__device__ __forceinline__ int SquareOfGroup(const DistanceParams::Level& level) {
  constexpr int kGroups = kThreads / Lanes::kLanes;
  return (static_cast<int>(blockIdx.x) - level.first_block) * kGroups +
         static_cast<int>(threadIdx.x) / Lanes::kLanes;
}

template <typename Lanes, bool kCompressed>
__global__ __launch_bounds__(kThreads) void DistanceSquaresKernel(
    const __grid_constant__ DistanceParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  static_assert(kMaxLevels * kSquareCounts <= kThreads);
  if (blockIdx.x == 0 && threadIdx.x < kMaxLevels * kSquareCounts) {
    params.list_count[frame_index * kMaxLevels * kSquareCounts + static_cast<int>(threadIdx.x)] = 0;
  }
  const FrameCounters& counters = params.frames.counters[frame_index];
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const int i = SquareOfGroup<Lanes>(data.level);
  if (i >= squares.count()) return;  // the whole group; no barrier follows
  const Lanes lanes;
  const int column = i % squares.columns;
  const int row = i / squares.columns;
  uint64_t best = algo::kNoCandidate;
  if constexpr (kCompressed) {
    const algo::PixelPlaces pixels = {params.maps.Of(frame_index, l), params.maps.pitch[l],
                                      CandidateThreshold(params.is_corner_map, frame, counters)};
    const auto blocks = MakePlaces<true>(params, frame, counters, frame_index, l);
    const Region& region = data.level.region;
    const algo::PlaceRectangle square = algo::SquareAt(squares, column, row);
    for (int place = lanes.lane(); place < square.width * square.height; place += Lanes::kLanes) {
      const int v = place / square.width;
      const int u = place - v * square.width;
      const uint64_t key = algo::BestOfBlock(pixels, square.u + u, square.v + v, region.x_begin,
                                             region.y_begin, region.x_end, region.y_end);
      blocks.keys[static_cast<int64_t>(square.v + v) * blocks.pitch + square.u + u] = key;
      best = Min(best, key);
    }
    best = lanes.Least(best);
  } else {
    best = algo::BestOfSquare(squares, MakePlaces<false>(params, frame, counters, frame_index, l),
                              column, row, lanes);
  }
  if (lanes.lane() == 0) {
    data.best[i] = best;
    data.inside[i] = 0;
  }
}

// Half a of a pass.
template <typename Lanes, bool kCompressed>
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
  const algo::DistanceSquares& squares = data.level.squares;
  const int i = SquareOfGroup<Lanes>(data.level);
  const Lanes lanes;
  const uint64_t own = i < squares.count() ? lanes.Load(data.best + i) : algo::kNoCandidate;
  if (threadIdx.x == 0) block_corners = 0;
  // No corner is counted yet. Most blocks of late passes end here: nothing is undecided.
  if (__syncthreads_or(own != algo::kNoCandidate) == 0) return;

  const bool becomes_inside =
      own != algo::kNoCandidate &&
      algo::BestBecomesInside(squares,
                              MakePlaces<kCompressed>(params, frame, counters, frame_index, l),
                              data.best, own, lanes);
  const bool stores = becomes_inside && lanes.lane() == 0;
  int place = 0;
  if (stores) {
    data.inside[i] = algo::InsideEntryOf(squares, own, pass);
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
template <typename Lanes, bool kCompressed>
__global__ __launch_bounds__(kThreads) void OutsideKernel(
    const __grid_constant__ DistanceParams params, int pass, bool lists) {
  __shared__ int block_squares;
  __shared__ int list_begin;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  const FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole block
  const int l = LevelOfBlock(params);
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const int i = SquareOfGroup<Lanes>(data.level);
  const Lanes lanes;
  const uint64_t own = i < squares.count() ? lanes.Load(data.best + i) : algo::kNoCandidate;
  uint64_t best = algo::kNoCandidate;
  if (own != algo::kNoCandidate) {
    best = algo::RemoveConflicts(
        squares, MakePlaces<kCompressed>(params, frame, counters, frame_index, l), data.inside,
        i % squares.columns, i / squares.columns, own, pass, lanes);
    if (lanes.lane() == 0 && best != own) data.best[i] = best;
  }
  if (!lists) return;

  const bool is_listed = best != algo::kNoCandidate && lanes.lane() == 0;
  if (threadIdx.x == 0) block_squares = 0;
  __syncthreads();  // no square is counted yet
  int place = 0;
  if (is_listed) place = atomicAdd(&block_squares, 1);
  __syncthreads();  // all undecided squares of the block are counted
  if (threadIdx.x == 0 && block_squares > 0) {
    list_begin = atomicAdd(&data.list_count[0], block_squares);
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

// Blocks [l * cluster_blocks, (l + 1) * cluster_blocks) of a frame are the cluster of its level l.
template <typename Lanes, bool kCompressed>
__global__ __launch_bounds__(kLastThreads) void LastPassesKernel(
    const __grid_constant__ DistanceParams params, int first_pass, int cluster_blocks) {
  constexpr int kGroups = kLastThreads / Lanes::kLanes;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  FrameCounters& counters = params.frames.counters[frame_index];
  if (frame.mode != FrameMode::kDetect) return;  // the whole cluster
  const int l = static_cast<int>(blockIdx.x) / cluster_blocks;
  const int rank = static_cast<int>(blockIdx.x) - l * cluster_blocks;
  const LevelData data = DataOf(params, frame_index, l);
  const algo::DistanceSquares& squares = data.level.squares;
  const auto places = MakePlaces<kCompressed>(params, frame, counters, frame_index, l);
  const Lanes lanes;
  const int group = rank * kGroups + static_cast<int>(threadIdx.x) / Lanes::kLanes;
  const int groups = cluster_blocks * kGroups;
  const bool leads = rank == 0 && threadIdx.x == 0;

  int pass = first_pass;
  int32_t* from = data.list[0];
  int32_t* to = data.list[1];
  int read = 0;  // count of the list that is read, of three that take turns
  int number = lanes.Load(data.list_count + read);
  while (number > 0 && (params.max_passes == 0 || pass <= params.max_passes)) {
    const int filled = (read + 1) % 3;
    // Read for the last time two barriers ago, and counted up from the barrier after the next on.
    if (leads) data.list_count[(read + 2) % 3] = 0;
    for (int n = group; n < number; n += groups) {
      const int i = lanes.Load(from + n);
      const uint64_t own = lanes.Load(data.best + i);
      if (!algo::BestBecomesInside(squares, places, data.best, own, lanes)) continue;
      if (lanes.lane() == 0) {
        data.inside[i] = algo::InsideEntryOf(squares, own, pass);
        StoreCorner(params.sink, params.images, frame, frame_index, l, counters,
                    atomicAdd(&counters.corners[l], 1), own,
                    static_cast<int>(threadIdx.x / kWarpLanes));
      }
    }
    SyncCluster();  // all new inside places are there
    for (int n = group; n < number; n += groups) {
      const int i = lanes.Load(from + n);
      const uint64_t own = lanes.Load(data.best + i);
      const uint64_t best = algo::RemoveConflicts(squares, places, data.inside, i % squares.columns,
                                                  i / squares.columns, own, pass, lanes);
      if (lanes.lane() == 0) {
        if (best != own) data.best[i] = best;
        if (best != algo::kNoCandidate) to[atomicAdd(&data.list_count[filled], 1)] = i;
      }
    }
    SyncCluster();  // the next list and its count are complete
    int32_t* const emptied = from;
    from = to;
    to = emptied;
    read = filled;
    number = lanes.Load(data.list_count + read);
    ++pass;
  }
  // Each pass has a corner: the best candidate of all.
  if (leads && pass > first_pass) atomicMax(&counters.suppression_passes[l], pass - 1);
}

// Calls `launch` with the kernels' template arguments.
template <typename Launch>
absl::Status WithTemplates(const DistanceParams& params, const Launch& launch) {
  const auto with_lanes = [&](auto is_compressed) {
    switch (params.lanes) {
      case 1:
        return launch.template operator()<WarpLanes<1>, is_compressed.value>();
      case 8:
        return launch.template operator()<WarpLanes<8>, is_compressed.value>();
      default:
        return launch.template operator()<WarpLanes<kWarpLanes>, is_compressed.value>();
    }
  };
  return params.is_compressed ? with_lanes(std::true_type()) : with_lanes(std::false_type());
}

// Lanes that find a few places each in a square.
int LanesFor(int square_side) { return square_side <= 2 ? 1 : square_side <= 8 ? 8 : kWarpLanes; }

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
  for (int blocks = kMostClusterBlocks; blocks > 1; blocks /= 2) {
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

absl::Status LaunchDistanceSquares(const DistanceParams& params, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithTemplates(params, [&]<typename Lanes, bool kCompressed>() {
    DistanceSquaresKernel<Lanes, kCompressed><<<grid, kThreads, 0, stream>>>(params);
    return CheckLaunch("DistanceSquaresKernel");
  });
}

absl::Status LaunchPass(const DistanceParams& params, int pass, bool lists, cudaStream_t stream) {
  const dim3 grid(params.thread_blocks, params.frames.count);
  return WithTemplates(params, [&]<typename Lanes, bool kCompressed>() {
    InsideKernel<Lanes, kCompressed><<<grid, kThreads, 0, stream>>>(params, pass);
    ORBSERVE_RETURN_IF_ERROR(CheckLaunch("InsideKernel"));
    if (pass == params.max_passes) return absl::OkStatus();  // nothing looks at what is left
    OutsideKernel<Lanes, kCompressed><<<grid, kThreads, 0, stream>>>(params, pass, lists);
    return CheckLaunch("OutsideKernel");
  });
}

absl::Status LaunchLastPasses(const DistanceParams& params, int first_pass, int cluster_blocks,
                              cudaStream_t stream) {
  const dim3 grid(params.levels * cluster_blocks, params.frames.count);
  return WithTemplates(params, [&]<typename Lanes, bool kCompressed>() {
    if (cluster_blocks == 1) {
      LastPassesKernel<Lanes, kCompressed>
          <<<grid, kLastThreads, 0, stream>>>(params, first_pass, cluster_blocks);
      return CheckLaunch("LastPassesKernel");
    }
    const ClusterLaunch launch(grid, cluster_blocks, stream);
    return StatusFromCuda(cudaLaunchKernelEx(&launch.config, LastPassesKernel<Lanes, kCompressed>,
                                             params, first_pass, cluster_blocks),
                          "LastPassesKernel");
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
  params_.lanes = LanesFor(rule.square_side);
  params_.levels = pipeline.pyramid.detecting_levels;
  int first_square = 0;
  for (int l = 0; l < params_.levels; ++l) {
    const LevelGeometry& geometry = pipeline.level(l);
    const Region& region = geometry.region;
    DistanceParams::Level& level = params_.level[l];
    level.squares =
        algo::DistanceSquares::Of(rule, region.x_begin, region.y_begin, region.x_end, region.y_end);
    level.region = region;
    level.first_square = first_square;
    level.first_block = params_.thread_blocks;
    level.first_block_2x2 = params_.block_stride;
    const int squares = level.squares.count();
    most_squares_ = std::max(most_squares_, squares);
    first_square += squares;
    params_.thread_blocks += DivUp(squares, kThreads / params_.lanes);
    if (params_.is_compressed) {
      params_.block_stride +=
          static_cast<int64_t>(rule.Places(geometry.width_px)) * rule.Places(geometry.height_px);
    }
  }
  params_.square_stride = first_square;
  const auto squares = static_cast<size_t>(first_square);
  best_ = layout->Add("best of squares", squares * sizeof(uint64_t));
  inside_ = layout->Add("inside places", squares * sizeof(uint32_t));
  for (BufferId& list : list_) list = layout->Add("undecided squares", squares * sizeof(int32_t));
  list_count_ = layout->Add("undecided counts", kMaxLevels * kSquareCounts * sizeof(int32_t));
  blocks_2x2_ =
      layout->Add("2x2 blocks", static_cast<size_t>(params_.block_stride) * sizeof(uint64_t));
}

absl::Status MinimumDistanceStep::AddDevice(int device,
                                            const std::shared_ptr<MemoryBudget>& /*budget*/) {
  return WithTemplates(params_, [&]<typename Lanes, bool kCompressed>() -> absl::Status {
    ORBSERVE_ASSIGN_OR_RETURN(const int blocks,
                              MostClusterBlocks(device, reinterpret_cast<const void*>(
                                                            LastPassesKernel<Lanes, kCompressed>)));
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
  for (int i = 0; i < kSquareLists; ++i) {
    params.list[i] = reinterpret_cast<int32_t*>(context.At(list_[i]));
  }
  params.list_count = reinterpret_cast<int32_t*>(context.At(list_count_));
  params.blocks_2x2 = reinterpret_cast<uint64_t*>(context.At(blocks_2x2_));
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
  // Share of the squares that a pass leaves undecided, as on photographs. Smaller eigenvalues have
  // many more candidates than Harris responses. The last passes begin when a group of lanes has
  // two squares at most.
  const float undecided_share = many_candidates_ ? 0.6f : 0.4f;
  constexpr int kMostPasses = 8;
  const int groups = cluster_blocks * kLastThreads / params_.lanes;
  int passes = 1;
  float squares = undecided_share * static_cast<float>(most_squares_);
  while (passes < kMostPasses && squares > 2.0f * static_cast<float>(groups)) {
    squares *= undecided_share;
    ++passes;
  }
  return passes;
}

absl::Status MinimumDistanceStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const DistanceParams params = ParamsFor(context);
  if (params.frames.count == 0 || params.thread_blocks == 0) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(LaunchDistanceSquares(params, stream));
  const int cluster_blocks = ClusterBlocks(context);
  const int wide_passes = WidePasses(cluster_blocks);
  for (int pass = 1; pass <= wide_passes; ++pass) {
    ORBSERVE_RETURN_IF_ERROR(LaunchPass(params, pass, pass == wide_passes, stream));
    if (pass == params.max_passes) return absl::OkStatus();
  }
  return LaunchLastPasses(params, wide_passes + 1, cluster_blocks, stream);
}

}  // namespace orbserve::gpu
