// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: frames, 8-bit. Out: [frame] Gaussian images of all octaves, floats. D. Lowe, "Distinctive
// Image Features from Scale-Invariant Keypoints", IJCV 2004, sec. 3; the order of sums is that of
// features/algo/sift_scale_space.h.
//
// Image i of an octave is image i - 1 blurred, so launches follow each other; one launch makes an
// image of each octave that is so far. Octaves overlap: image 1 of an octave needs no more than
// image `layers` of the octave before, every other pixel of which its kernel also writes as the
// next octave's image 0.
//
// A block makes a tile of 64 x 32 pixels, or of 32 x 16 where larger ones would leave most of the
// device without work: it loads the tile with its halo to shared memory, filters the rows from
// there, and then the columns. A thread filters eight pixels of a row, and sixteen or four of a
// column, and reads each shared value once. Threads of a quarter warp take eight rows, whose pitch
// is an odd number of 16 bytes: their vector loads find eight groups of banks. Radius 13 takes 37
// KiB of shared memory.

#include "gpu/steps/sift/scale_space.h"

#include <cstdint>

#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"
#include "gpu/runtime/warp.cuh"
#include "gpu/steps/sift/async_copy.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kRowPixels = 8;  // of a row, that a thread filters

// Large tiles for each multiprocessor from which on they keep it busy.
constexpr int kTilesToFill = 3;

// Octaves that a launch can work on: as many are under way at once with one layer.
constexpr int kMaxJobs = 3;

// Columns of a tile's halo: whole groups of four floats.
ORBSERVE_HOST_DEVICE constexpr int HaloOf(int radius) { return RoundUp(radius, 4); }

template <int kTileWidth, int kTileHeight>
struct TileShape {
  static constexpr int kWidth = kTileWidth;
  static constexpr int kHeight = kTileHeight;
  static constexpr int kRowGroups = kWidth / kRowPixels;
  static constexpr int kColumnPixels = kHeight * kWidth / kThreads;  // that a thread filters
  static constexpr int kFilteredPitch = kWidth + 4;                  // floats

  // Floats of a row with its halo: an odd number of 16 bytes.
  ORBSERVE_HOST_DEVICE static constexpr int Pitch(int radius) {
    return 4 * (((kWidth + 2 * HaloOf(radius)) / 4) | 1);
  }
  ORBSERVE_HOST_DEVICE static constexpr int Floats(int radius) {
    return (kHeight + 2 * radius) * (Pitch(radius) + kFilteredPitch);
  }
  static_assert(kColumnPixels % 2 == 0, "every other row is one of the next octave");
  static_assert(Floats(kSiftTileRadius) * sizeof(float) <= 48 * 1024);
};
using LargeTile = TileShape<64, 32>;
using SmallTile = TileShape<32, 16>;

// A doubled tile is made from rows of the frame that are as wide, in the memory of filtered rows.
static_assert((LargeTile::kHeight / 2 + kSiftTileRadius + 4) *
                  (LargeTile::kWidth + 2 * HaloOf(kSiftTileRadius)) <=
              (LargeTile::kHeight + 2 * kSiftTileRadius) * LargeTile::kFilteredPitch);

// One image that is made from the one before it.
struct BlurJob {
  const float* from;  // of frame 0, like all
  float* to;
  float* half;  // image 0 of the next octave, or null
  int32_t pitch;
  int32_t width_px;
  int32_t height_px;
  int32_t half_pitch;
  int32_t half_width_px;
  int32_t half_height_px;
  int32_t tiles_x;
  int32_t end_tile;  // of the launch; the job's first is the one before's end
  int32_t radius;
  float taps[kSiftTileRadius + 1];
};

struct BlurParams {
  Frames frames;
  int64_t stride;  // floats of a frame
  int32_t jobs;
  BlurJob job[kMaxJobs];
};

struct FirstParams {
  Frames frames;
  const uint8_t* input;
  int32_t pitch_bytes;
  int64_t stride;
  int32_t width_px;  // of a frame
  int32_t height_px;
  bool doubled;
  BlurJob job;
};

extern __shared__ __align__(16) float tile_memory[];

