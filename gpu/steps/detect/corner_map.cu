// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: the levels of each frame and their masks. Out: per (frame, level) a map of OrderedBits() of
// the responses, and per frame the greatest of them inside border and mask.
// Prewitt gradients, 7x7 sums, responses: features/algo/corner_map.h (paper 5, sec. 4.1).
//
// A warp walks down a tile of 120 columns; a lane has four of them, and the outer lanes have the
// margin. Both gradients and the sums over seven rows come from rows read before: a lane keeps what
// three rows add up to, the gradients of seven rows (both in one register), and running sums. Sums
// over seven columns take what the two neighbours have by shuffles. All are integers, so that the
// order of the sums does not matter; 49 * 765^2 fits 32 bits. No shared memory, no barriers.

#include "gpu/steps/detect/corner_map.h"

#include "features/algo/corner_map.h"
#include "features/algo/order.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kColumnsPerLane = 4;                                // one word of pixels
constexpr int kTileColumns = (kWarpLanes - 2) * kColumnsPerLane;  // the outer lanes yield none
constexpr int kReach = algo::kCornerMapReachPx;                   // rows above and below
constexpr int kWindow = algo::kCornerMapWindowPx;                 // rows and columns of the sums
static_assert(kReach <= kColumnsPerLane);

// Sums over seven columns round each of the lane's four, from sums of single columns. What lanes 0
// and 31 get is of no use.
__device__ __forceinline__ void SumColumns(const int (&column)[kColumnsPerLane],
                                           int (&sum)[kColumnsPerLane]) {
  // The left neighbour needs the last columns, the right one the first.
  const int last2 = column[2] + column[3];
  const int last3 = column[1] + last2;
  const int first2 = column[0] + column[1];
  const int first3 = first2 + column[2];
  const int own = first3 + column[3];
  const int left1 = __shfl_up_sync(kFullWarp, column[3], 1);
  const int left2 = __shfl_up_sync(kFullWarp, last2, 1);
  const int left3 = __shfl_up_sync(kFullWarp, last3, 1);
  const int right1 = __shfl_down_sync(kFullWarp, column[0], 1);
  const int right2 = __shfl_down_sync(kFullWarp, first2, 1);
  const int right3 = __shfl_down_sync(kFullWarp, first3, 1);
  sum[0] = left3 + own;
  sum[1] = left2 + own + right1;
  sum[2] = left1 + own + right2;
  sum[3] = own + right3;
}

