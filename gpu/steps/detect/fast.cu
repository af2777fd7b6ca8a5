// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame. Out: per (frame, level) the corners that survive suppression,
// compacted in any order, their count and their histogram by score.
// Segment test and score: features/algo/fast.h. gpu/steps/detect/fast_tile.cuh has the phases of a
// tile. The score always comes from the extremes.
//
// With 3x3 suppression a tile yields 124 columns and two rows less than it looks at, as suppression
// needs neighbours. Only corners leave the multiprocessor, with one atomic per tile. Shared memory:
// up to 20 KiB, 10 KiB with tiles of 14 rows.

#include "gpu/steps/detect/fast.h"

#include "features/algo/fast.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/detect/fast_tile.cuh"

namespace orbserve::gpu {
namespace fast_tile {
namespace {

constexpr int kSmallRadius = 1;  // of suppression in 3x3 pixels

// The papers' tests.
template <CornerTest kTest, int kArcLength>
__device__ __forceinline__ bool IsCorner(const uint8_t* centre, int threshold_grey,
                                         const uint32_t* __restrict__ bit_table) {
  int ring[algo::kFastRingPixels];
  LoadRing(centre, ring);
  const int grey = *centre;
  uint32_t bright = 0;
  uint32_t dark = 0;
#pragma unroll
  for (int i = 0; i < algo::kFastRingPixels; ++i) {
    bright |= (ring[i] > grey + threshold_grey ? 1u : 0u) << i;
    dark |= (ring[i] < grey - threshold_grey ? 1u : 0u) << i;
  }
  if constexpr (kTest == CornerTest::kBitTable) {
    return (((bit_table[bright / 32] >> (bright % 32)) | (bit_table[dark / 32] >> (dark % 32))) &
            1) != 0;
  } else {
    return algo::HoldsArc<kArcLength>(bright) || algo::HoldsArc<kArcLength>(dark);
  }
}

// True where a score is greater than its eight neighbours.
__device__ __forceinline__ bool IsGreatest(const uint8_t* score) {
  int greatest = Max(score[-1], score[1]);
#pragma unroll
  for (int dx = -1; dx <= 1; ++dx) {
    greatest = Max<int>(greatest, score[dx - kPitch]);
    greatest = Max<int>(greatest, score[dx + kPitch]);
  }
  return *score > greatest;
}

template <CornerTest kTest, int kArcLength>
__global__ __launch_bounds__(kThreads) void FastCornersKernel(
    const __grid_constant__ FastParams params) {
  extern __shared__ uint4 tile_memory[];
  __shared__ int queue_count;
  __shared__ int kept_count[kWarps];
  __shared__ int list_begin;
  const LevelImages& images = params.images;
  const FastTiles& tiles = params.tiles;
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  // Read together, ahead of the first use of any.
  const FrameMode mode = frame.mode;
  const int threshold_grey = frame.threshold_grey;
  const uint8_t* const level_zero = images.input + frame.image_offset;
  if (mode != FrameMode::kDetect) return;

  const FastTile tile =
      tiles.Find(images, tiles.begin[params.first_level] + static_cast<int>(blockIdx.x),
                 params.last_level, kSmallRadius);
  const LevelImage& level = images.level[tile.level];
  const int bands = FastTiles::BandsOf(tiles.rows, kSmallRadius);
  const int score_bytes = bands * kBandRows * kPitch;
  auto* const image = reinterpret_cast<uint8_t*>(tile_memory);
  uint8_t* const scores = image + ImageRowsOf(bands, kRadius) * kPitch;
  auto* const queue = reinterpret_cast<uint16_t*>(scores + score_bytes);

  LoadTile<kRadius>(tile.level == 0 ? level_zero : images.Image(frame, frame_index, tile.level),
                    level, tile, ImageRowsOf(bands, kRadius), reinterpret_cast<uint32_t*>(image));
  if (threadIdx.x == 0) queue_count = 0;
  for (int i = static_cast<int>(threadIdx.x); i < score_bytes / 16; i += kThreads) {
    reinterpret_cast<uint4*>(scores)[i] = {0, 0, 0, 0};
  }
  __syncthreads();  // the image is there, no pixel has a score, the queue is empty

  QueueCandidates<kRadius>(reinterpret_cast<const uint32_t*>(image), bands, level, tile,
                           tile.yields + 2 * kSmallRadius, threshold_grey, queue, &queue_count);
  __syncthreads();  // the queue is complete

  // The image's pixel at scored row 0 and column 0.
  const uint8_t* const first_pixel = image + kRadius * kPitch + kColumnsPerLane;
  int count = EntriesOfWarp(queue_count);
  if constexpr (kTest != CornerTest::kArcExtremes) {
    count = Sift(queue, count, [&](int entry) {
      return IsCorner<kTest, kArcLength>(first_pixel + ScorePlace(entry), threshold_grey,
                                         params.bit_table)
                 ? entry
                 : -1;
    });
  }
  count = Sift(queue, count, [&](int entry) {
    const int place = ScorePlace(entry);
    const int score = ScorePlusOne<kArcLength>(first_pixel + place) - threshold_grey;
    if (score <= 0) return -1;
    scores[place] = static_cast<uint8_t>(score);  // FAST score less the threshold, plus one
    return place;
  });
  __syncthreads();  // all scores are there

  const int column_begin = tiles.ColumnBegin(tile, kSmallRadius);
  const int column_end = tiles.ColumnEnd(tile, level.width_px, kSmallRadius);
  const uint8_t* __restrict__ mask = images.Mask(frame, frame_index, tile.level);
  FrameCounters& counters = params.frames.counters[frame_index];
  count = Sift(queue, count, [&](int place) {
    const int row = static_cast<int>(static_cast<unsigned>(place) / kPitch);
    const int column = place - row * kPitch;
    if (row < 1 || row > tile.yields || column < column_begin || column >= column_end ||
        !IsGreatest(scores + place)) {
      return -1;
    }
    if (mask != nullptr && mask[static_cast<int64_t>(tile.y_begin + row) * level.pitch_bytes +
                                tile.x_begin + column] == 0) {
      return -1;
    }
    atomicAdd(&counters.histogram[tile.level][warp % kHistogramCopies]
                                 [scores[place] + threshold_grey - 1],
              1u);
    return place;
  });

  if (lane == 0) kept_count[warp] = count;
  __syncthreads();  // all counts are there
  if (threadIdx.x == 0) {
    int total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += kept_count[i];
    list_begin = total > 0 ? atomicAdd(&counters.corners[tile.level], total) : 0;
  }
  __syncthreads();  // the tile has its part of the list
  const FastCornerLists& corners = params.corners;
  int64_t list = frame_index * corners.stride + corners.offset[tile.level] + list_begin;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) {
    if (i < warp) list += kept_count[i];
  }
  for (int i = lane; i < count; i += kWarpLanes) {
    const unsigned place = queue[PlaceInQueue(i)];
    const int y = tile.y_begin + static_cast<int>(place / kPitch);
    const int x = tile.x_begin + static_cast<int>(place % kPitch);
    corners.position[list + i] = static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x);
    corners.score[list + i] = static_cast<uint8_t>(scores[place] + threshold_grey - 1);
  }
}

// Windows of 5x5 to 9x9 pixels.
template <int kArcLength>
__global__ __launch_bounds__(kThreads) void FastWindowKernel(
    const __grid_constant__ FastParams params) {
  extern __shared__ uint4 tile_memory[];
  __shared__ int queue_count;
  __shared__ int counts[kWarps];
  __shared__ int list_begin;
  const LevelImages& images = params.images;
  const FastTiles& tiles = params.tiles;
  const int warp = static_cast<int>(threadIdx.x / kWarpLanes);
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;

  const int threshold_grey = frame.threshold_grey;
  const FastTile tile =
      tiles.Find(images, tiles.begin[params.first_level] + static_cast<int>(blockIdx.x),
                 params.last_level, tiles.radius_px);
  const LevelImage& level = images.level[tile.level];
  const int bands = FastTiles::BandsOf(tiles.rows, tiles.radius_px);
  auto* const image = reinterpret_cast<uint8_t*>(tile_memory);
  uint8_t* const scores = image + ImageRowsOf(bands, kRadius) * kPitch;
  auto* const queue = reinterpret_cast<uint16_t*>(scores + bands * kBandRows * kPitch);
  FindCandidates<kRadius, kRadius>(images.Image(frame, frame_index, tile.level), level, tile,
                                   tiles.radius_px, bands, threshold_grey, image, scores, queue,
                                   &queue_count);

  int count = KeepCorners<algo::CornerScore<Score::kFast>, kArcLength>(
      params, image + kRadius * kPitch + kColumnsPerLane, threshold_grey, queue,
      EntriesOfWarp(queue_count), [&](int place, int score) {
        scores[place] = static_cast<uint8_t>(score - threshold_grey + 1);
        return true;
      });
  __syncthreads();  // all scores are there
  count = KeepMaxima(tiles, level, tile, images.Mask(frame, frame_index, tile.level), scores, queue,
                     count);

  FrameCounters& counters = params.frames.counters[frame_index];
  const int total = ShareCounts(count, counts);
  if (threadIdx.x == 0 && total > 0) {
    list_begin = atomicAdd(&counters.corners[tile.level], total);
  }
  __syncthreads();  // the tile has its part of the list
  const FastCornerLists& corners = params.corners;
  const int64_t list = frame_index * corners.stride + corners.offset[tile.level];
  for (int i = static_cast<int>(threadIdx.x); i < total; i += kThreads) {
    const int place = EntryOfBlock(queue, counts, i);
    const int y = tile.y_begin + place / kPitch;
    const int x = tile.x_begin + place % kPitch;
    const int score = scores[place] + threshold_grey - 1;
    atomicAdd(&counters.histogram[tile.level][warp % kHistogramCopies][score], 1u);
    corners.position[list + list_begin + i] =
        static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x);
    corners.score[list + list_begin + i] = static_cast<uint8_t>(score);
  }
}