// Filters kRowPixels of a row. `from`: HaloOf(kRadius) pixels before the first.
template <int kRadius>
__device__ __forceinline__ void FilterRow(const float* __restrict__ from, const float* taps,
                                          float* __restrict__ to) {
  constexpr int kSkipped = HaloOf(kRadius) - kRadius;
  constexpr int kVectors = DivUp(kSkipped + kRowPixels + 2 * kRadius, 4);
  float window[4 * kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const float4 four = reinterpret_cast<const float4*>(from)[i];
    window[4 * i] = four.x;
    window[4 * i + 1] = four.y;
    window[4 * i + 2] = four.z;
    window[4 * i + 3] = four.w;
  }
  float sum[kRowPixels];
#pragma unroll
  for (int j = 0; j < kRowPixels; ++j) sum[j] = window[kSkipped + j] * taps[kRadius];
#pragma unroll
  for (int i = 1; i <= 2 * kRadius; ++i) {
    const float tap = taps[i < kRadius ? kRadius - i : i - kRadius];
#pragma unroll
    for (int j = 0; j < kRowPixels; ++j) {
      sum[j] = FusedMultiplyAdd(window[kSkipped + j + i], tap, sum[j]);
    }
  }
  float4* const out = reinterpret_cast<float4*>(to);
  out[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
  out[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

// Filters the rows of a tile with its halo.
template <typename Shape, int kRadius>
__device__ __forceinline__ void FilterRows(const float* __restrict__ in,
                                           float* __restrict__ filtered, const BlurJob& job) {
  constexpr int kRows = Shape::kHeight + 2 * kRadius;
  constexpr int kTasks = kRows * Shape::kRowGroups;
  for (int task = static_cast<int>(threadIdx.x); task < kTasks; task += kThreads) {
    const int row = task % kRows;
    const int first = task / kRows * kRowPixels;
    FilterRow<kRadius>(in + row * Shape::Pitch(kRadius) + first, job.taps,
                       filtered + row * Shape::kFilteredPitch + first);
  }
}

// Any radius up to kSiftTileRadius. `x0`: of the tile's first column.
template <typename Shape>
__device__ __forceinline__ void FilterRowsOfAnyRadius(const float* __restrict__ in,
                                                      float* __restrict__ filtered,
                                                      const BlurJob& job, int x0) {
  const int rows = Shape::kHeight + 2 * job.radius;
  const int pitch = Shape::Pitch(job.radius);
  const int last_odd = job.width_px % 2 != 0 ? job.width_px - 1 - x0 : -1;
  for (int i = static_cast<int>(threadIdx.x); i < rows * Shape::kWidth; i += kThreads) {
    const int row = i / Shape::kWidth;
    const int x = i % Shape::kWidth;
    filtered[row * Shape::kFilteredPitch + x] = algo::SiftBlurRow(
        in + row * pitch + HaloOf(job.radius) + x, job.taps, job.radius, x == last_odd);
  }
}

// Filters the thread's pixels of a column. `from`: their uppermost halo.
template <int kRadius, int kPixels>
__device__ __forceinline__ void FilterColumn(const float* __restrict__ from, int pitch,
                                             const float* taps, float (&sum)[kPixels]) {
  float window[kPixels + 2 * kRadius];
#pragma unroll
  for (int i = 0; i < kPixels + 2 * kRadius; ++i) window[i] = from[i * pitch];
#pragma unroll
  for (int j = 0; j < kPixels; ++j) sum[j] = window[kRadius + j] * taps[0];
#pragma unroll
  for (int i = 1; i <= kRadius; ++i) {
    const float tap = taps[i];
#pragma unroll
    for (int j = 0; j < kPixels; ++j) {
      sum[j] = FusedMultiplyAdd(window[kRadius + j + i] + window[kRadius + j - i], tap, sum[j]);
    }
  }
}

template <int kPixels>
__device__ __forceinline__ void StoreColumn(const BlurJob& job, int64_t frame_offset, int x, int y,
                                            const float (&sum)[kPixels]) {
  if (x >= job.width_px) return;
  float* const to = job.to + frame_offset + x;
#pragma unroll
  for (int j = 0; j < kPixels; ++j) {
    if (y + j < job.height_px) to[static_cast<int64_t>(y + j) * job.pitch] = sum[j];
  }
  if (job.half == nullptr || x % 2 != 0 || x / 2 >= job.half_width_px) return;
  float* const half = job.half + frame_offset + x / 2;
#pragma unroll
  for (int j = 0; j < kPixels; j += 2) {  // `y` is even
    if ((y + j) / 2 < job.half_height_px) {
      half[static_cast<int64_t>((y + j) / 2) * job.half_pitch] = sum[j];
    }
  }
}

// Both passes over the tile in shared memory.
template <typename Shape, int kRadius>
__device__ __forceinline__ void FilterTile(const float* in, float* filtered, const BlurJob& job,
                                           int64_t frame_offset, int x0, int y0) {
  FilterRows<Shape, kRadius>(in, filtered, job);
  __syncthreads();  // the filtered rows are there
  const int column = static_cast<int>(threadIdx.x) % Shape::kWidth;
  const int row = static_cast<int>(threadIdx.x) / Shape::kWidth * Shape::kColumnPixels;
  float sum[Shape::kColumnPixels];
  FilterColumn<kRadius>(filtered + row * Shape::kFilteredPitch + column, Shape::kFilteredPitch,
                        job.taps, sum);
  StoreColumn(job, frame_offset, x0 + column, y0 + row, sum);
}

template <typename Shape>
__device__ __forceinline__ void FilterTileOfAnyRadius(const float* in, float* filtered,
                                                      const BlurJob& job, int64_t frame_offset,
                                                      int x0, int y0) {
  FilterRowsOfAnyRadius<Shape>(in, filtered, job, x0);
  __syncthreads();  // the filtered rows are there
  const int column = static_cast<int>(threadIdx.x) % Shape::kWidth;
  const int row = static_cast<int>(threadIdx.x) / Shape::kWidth * Shape::kColumnPixels;
  float sum[Shape::kColumnPixels];
#pragma unroll
  for (int j = 0; j < Shape::kColumnPixels; ++j) {
    sum[j] =
        algo::SiftBlurColumn(filtered + (row + j + job.radius) * Shape::kFilteredPitch + column,
                             Shape::kFilteredPitch, job.taps, job.radius);
  }
  StoreColumn(job, frame_offset, x0 + column, y0 + row, sum);
}

// The tile that a block makes, and its place in shared memory.
struct Tile {
  int x0;
  int y0;
  int rows;  // with the halo, that count
  int pitch;
  float* in;
  float* filtered;
};
template <typename Shape>
__device__ __forceinline__ Tile TileOf(const BlurJob& job, int tile) {
  const int x0 = tile % job.tiles_x * Shape::kWidth;
  const int y0 = tile / job.tiles_x * Shape::kHeight;
  const int pitch = Shape::Pitch(job.radius);
  return {x0,    y0,          Min(Shape::kHeight, job.height_px - y0) + 2 * job.radius,
          pitch, tile_memory, tile_memory + (Shape::kHeight + 2 * job.radius) * pitch};
}

// Loads the tile with its halo from the image before.
template <typename Shape>
__device__ __forceinline__ void LoadTile(const BlurJob& job, const Tile& tile,
                                         const float* __restrict__ from) {
  const int radius = job.radius;
  const int halo = HaloOf(radius);
  const int thread = static_cast<int>(threadIdx.x);
  const int left = tile.x0 - halo;
  const int top = tile.y0 - radius;
  const int columns = Shape::kWidth + 2 * halo;
  // Pixels between the image and the pitch are loaded and not used.
  const bool inside = left >= 0 && tile.x0 + Shape::kWidth + radius <= job.width_px &&
                      left + columns <= job.pitch && top >= 0 &&
                      tile.y0 + Shape::kHeight + radius <= job.height_px;
  if (inside) {
    const int vectors = columns / 4;
    const float* const corner = from + static_cast<int64_t>(top) * job.pitch + left;
    int row = thread / vectors;
    int vector = thread % vectors;
    const int row_step = kThreads / vectors;
    const int vector_step = kThreads % vectors;
    while (row < tile.rows) {
      StartCopyOfFour(tile.in + row * tile.pitch + 4 * vector,
                      corner + static_cast<int64_t>(row) * job.pitch + 4 * vector);
      row += row_step;
      vector += vector_step;
      if (vector >= vectors) {
        vector -= vectors;
        ++row;
      }
    }
  } else {
    const int warp = thread / kWarpLanes;
    const int lane = thread % kWarpLanes;
    for (int column = halo - radius + lane; column < columns - (halo - radius);
         column += kWarpLanes) {
      const float* const at = from + algo::SiftMirror(left + column, job.width_px);
      for (int row = warp; row < tile.rows; row += kWarps) {
        const int y = algo::SiftMirror(top + row, job.height_px);
        StartCopy(tile.in + row * tile.pitch + column, at + static_cast<int64_t>(y) * job.pitch);
      }
    }
  }
  AwaitCopies();
}

// Makes the tile from a frame's grey pixels.
__device__ __forceinline__ void MakeTile(const FirstParams& params, const Tile& tile,
                                         const uint8_t* __restrict__ image) {
  const BlurJob& job = params.job;
  const int halo = HaloOf(job.radius);
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int left = tile.x0 - halo;
  const int top = tile.y0 - job.radius;
  const int columns = LargeTile::kWidth + 2 * halo;
  if (!params.doubled) {
    for (int column = lane; column < columns; column += kWarpLanes) {
      const int x = algo::SiftMirror(left + column, job.width_px);
#pragma unroll 4
      for (int row = warp; row < tile.rows; row += kWarps) {
        const int y = algo::SiftMirror(top + row, job.height_px);
        tile.in[row * tile.pitch + column] =
            static_cast<float>(image[static_cast<int64_t>(y) * params.pitch_bytes + x]);
      }
    }
    return;
  }
  // algo::SiftDoubledPixel(): first along the frame's rows, to memory that filtered rows take
  // later.
  const int first_y = Max(0, (top >> 1) - 1);
  const int last_y = Min(params.height_px - 1, (top + tile.rows) / 2 + 1);
  for (int column = lane; column < columns; column += kWarpLanes) {
    const algo::SiftDoubledPlace place =
        algo::SiftDoubledPlaceOf(algo::SiftMirror(left + column, job.width_px), params.width_px);
#pragma unroll 4
    for (int y = first_y + warp; y <= last_y; y += kWarps) {
      const uint8_t* const row = image + static_cast<int64_t>(y) * params.pitch_bytes;
      tile.filtered[(y - first_y) * columns + column] =
          algo::SiftDoubledValue(row[place.near], row[place.far]);
    }
  }
  __syncthreads();  // the rows are there
  for (int row = warp; row < tile.rows; row += kWarps) {
    const algo::SiftDoubledPlace place =
        algo::SiftDoubledPlaceOf(algo::SiftMirror(top + row, job.height_px), params.height_px);
    const float* const near = tile.filtered + (place.near - first_y) * columns;
    const float* const far = tile.filtered + (place.far - first_y) * columns;
    for (int column = lane; column < columns; column += kWarpLanes) {
      tile.in[row * tile.pitch + column] = algo::SiftDoubledValue(near[column], far[column]);
    }
  }
}

// Filters the tile in shared memory and stores it.
template <typename Shape>
__device__ __forceinline__ void BlurTile(const BlurJob& job, int64_t frame_offset,
                                         const Tile& tile) {
  const float* const in = tile.in;
  float* const filtered = tile.filtered;
  const int x0 = tile.x0;
  const int y0 = tile.y0;
  __syncthreads();  // the tile is there
  switch (job.radius) {
    case 5:
      return FilterTile<Shape, 5>(in, filtered, job, frame_offset, x0, y0);
    case 6:
      return FilterTile<Shape, 6>(in, filtered, job, frame_offset, x0, y0);
    case 8:
      return FilterTile<Shape, 8>(in, filtered, job, frame_offset, x0, y0);
    case 10:
      return FilterTile<Shape, 10>(in, filtered, job, frame_offset, x0, y0);
    case 13:
      return FilterTile<Shape, 13>(in, filtered, job, frame_offset, x0, y0);
    default:
      return FilterTileOfAnyRadius<Shape>(in, filtered, job, frame_offset, x0, y0);
  }
}

__global__ __launch_bounds__(kThreads) void SiftFirstImageKernel(
    const __grid_constant__ FirstParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode == FrameMode::kIdle) return;
  const uint8_t* const __restrict__ image = params.input + frame.image_offset;
  const int64_t frame_offset = frame_index * params.stride;
  const Tile tile = TileOf<LargeTile>(params.job, static_cast<int>(blockIdx.x));
  MakeTile(params, tile, image);
  BlurTile<LargeTile>(params.job, frame_offset, tile);
}

template <typename Shape>
__global__ __launch_bounds__(kThreads) void SiftBlurKernel(
    const __grid_constant__ BlurParams params) {
  BeginNextKernel();
  AwaitKernelBefore();
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  if (params.frames.params[frame_index].mode == FrameMode::kIdle) return;
  const int64_t frame_offset = frame_index * params.stride;
  int index = 0;
  int tile = static_cast<int>(blockIdx.x);
  while (tile >= params.job[index].end_tile) ++index;
  if (index > 0) tile -= params.job[index - 1].end_tile;
  const BlurJob& job = params.job[index];
  const Tile place = TileOf<Shape>(job, tile);
  LoadTile<Shape>(job, place, job.from + frame_offset);
  BlurTile<Shape>(job, frame_offset, place);
}

// ---- Radii beyond a tile: rows to memory, then columns ----

constexpr int kWideThreads = 128;

struct WideParams {
  Frames frames;
  int64_t stride;
  int64_t rows_stride;  // floats of a frame's row-filtered image
  float* rows;
  BlurJob job;  // without taps
  SiftBlur blur;
};

__global__ __launch_bounds__(kWideThreads) void SiftWideRowsKernel(
    const __grid_constant__ WideParams params) {
  __shared__ float row[kWideThreads + 2 * algo::kSiftMaxRadius];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.z);
  if (params.frames.params[frame_index].mode == FrameMode::kIdle) return;
  const BlurJob& job = params.job;
  const int radius = params.blur.radius;
  const int x0 = static_cast<int>(blockIdx.x) * kWideThreads;
  const int y = static_cast<int>(blockIdx.y);
  const float* const from =
      job.from + frame_index * params.stride + static_cast<int64_t>(y) * job.pitch;
  for (int i = static_cast<int>(threadIdx.x); i < kWideThreads + 2 * radius; i += kWideThreads) {
    row[i] = from[algo::SiftMirror(x0 - radius + i, job.width_px)];
  }
  __syncthreads();  // the row is there
  const int x = x0 + static_cast<int>(threadIdx.x);
  if (x >= job.width_px) return;
  params.rows[frame_index * params.rows_stride + static_cast<int64_t>(y) * job.pitch + x] =
      algo::SiftBlurRow(row + radius + threadIdx.x, params.blur.taps, radius,
                        job.width_px % 2 != 0 && x == job.width_px - 1);
}

__global__ __launch_bounds__(kWideThreads) void SiftWideColumnsKernel(
    const __grid_constant__ WideParams params) {
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.z);
  if (params.frames.params[frame_index].mode == FrameMode::kIdle) return;
  const BlurJob& job = params.job;
  const int x = static_cast<int>(blockIdx.x * kWideThreads + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y);
  if (x >= job.width_px) return;
  const float* const rows = params.rows + frame_index * params.rows_stride + x;
  const auto at = [&](int v) {
    return rows[static_cast<int64_t>(algo::SiftMirror(v, job.height_px)) * job.pitch];
  };
  float sum = at(y) * params.blur.taps[0];
  for (int i = 1; i <= params.blur.radius; ++i) {
    sum = FusedMultiplyAdd(at(y + i) + at(y - i), params.blur.taps[i], sum);
  }
  const int64_t frame_offset = frame_index * params.stride;
  job.to[frame_offset + static_cast<int64_t>(y) * job.pitch + x] = sum;
  if (job.half != nullptr && x % 2 == 0 && y % 2 == 0 && x / 2 < job.half_width_px &&
      y / 2 < job.half_height_px) {
    job.half[frame_offset + static_cast<int64_t>(y / 2) * job.half_pitch + x / 2] = sum;
  }
}