template <bool kHarris>
__global__ __launch_bounds__(kThreads) void CornerMapKernel(
    const __grid_constant__ CornerMapParams params) {
  const LevelImages& images = params.images;
  const CornerMapTiles& tiles = params.tiles;
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode != FrameMode::kDetect) return;
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  const int end =
      params.last_level + 1 < tiles.levels ? tiles.begin[params.last_level + 1] : tiles.count;
  const int tile = tiles.begin[params.first_level] + static_cast<int>(blockIdx.x) * kWarps +
                   static_cast<int>(threadIdx.x / kWarpLanes);
  if (tile >= end) return;  // the whole warp

  int l = params.first_level;
  while (l < params.last_level && tile >= tiles.begin[l + 1]) ++l;
  const int local = tile - tiles.begin[l];
  const LevelImage& level = images.level[l];
  const Region& written = tiles.written[l];
  const Region& region = params.region[l];
  const int pitch = level.pitch_bytes;
  const int y_begin = written.y_begin + local / tiles.columns[l] * tiles.rows;
  const int yields = min(tiles.rows, written.y_end - y_begin);
  // The lane's first column, a multiple of four. Beyond the image words are repeated; no response
  // depends on them.
  const int x =
      written.x_begin + local % tiles.columns[l] * kTileColumns + (lane - 1) * kColumnsPerLane;
  const int word_x = max(min(x, pitch - kColumnsPerLane), 0);
  const uint8_t* const image =
      images.Image(frame, frame_index, l) + static_cast<int64_t>(y_begin - kReach) * pitch + word_x;
  const uint8_t* mask = images.Mask(frame, frame_index, l);
  if (mask != nullptr) mask += static_cast<int64_t>(y_begin) * pitch + word_x;
  uint32_t* const map =
      params.maps.Of(frame_index, l) + static_cast<int64_t>(y_begin) * params.maps.pitch[l] + x;
  const bool stores = lane > 0 && lane < kWarpLanes - 1 && x < written.x_end;

  const auto load = [&](int row) {
    return *reinterpret_cast<const uint32_t*>(image + static_cast<int64_t>(row) * pitch);
  };
  // One image row: differences and sums of the pixels left, at and right of each column.
  struct Row {
    int difference[kColumnsPerLane];
    int sum[kColumnsPerLane];
  };
  const auto row_of = [&](uint32_t word) {
    const uint32_t left = __shfl_up_sync(kFullWarp, word, 1);
    const uint32_t right = __shfl_down_sync(kFullWarp, word, 1);
    int grey[kColumnsPerLane + 2];
    grey[0] = static_cast<int>(left >> 24);
#pragma unroll
    for (int i = 0; i < kColumnsPerLane; ++i) {
      grey[i + 1] = static_cast<int>((word >> (8 * i)) & 0xff);
    }
    grey[kColumnsPerLane + 1] = static_cast<int>(right & 0xff);
    Row row;
#pragma unroll
    for (int i = 0; i < kColumnsPerLane; ++i) {
      row.difference[i] = grey[i + 2] - grey[i];
      row.sum[i] = grey[i] + grey[i + 1] + grey[i + 2];
    }
    return row;
  };

  // Gradients of the window's rows, gy << 16 | gx, and sums over these rows.
  int gradients[kWindow][kColumnsPerLane] = {};
  int xx[kColumnsPerLane] = {};
  int yy[kColumnsPerLane] = {};
  int xy[kColumnsPerLane] = {};
  uint32_t top = 0;
  Row before = row_of(load(0));  // two rows above the latest
  Row middle = row_of(load(1));
  const int gradient_rows = yields + kWindow - 1;
  const int last_row = yields + 2 * kReach - 1;
  for (int base = 0; base < gradient_rows; base += kWindow) {
    uint32_t words[kWindow];
#pragma unroll
    for (int i = 0; i < kWindow; ++i) words[i] = load(min(base + i + 2, last_row));
#pragma unroll
    for (int i = 0; i < kWindow; ++i) {
      if (base + i >= gradient_rows) break;  // the whole warp
      const Row latest = row_of(words[i]);
#pragma unroll
      for (int c = 0; c < kColumnsPerLane; ++c) {
        const int gx = before.difference[c] + middle.difference[c] + latest.difference[c];
        const int gy = latest.sum[c] - before.sum[c];
        const int old_x = static_cast<int16_t>(gradients[i][c] & 0xffff);
        const int old_y = gradients[i][c] >> 16;
        xx[c] += gx * gx - old_x * old_x;
        yy[c] += gy * gy - old_y * old_y;
        xy[c] += gx * gy - old_x * old_y;
        gradients[i][c] = static_cast<int>(static_cast<uint32_t>(gy) << 16 |
                                           (static_cast<uint32_t>(gx) & 0xffffu));
      }
      before = middle;
      middle = latest;
      const int row = base + i - (kWindow - 1);
      if (row < 0) continue;  // the whole warp: the window is not full yet

      int sum_xx[kColumnsPerLane];
      int sum_yy[kColumnsPerLane];
      int sum_xy[kColumnsPerLane];
      SumColumns(xx, sum_xx);
      SumColumns(yy, sum_yy);
      SumColumns(xy, sum_xy);
      const uint32_t allowed =
          mask == nullptr
              ? 0xffffffffu
              : *reinterpret_cast<const uint32_t*>(mask + static_cast<int64_t>(row) * pitch);
      const int y = y_begin + row;
      const bool row_counts = stores && y >= region.y_begin && y < region.y_end;
      uint32_t order[kColumnsPerLane];
#pragma unroll
      for (int c = 0; c < kColumnsPerLane; ++c) {
        const algo::GradientSums sums = {sum_xx[c], sum_yy[c], sum_xy[c]};
        const float response =
            kHarris ? algo::HarrisMapResponse(sums) : algo::ShiTomasiMapResponse(sums);
        const bool is_allowed = ((allowed >> (8 * c)) & 0xff) != 0;
        order[c] = is_allowed && x + c < written.x_end ? algo::OrderedBits(response) : 0;
        if (row_counts && x + c >= region.x_begin && x + c < region.x_end) {
          top = max(top, order[c]);
        }
      }
      if (stores) {
        *reinterpret_cast<uint4*>(map + static_cast<int64_t>(row) * params.maps.pitch[l]) = {
            order[0], order[1], order[2], order[3]};
      }
    }
  }