template <CornerTest kTest>
void LaunchSmallWindow(const FastParams& params, dim3 grid, cudaStream_t stream) {
  const int shared_bytes =
      SharedBytesOf(FastTiles::BandsOf(params.tiles.rows, kSmallRadius), kRadius, sizeof(uint8_t));
  switch (params.arc_length) {
    case 9:
      FastCornersKernel<kTest, 9><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    case 10:
      FastCornersKernel<kTest, 10><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    case 11:
      FastCornersKernel<kTest, 11><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    default:
      FastCornersKernel<kTest, 12><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
  }
}

void LaunchLargeWindow(const FastParams& params, dim3 grid, cudaStream_t stream) {
  const int shared_bytes = SharedBytesOf(
      FastTiles::BandsOf(params.tiles.rows, params.tiles.radius_px), kRadius, sizeof(uint8_t));
  switch (params.arc_length) {
    case 9:
      FastWindowKernel<9><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    case 10:
      FastWindowKernel<10><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    case 11:
      FastWindowKernel<11><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
    default:
      FastWindowKernel<12><<<grid, kThreads, shared_bytes, stream>>>(params);
      break;
  }
}

}  // namespace
}  // namespace fast_tile

FastTiles FastTiles::With(int rows, const CompiledPipeline& pipeline) {
  const PipelineOptions& options = pipeline.spec.pipeline;
  const bool is_map = HasResponseMap(options) || HasZones(options);
  FastTiles tiles = {};
  tiles.radius_px = is_map ? 0 : WindowRadiusPx(options);
  tiles.border_px = is_map ? 0 : options.select.border_px;
  tiles.rows = rows;
  tiles.levels = pipeline.pyramid.detecting_levels;
  const int first_column = FirstColumn(tiles.border_px, tiles.radius_px) + tiles.radius_px;
  for (int l = 0; l < tiles.levels; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    const Region region = is_map ? Region{0, 0, level.width_px, level.height_px} : level.region;
    tiles.begin[l] = tiles.count;
    tiles.columns[l] = 1;  // a divisor even where there are no tiles
    if (region.empty()) continue;
    tiles.columns[l] = DivUp(region.x_end - first_column, YieldColumns(tiles.radius_px));
    tiles.count += tiles.columns[l] * DivUp(region.height(), rows);
  }
  return tiles;
}