// ---- Launches ----

BlurJob JobOf(const SiftScaleSpaceParams& params, int octave, int image, const SiftBlur& blur) {
  const SiftScaleSpace& space = params.geometry->space;
  const SiftOctaveShape& shape = space.octave[octave];
  BlurJob job = {};
  job.to = params.images + shape.offset + image * shape.plane;
  job.from = image > 0 ? job.to - shape.plane : nullptr;
  job.pitch = shape.pitch;
  job.width_px = shape.width_px;
  job.height_px = shape.height_px;
  if (image == params.geometry->options.octave_layers && octave + 1 < space.octaves) {
    const SiftOctaveShape& next = space.octave[octave + 1];
    job.half = params.images + next.offset;
    job.half_pitch = next.pitch;
    job.half_width_px = next.width_px;
    job.half_height_px = next.height_px;
  }
  job.radius = blur.radius;
  for (int i = 0; i <= Min(blur.radius, kSiftTileRadius); ++i) job.taps[i] = blur.taps[i];
  return job;
}

// Gives the jobs of a launch their tiles; returns how many there are.
template <typename Shape>
int PlaceTiles(BlurJob* jobs, int count) {
  int tiles = 0;
  for (int i = 0; i < count; ++i) {
    jobs[i].tiles_x = DivUp(jobs[i].width_px, Shape::kWidth);
    tiles += jobs[i].tiles_x * DivUp(jobs[i].height_px, Shape::kHeight);
    jobs[i].end_tile = tiles;
  }
  return tiles;
}