#pragma unroll
  for (int distance = kWarpLanes / 2; distance > 0; distance /= 2) {
    top = max(top, __shfl_xor_sync(kFullWarp, top, distance));
  }
  if (lane == 0 && top != 0) atomicMax(&params.frames.counters[frame_index].top_order, top);
}

// Pixels whose responses suppression looks at, from a multiple of four columns on.
Region WrittenPixels(const PipelineOptions& options, const LevelGeometry& level) {
  const int margin =
      options.suppress.suppression == Suppression::kMinimumDistance ? 0 : WindowRadiusPx(options);
  const Region& region = level.region;
  Region written;
  if (region.empty()) return written;
  written.x_begin = Max(region.x_begin - margin, kReach) & ~(kColumnsPerLane - 1);
  written.y_begin = Max(region.y_begin - margin, kReach);
  written.x_end = Min(region.x_end + margin, level.width_px - kReach);
  written.y_end = Min(region.y_end + margin, level.height_px - kReach);
  return written;
}

}  // namespace

CornerMapTiles CornerMapTiles::With(int rows, const CompiledPipeline& pipeline) {
  CornerMapTiles tiles = {};
  tiles.rows = rows;
  tiles.levels = pipeline.pyramid.detecting_levels;
  for (int l = 0; l < tiles.levels; ++l) {
    tiles.begin[l] = tiles.count;
    tiles.columns[l] = 1;  // a divisor even where there are no tiles
    const Region written = WrittenPixels(pipeline.spec.pipeline, pipeline.level(l));
    tiles.written[l] = written;
    if (written.empty()) continue;
    tiles.columns[l] = DivUp(written.width(), kTileColumns);
    tiles.count += tiles.columns[l] * DivUp(written.height(), rows);
  }
  return tiles;
}

CornerMapTiles CornerMapTiles::For(int frames, int multiprocessors,
                                   const CompiledPipeline& pipeline) {
  constexpr int64_t kTilesPerMultiprocessor = 8;
  constexpr int kMaxRows = 64;
  constexpr int kFewestRows = 8;
  for (int rows = kMaxRows; rows > kFewestRows; rows /= 2) {
    const CornerMapTiles tiles = With(rows, pipeline);
    if (int64_t{tiles.count} * frames >= kTilesPerMultiprocessor * multiprocessors) return tiles;
  }
  return With(kFewestRows, pipeline);
}

absl::Status LaunchCornerMap(const CornerMapParams& params, cudaStream_t stream) {
  const CornerMapTiles& tiles = params.tiles;
  if (params.frames.count == 0 || params.first_level > params.last_level) return absl::OkStatus();
  const int end =
      params.last_level + 1 < tiles.levels ? tiles.begin[params.last_level + 1] : tiles.count;
  const int count = end - tiles.begin[params.first_level];
  if (count == 0) return absl::OkStatus();
  const dim3 grid(DivUp(count, kWarps), params.frames.count);
  if (params.is_harris) {
    CornerMapKernel<true><<<grid, kThreads, 0, stream>>>(params);
  } else {
    CornerMapKernel<false><<<grid, kThreads, 0, stream>>>(params);
  }
  return CheckLaunch("CornerMapKernel");
}

CornerMapParams CornerMapStep::ParamsFor(const StepContext& context) const {
  CornerMapParams params = {};
  params.frames = context.frames;
  params.images = images_.At(context);
  params.maps = maps_.At(context);
  params.tiles =
      CornerMapTiles::For(context.kind.frames(), context.tables->multiprocessors, pipeline_);
  for (int l = 0; l < params.tiles.levels; ++l) params.region[l] = pipeline_.level(l).region;
  params.is_harris = pipeline_.spec.pipeline.detect.detector == Detector::kHarris;
  params.first_level = first_level_;
  params.last_level = last_level_;
  return params;
}

absl::Status CornerMapStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchCornerMap(ParamsFor(context), stream);
}

}  // namespace orbserve::gpu