FastTiles FastTiles::For(int frames, int multiprocessors, const CompiledPipeline& pipeline) {
  constexpr int64_t kTilesPerMultiprocessor = 8;
  constexpr int kStep = 2 * kRowStep;
  // Rows that are looked at: where suppression looks far, low tiles would yield few of them.
  const int radius = With(kMaxRows, pipeline).radius_px;
  const int fewest = radius > 1 ? 2 * kStep : kStep;
  for (int scored = kMaxScoredRows; scored > fewest; scored -= kStep) {
    const FastTiles tiles = With(scored - 2 * radius, pipeline);
    if (int64_t{tiles.count} * frames >= kTilesPerMultiprocessor * multiprocessors) return tiles;
  }
  return With(fewest - 2 * radius, pipeline);
}

FastSearch FastSearch::For(const CompiledPipeline& pipeline, const LevelImageBuffers& images,
                           const StepContext& context, int first_level, int last_level) {
  const DetectOptions& detect = pipeline.spec.pipeline.detect;
  FastSearch search = {};
  search.frames = context.frames;
  search.images = images.At(context);
  search.tiles = FastTiles::For(context.kind.frames(), context.tables->multiprocessors, pipeline);
  search.arc_length = detect.fast_arc_length;
  switch (detect.candidate_test) {
    case CandidateTest::kAutomatic:
      search.test = context.tables->default_test;
      break;
    case CandidateTest::kBinaryEncoding:
      search.test = CornerTest::kBinaryEncoding;
      break;
    case CandidateTest::kBitTable:
      search.test = CornerTest::kBitTable;
      break;
  }
  search.bit_table =
      context.tables->bit_tables + (search.arc_length - 9) * algo::kFastBitTableWords;
  search.first_level = first_level;
  search.last_level = last_level;
  return search;
}

