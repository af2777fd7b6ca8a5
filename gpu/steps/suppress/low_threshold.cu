// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: corners found at the low threshold, as lists or as response maps. Out: the same without the
// weak ones of cells that hold a strong one (features/algo/low_threshold.h).
//
// Lists: one block takes the list of a level. It marks cells with a strong corner, one bit each,
// then drops weak corners, keyed ones by moving the others up. Maps: one warp takes a cell, a lane
// a column. Where the response is not the FAST score, the score is computed again from the ring.

#include "gpu/steps/suppress/low_threshold.h"

#include "features/algo/fast.h"
#include "features/algo/low_threshold.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/select/block_scan.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kMapWarps = 8;
constexpr int kBitsPerWord = 32;
constexpr int kEntriesInFlight = 4;  // of a thread that goes through a list
static_assert(algo::kThresholdCellPx == kWarpLanes, "a lane takes a column of a cell");

// FAST score of the corner at (x, y) of a level.
__device__ __forceinline__ int ScoreAt(const uint8_t* __restrict__ image, int pitch_bytes, int x,
                                       int y, int arc_length) {
  const uint8_t* const centre = image + static_cast<int64_t>(y) * pitch_bytes + x;
  uint8_t ring[algo::kFastRingPixels];
  algo::LoadFastRing(centre, pitch_bytes, ring);
  return algo::FastScore(ring, *centre, arc_length);
}

// FAST scores of the corners of a level, by their rank keys or by ordered responses.
struct Scores {
  const uint8_t* image;
  int pitch_bytes;
  int arc_length;
  bool score_is_response;

  __device__ Scores(const LowThresholdParams& params, const FrameParams& frame, int frame_index,
                    int level)
      : image(params.images.Image(frame, frame_index, level)),
        pitch_bytes(params.images.level[level].pitch_bytes),
        arc_length(params.arc_length),
        score_is_response(params.score_is_response) {}

  __device__ int At(float response, int x, int y) const {
    return score_is_response ? static_cast<int>(response)
                             : ScoreAt(image, pitch_bytes, x, y, arc_length);
  }
};

struct Corner {
  int x;
  int y;
  int score;
};

// Cells of a level, one bit each, in shared memory, or in `given` where they are too many for it.
// The block has `shared` to itself.
constexpr int kSharedWords = 2048;  // of a level of 8192 x 8192
__device__ __forceinline__ uint32_t* CellBits(const ThresholdGrid& grid, uint32_t* given,
                                              uint32_t* shared) {
  return DivUp(grid.columns * grid.rows, kBitsPerWord) <= kSharedWords ? shared : given;
}

// Marks the cells of the level that hold a strong corner: `corner_of(entry(i))` is corner number
// `i`.
template <typename EntryAt, typename CornerOf>
__device__ void MarkStrongCells(const LowThresholdParams& params, const ThresholdGrid& grid,
                                int count, int threshold_grey, uint32_t* cells,
                                const EntryAt& entry_at, const CornerOf& corner_of) {
  const int thread = static_cast<int>(threadIdx.x);
  const int words = DivUp(grid.columns * grid.rows, kBitsPerWord);
  for (int i = thread; i < words; i += kScanThreads) cells[i] = 0;
  __syncthreads();  // no cell is strong
  for (int begin = thread; begin < count; begin += kScanThreads * kEntriesInFlight) {
    decltype(entry_at(0)) entry[kEntriesInFlight];
#pragma unroll
    for (int i = 0; i < kEntriesInFlight; ++i) {
      entry[i] = entry_at(Min(begin + i * kScanThreads, count - 1));
    }
#pragma unroll
    for (int i = 0; i < kEntriesInFlight; ++i) {
      // Past the end the last corner stands for the others.
      const Corner own = corner_of(entry[i]);
      if (own.score < threshold_grey) continue;
      const int cell = algo::ThresholdCellOf(own.x, own.y, params.border_px, grid.columns);
      atomicOr(&cells[cell / kBitsPerWord], 1u << (cell % kBitsPerWord));
    }
  }
  __syncthreads();  // all strong cells are marked
}

__device__ __forceinline__ bool Stays(const LowThresholdParams& params, const ThresholdGrid& grid,
                                      int threshold_grey, const uint32_t* cells,
                                      const Corner& corner) {
  const int cell = algo::ThresholdCellOf(corner.x, corner.y, params.border_px, grid.columns);
  // In global memory, atomics wrote the words behind this multiprocessor's first cache.
  const uint32_t word = *static_cast<const volatile uint32_t*>(&cells[cell / kBitsPerWord]);
  const bool is_strong = (word >> (cell % kBitsPerWord) & 1) != 0;
  return algo::PassesThresholds(corner.score, threshold_grey, is_strong);
}