template <typename Shape>
absl::Status LaunchBlurs(BlurParams* blurs, bool overlaps, cudaStream_t stream) {
  const int tiles = PlaceTiles<Shape>(blurs->job, blurs->jobs);
  int radius = 0;
  for (int i = 0; i < blurs->jobs; ++i) radius = Max(radius, blurs->job[i].radius);
  return LaunchKernel(SiftBlurKernel<Shape>, "SiftBlurKernel", dim3(tiles, blurs->frames.count),
                      kThreads, overlaps, *blurs, stream, Shape::Floats(radius) * sizeof(float));
}

absl::Status LaunchWide(const SiftScaleSpaceParams& params, const BlurJob& job,
                        const SiftBlur& blur, cudaStream_t stream) {
  const SiftScaleSpace& space = params.geometry->space;
  const WideParams wide = {params.frames, space.stride, space.octave[0].plane,
                           params.rows,   job,          blur};
  const dim3 grid(DivUp(job.width_px, kWideThreads), job.height_px, params.frames.count);
  ORBSERVE_RETURN_IF_ERROR(LaunchKernel(SiftWideRowsKernel, "SiftWideRowsKernel", grid,
                                        kWideThreads, false, wide, stream));
  return LaunchKernel(SiftWideColumnsKernel, "SiftWideColumnsKernel", grid, kWideThreads, false,
                      wide, stream);
}

}  // namespace