int FastSearch::TileCount() const {
  if (frames.count == 0 || first_level > last_level) return 0;
  const int end = last_level + 1 < tiles.levels ? tiles.begin[last_level + 1] : tiles.count;
  return end - tiles.begin[first_level];
}

absl::Status LaunchFastCorners(const FastParams& params, cudaStream_t stream) {
  const int count = params.TileCount();
  if (count == 0) return absl::OkStatus();
  const dim3 grid(count, params.frames.count);
  if (params.tiles.radius_px > fast_tile::kSmallRadius) {
    fast_tile::LaunchLargeWindow(params, grid, stream);
    return CheckLaunch("FastWindowKernel");
  }
  switch (params.test) {
    case CornerTest::kArcExtremes:
      fast_tile::LaunchSmallWindow<CornerTest::kArcExtremes>(params, grid, stream);
      break;
    case CornerTest::kBinaryEncoding:
      fast_tile::LaunchSmallWindow<CornerTest::kBinaryEncoding>(params, grid, stream);
      break;
    case CornerTest::kBitTable:
      fast_tile::LaunchSmallWindow<CornerTest::kBitTable>(params, grid, stream);
      break;
  }
  return CheckLaunch("FastCornersKernel");
}

FastParams FastStep::ParamsFor(const StepContext& context) const {
  return {FastSearch::For(pipeline_, images_, context, first_level_, last_level_),
          corners_.At(context)};
}

absl::Status FastStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchFastCorners(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