// One level of one frame.
__global__ __launch_bounds__(kScanThreads) void DropWeakScoredKernel(
    const __grid_constant__ LowThresholdParams params) {
  __shared__ uint32_t shared_cells[kSharedWords];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  const int threshold_grey = frame.strong_threshold_grey;
  if (frame.mode != FrameMode::kDetect || threshold_grey == 0) return;
  const int l = static_cast<int>(blockIdx.x);
  const ThresholdGrid& grid = params.grid[l];
  FrameCounters& counters = params.frames.counters[frame_index];
  const int count = counters.corners[l];
  const FastCornerLists& lists = params.scored;
  const int64_t list = frame_index * lists.stride + lists.offset[l];
  uint32_t* const cells =
      CellBits(grid, params.strong_cells + frame_index * params.stride + grid.offset, shared_cells);
  const auto corner_at = [&](int i) -> Corner {
    const uint32_t position = lists.position[list + i];
    return {static_cast<int>(position & 0xffff), static_cast<int>(position >> 16),
            lists.score[list + i]};
  };
  MarkStrongCells(params, grid, count, threshold_grey, cells, corner_at,
                  [](const Corner& corner) { return corner; });
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kScanThreads) {
    const Corner corner = corner_at(i);
    if (Stays(params, grid, threshold_grey, cells, corner)) continue;
    lists.score[list + i] = 0;
    // Sums of the copies count; one copy alone may pass below 0.
    atomicSub(&counters.histogram[l][i % kHistogramCopies][corner.score], 1u);
  }
}

__global__ __launch_bounds__(kScanThreads) void DropWeakKeyedKernel(
    const __grid_constant__ LowThresholdParams params) {
  __shared__ uint32_t shared_cells[kSharedWords];
  __shared__ int kept;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  const int threshold_grey = frame.strong_threshold_grey;
  if (frame.mode != FrameMode::kDetect || threshold_grey == 0) return;
  const int l = static_cast<int>(blockIdx.x);
  const ThresholdGrid& grid = params.grid[l];
  FrameCounters& counters = params.frames.counters[frame_index];
  const int count = counters.corners[l];
  uint64_t* const keys =
      params.keyed.key + frame_index * params.keyed.stride + params.keyed.offset[l];
  uint32_t* const cells =
      CellBits(grid, params.strong_cells + frame_index * params.stride + grid.offset, shared_cells);
  const Scores scores(params, frame, frame_index, l);
  const auto corner_of = [&](uint64_t key) -> Corner {
    const int x = algo::RankKeyX(key);
    const int y = algo::RankKeyY(key);
    return {x, y, scores.At(algo::RankKeyResponse(key), x, y)};
  };
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  if (thread == 0) kept = 0;
  MarkStrongCells(
      params, grid, count, threshold_grey, cells, [&](int i) { return keys[i]; }, corner_of);
  for (int begin = 0; begin < count; begin += kScanThreads * kEntriesInFlight) {
    uint64_t key[kEntriesInFlight];
#pragma unroll
    for (int i = 0; i < kEntriesInFlight; ++i) {
      const int place = begin + i * kScanThreads + thread;
      key[i] = place < count ? keys[place] : 0;
    }
    __syncthreads();  // all threads have read theirs: places up to here may be written
#pragma unroll
    for (int i = 0; i < kEntriesInFlight; ++i) {
      const bool stays = begin + i * kScanThreads + thread < count &&
                         Stays(params, grid, threshold_grey, cells, corner_of(key[i]));
      const unsigned staying = __ballot_sync(kFullWarp, stays);
      if (staying == 0) continue;
      int place = 0;
      if (lane == 0) place = atomicAdd(&kept, __popc(staying));
      place = __shfl_sync(kFullWarp, place, 0);
      if (stays) keys[place + __popc(staying & ((1u << lane) - 1))] = key[i];
    }
  }
  __syncthreads();  // all have been counted
  if (thread == 0) counters.corners[l] = kept;
}