absl::Status LaunchSiftScaleSpace(const SiftScaleSpaceParams& params, cudaStream_t stream) {
  const SiftGeometry& geometry = *params.geometry;
  const SiftScaleSpace& space = geometry.space;
  const int frames = params.frames.count;
  if (frames == 0 || space.octaves == 0) return absl::OkStatus();
  FirstParams first = {params.frames,
                       params.input,
                       params.pitch_bytes,
                       space.stride,
                       geometry.width_px,
                       geometry.height_px,
                       geometry.options.first_octave < 0,
                       JobOf(params, 0, 0, geometry.first_blur)};
  const int first_tiles = PlaceTiles<LargeTile>(&first.job, 1);
  ORBSERVE_RETURN_IF_ERROR(LaunchKernel(
      SiftFirstImageKernel, "SiftFirstImageKernel", dim3(first_tiles, frames), kThreads,
      params.follows, first, stream, LargeTile::Floats(first.job.radius) * sizeof(float)));
  // Image i of octave o is made at the time `layers` * o + i.
  const int layers = geometry.options.octave_layers;
  const int end = layers * (space.octaves - 1) + space.images;
  for (int time = 1; time < end; ++time) {
    BlurParams blurs = {};
    blurs.frames = params.frames;
    blurs.stride = space.stride;
    for (int o = 0; o < space.octaves; ++o) {
      const int image = time - layers * o;
      if (image < 1 || image >= space.images) continue;
      const SiftBlur& blur = geometry.blurs[image];
      const BlurJob job = JobOf(params, o, image, blur);
      if (blur.radius > kSiftTileRadius) {
        ORBSERVE_RETURN_IF_ERROR(LaunchWide(params, job, blur, stream));
      } else {
        blurs.job[blurs.jobs++] = job;
      }
    }
    if (blurs.jobs == 0) continue;
    const bool fills = PlaceTiles<LargeTile>(blurs.job, blurs.jobs) * frames >=
                       kTilesToFill * params.multiprocessors;
    ORBSERVE_RETURN_IF_ERROR(fills ? LaunchBlurs<LargeTile>(&blurs, params.overlaps, stream)
                                   : LaunchBlurs<SmallTile>(&blurs, params.overlaps, stream));
  }
  return absl::OkStatus();
}

absl::Status SiftScaleSpaceStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const LevelImages images = images_.At(context);
  return LaunchSiftScaleSpace(
      {context.frames, images.input, images.level[0].pitch_bytes, &buffers_.geometry(),
       buffers_.ScaleSpace(context).memory, buffers_.Rows(context), context.tables->multiprocessors,
       context.overlaps, context.follows},
      stream);
}

}  // namespace orbserve::gpu