// A warp takes a cell.
__global__ __launch_bounds__(kMapWarps* kWarpLanes) void DropWeakPixelsKernel(
    const __grid_constant__ LowThresholdParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.z);
  const FrameParams& frame = params.frames.params[frame_index];
  const int threshold_grey = frame.strong_threshold_grey;
  if (frame.mode != FrameMode::kDetect || threshold_grey == 0) return;
  const int l = static_cast<int>(blockIdx.y);
  const ThresholdGrid& grid = params.grid[l];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int cell = static_cast<int>(blockIdx.x) * kMapWarps + warp;
  if (cell >= grid.columns * grid.rows) return;
  const LevelImage& level = params.images.level[l];
  const int x = params.border_px + cell % grid.columns * algo::kThresholdCellPx + lane;
  const int top = params.border_px + cell / grid.columns * algo::kThresholdCellPx;
  const int bottom = Min(top + algo::kThresholdCellPx, level.height_px - params.border_px);
  const bool has_column = x < level.width_px - params.border_px;
  const Scores scores(params, frame, frame_index, l);
  const int pitch = params.maps.pitch[l];
  uint32_t* const column = params.maps.Of(frame_index, l) + x;
  // Rows of the cell with a candidate in this column, and with a strong one.
  uint32_t candidates = 0;
  uint32_t strong = 0;
  for (int y = top; has_column && y < bottom; ++y) {
    const uint32_t ordered = column[static_cast<int64_t>(y) * pitch];
    if (ordered == 0) continue;
    candidates |= 1u << (y - top);
    if (scores.At(algo::ValueOfOrderedBits(ordered), x, y) >= threshold_grey) {
      strong |= 1u << (y - top);
    }
  }
  if (__ballot_sync(kFullWarp, strong != 0) == 0) return;
  for (uint32_t weak = candidates & ~strong; weak != 0; weak &= weak - 1) {
    column[static_cast<int64_t>(top + __ffs(static_cast<int>(weak)) - 1) * pitch] = 0;
  }
}

}  // namespace

absl::Status LaunchLowThreshold(const LowThresholdParams& params, cudaStream_t stream) {
  const int frames = params.frames.count;
  if (frames == 0 || params.levels == 0) return absl::OkStatus();
  if (params.maps.map != nullptr) {
    int cells = 0;
    for (int l = 0; l < params.levels; ++l) {
      cells = Max(cells, params.grid[l].columns * params.grid[l].rows);
    }
    const dim3 grid(DivUp(cells, kMapWarps), params.levels, frames);
    DropWeakPixelsKernel<<<grid, kMapWarps * kWarpLanes, 0, stream>>>(params);
    return CheckLaunch("DropWeakPixelsKernel");
  }
  const dim3 grid(params.levels, frames);
  if (params.keyed.key != nullptr) {
    DropWeakKeyedKernel<<<grid, kScanThreads, 0, stream>>>(params);
    return CheckLaunch("DropWeakKeyedKernel");
  }
  DropWeakScoredKernel<<<grid, kScanThreads, 0, stream>>>(params);
  return CheckLaunch("DropWeakScoredKernel");
}

LowThresholdStep::LowThresholdStep(const CompiledPipeline& pipeline,
                                   const LevelImageBuffers& images,
                                   const std::optional<FastCornerListBuffers>& scored,
                                   const std::optional<KeyListBuffers>& keyed,
                                   const std::optional<ResponseMapBuffers>& maps,
                                   ArenaLayout* layout)
    : images_(images), scored_(scored), keyed_(keyed), maps_(maps) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  params_.levels = pipeline.pyramid.detecting_levels;
  params_.border_px = options.select.border_px;
  params_.arc_length = options.detect.fast_arc_length;
  params_.score_is_response = options.detect.score == Score::kFast;
  for (int l = 0; l < params_.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    ThresholdGrid& grid = params_.grid[l];
    if (!level.region.empty()) {
      grid.columns = algo::ThresholdCells(level.width_px, params_.border_px);
      grid.rows = algo::ThresholdCells(level.height_px, params_.border_px);
    }
    grid.offset = params_.stride;
    params_.stride += DivUp(grid.columns * grid.rows, kBitsPerWord);
  }
  const size_t words = maps.has_value() ? 0 : static_cast<size_t>(params_.stride);
  strong_cells_ = layout->Add("strong cells", words * sizeof(uint32_t));
  if (options.suppress.suppression == Suppression::kNeighbourhood) {
    stages_ = Stage::kSelect;
  } else {
    stages_ = {Stage::kDetect, Stage::kSuppress};
  }
}

absl::Status LowThresholdStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  if (!context.kind.low_threshold) return absl::OkStatus();
  LowThresholdParams params = params_;
  params.frames = context.frames;
  params.images = images_.At(context);
  if (maps_.has_value()) {
    params.maps = maps_->At(context);
  } else if (keyed_.has_value()) {
    params.keyed = keyed_->At(context);
  } else if (scored_.has_value()) {
    params.scored = scored_->At(context);
  }
  params.strong_cells = reinterpret_cast<uint32_t*>(context.At(strong_cells_));
  return LaunchLowThreshold(params, stream);
}

}  // namespace orbserve::gpu
