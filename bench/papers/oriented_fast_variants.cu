// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/papers/oriented_fast_variants.h"

#include <algorithm>
#include <array>

#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/algo/orientation.h"
#include "features/algo/segment_test.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"

namespace orbserve::bench {
namespace {

constexpr int kArcLength = 9;
constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;
constexpr int kRing = algo::kFastRingPixels;
constexpr int kWalk = kRing + kArcLength;  // ring pixels that a walk for a run looks at
constexpr int kMargin = algo::kHarrisRadiusPx;

constexpr int kBlockColumns = 32;
// Rows of a block: 32 for variants on global memory, as in the baseline; 8 for the others.
constexpr int kGlobalRows = 32;
constexpr int kSharedRows = 8;
constexpr int kTilePitch = kBlockColumns + 2 * kMargin;  // a multiple of four
constexpr int kTileRows = kSharedRows + 2 * kMargin;
constexpr int kWindow = algo::kHarrisBlockPx;
constexpr int kColumnsOfWarp = kBlockColumns + kWindow - 1;  // columns of gradients round a row

enum Class : uint8_t { kSimilar = 0, kDarker = 1, kBrighter = 2 };

// kClasses[255 - centre + other]: the class of `other`.
__constant__ uint8_t kClasses[511];
__constant__ int kRingOffsets[kMaxVariantLevels][kWalk];
__constant__ int kTileRingOffsets[kWalk];
__constant__ uint32_t kArcBits[algo::kArcTableWords];  // of the style of OpenCV

constexpr bool IsShared(FastVariant fast) {
  return fast == FastVariant::kShared || fast == FastVariant::kSharedBinary;
}
constexpr int RowsOf(FastVariant fast) { return IsShared(fast) ? kSharedRows : kGlobalRows; }

// Opposite pixels of the ring are looked at in pairs; after some pairs most pixels are ruled out.
// Then the ring is walked for a run of one class.
__device__ __forceinline__ bool IsCornerByBranches(const uint8_t* centre, const int* offsets,
                                                   int threshold_grey) {
  const uint8_t* const classes = kClasses + 255 - *centre;
  const auto pair = [&](int i) {
    return classes[centre[offsets[i]]] | classes[centre[offsets[i + kRing / 2]]];
  };
  int both = pair(0);
  if (both == 0) return false;
  both &= pair(2);
  both &= pair(4);
  both &= pair(6);
  if (both == 0) return false;
  both &= pair(1);
  both &= pair(3);
  both &= pair(5);
  both &= pair(7);
  int run = 0;
  if ((both & kDarker) != 0) {
    const int limit = *centre - threshold_grey;
    for (int i = 0; i < kWalk; ++i) {
      if (centre[offsets[i]] < limit) {
        if (++run >= kArcLength) return true;
      } else {
        run = 0;
      }
    }
  }
  if ((both & kBrighter) != 0) {
    const int limit = *centre + threshold_grey;
    run = 0;
    for (int i = 0; i < kWalk; ++i) {
      if (centre[offsets[i]] > limit) {
        if (++run >= kArcLength) return true;
      } else {
        run = 0;
      }
    }
  }
  return false;
}

__device__ __forceinline__ bool IsCornerByBits(const uint8_t* centre, int pitch,
                                               int threshold_grey) {
  uint8_t ring[kRing];
#pragma unroll
  for (int i = 0; i < kRing; ++i) {
    ring[i] = centre[algo::FastRingY(i) * pitch + algo::FastRingX(i)];
  }
  const uint32_t bits = algo::PackedSegmentBits(ring, *centre, threshold_grey);
  return algo::HasArc(bits >> 16, kArcLength) || algo::HasArc(bits & 0xffff, kArcLength);
}

__device__ __forceinline__ float ResponseByGradients(const uint8_t* centre, int pitch) {
  algo::GradientSums sums = {0, 0, 0};
#pragma unroll 1
  for (int i = 0; i < kWindow * kWindow; ++i) {
    const uint8_t* const at =
        centre + (i / kWindow - kWindow / 2) * pitch + i % kWindow - kWindow / 2;
    const int gx = algo::SobelX(at, pitch);
    const int gy = algo::SobelY(at, pitch);
    sums.xx += gx * gx;
    sums.yy += gy * gy;
    sums.xy += gx * gy;
  }
  return algo::HarrisResponse(sums);
}

// Differences and weighted sums of a row first, which columns of the window share.
__device__ __forceinline__ float ResponseByRows(const uint8_t* centre) {
  algo::GradientSums sums = {0, 0, 0};
  int difference[3][kWindow];
  int sum[3][kWindow];
#pragma unroll
  for (int row = 0; row < kWindow + 2; ++row) {
    const uint8_t* const at = centre + (row - kMargin) * kTilePitch - kMargin;
    int grey[kWindow + 2];
#pragma unroll
    for (int i = 0; i < kWindow + 2; ++i) grey[i] = at[i];
#pragma unroll
    for (int i = 0; i < kWindow; ++i) {
      difference[row % 3][i] = grey[i + 2] - grey[i];
      sum[row % 3][i] = grey[i] + 2 * grey[i + 1] + grey[i + 2];
      if (row < 2) continue;
      const int gx =
          difference[(row + 1) % 3][i] + 2 * difference[(row + 2) % 3][i] + difference[row % 3][i];
      const int gy = sum[row % 3][i] - sum[(row + 1) % 3][i];
      sums.xx += gx * gx;
      sums.yy += gy * gy;
      sums.xy += gx * gy;
    }
  }
  return algo::HarrisResponse(sums);
}

// Sums over the seven rows of each column of gradients that a row of pixels needs.
struct ColumnSums {
  int xx[kColumnsOfWarp];
  int yy[kColumnsOfWarp];
  int xy[kColumnsOfWarp];
};
// Rows of differences and sums of the same columns.
struct RowResults {
  short difference[kWindow + 2][kColumnsOfWarp];
  short sum[kWindow + 2][kColumnsOfWarp];
};

__device__ __forceinline__ float ResponseOfColumns(const ColumnSums& columns, int lane) {
  algo::GradientSums sums = {0, 0, 0};
#pragma unroll
  for (int i = 0; i < kWindow; ++i) {
    sums.xx += columns.xx[lane + i];
    sums.yy += columns.yy[lane + i];
    sums.xy += columns.xy[lane + i];
  }
  return algo::HarrisResponse(sums);
}

// `corner`: the pixel of the tile that lies kMargin rows above and columns left of the warp's
// first one.
__device__ __forceinline__ void SumColumnsFromRows(const uint8_t* corner, int lane,
                                                   RowResults* rows, ColumnSums* columns) {
#pragma unroll 1
  for (int c = lane; c < kColumnsOfWarp; c += kWarp) {
#pragma unroll
    for (int row = 0; row < kWindow + 2; ++row) {
      const uint8_t* const at = corner + row * kTilePitch + c;
      rows->difference[row][c] = static_cast<short>(at[2] - at[0]);
      rows->sum[row][c] = static_cast<short>(at[0] + 2 * at[1] + at[2]);
    }
  }
  __syncwarp();  // all rows are there
#pragma unroll 1
  for (int c = lane; c < kColumnsOfWarp; c += kWarp) {
    int xx = 0;
    int yy = 0;
    int xy = 0;
#pragma unroll
    for (int row = 2; row < kWindow + 2; ++row) {
      const int gx = rows->difference[row - 2][c] + 2 * rows->difference[row - 1][c] +
                     rows->difference[row][c];
      const int gy = rows->sum[row][c] - rows->sum[row - 2][c];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
    columns->xx[c] = xx;
    columns->yy[c] = yy;
    columns->xy[c] = xy;
  }
}

__device__ __forceinline__ void SumColumnsInRegisters(const uint8_t* corner, int lane,
                                                      ColumnSums* columns) {
#pragma unroll 1
  for (int c = lane; c < kColumnsOfWarp; c += kWarp) {
    int difference[3];
    int sum[3];
    int xx = 0;
    int yy = 0;
    int xy = 0;
#pragma unroll
    for (int row = 0; row < kWindow + 2; ++row) {
      const uint8_t* const at = corner + row * kTilePitch + c;
      difference[row % 3] = at[2] - at[0];
      sum[row % 3] = at[0] + 2 * at[1] + at[2];
      if (row < 2) continue;
      const int gx =
          difference[(row + 1) % 3] + 2 * difference[(row + 2) % 3] + difference[row % 3];
      const int gy = sum[row % 3] - sum[(row + 1) % 3];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
    columns->xx[c] = xx;
    columns->yy[c] = yy;
    columns->xy[c] = xy;
  }
}

// Blocks of the levels, one behind the other.
struct Blocks {
  int begin[kMaxVariantLevels + 1];
  int columns[kMaxVariantLevels];
};

template <FastVariant kFast, HarrisVariant kHarris>
__global__ __launch_bounds__(kBlockColumns* RowsOf(kFast)) void VariantKernel(
    const __grid_constant__ VariantParams params, const __grid_constant__ Blocks blocks) {
  constexpr bool kByWarp =
      kHarris == HarrisVariant::kParaSeparable || kHarris == HarrisVariant::kSemiSeparable;
  constexpr int kRows = RowsOf(kFast);
  constexpr int kThreads = kBlockColumns * kRows;
  __shared__ __align__(16) uint8_t tile[IsShared(kFast) ? kTileRows * kTilePitch : 16];
  __shared__ ColumnSums columns[kByWarp ? kSharedRows : 1];
  __shared__ RowResults rows[kHarris == HarrisVariant::kParaSeparable ? kSharedRows : 1];
  const int block = static_cast<int>(blockIdx.x);
  int l = 0;
  while (l + 1 < params.levels && block >= blocks.begin[l + 1]) ++l;
  const VariantLevel& level = params.level[l];
  const int local = block - blocks.begin[l];
  const int x_begin = local % blocks.columns[l] * kBlockColumns;
  const int y_begin = local / blocks.columns[l] * kRows;
  const int lane = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(threadIdx.y);
  const int x = x_begin + lane;
  const int y = y_begin + row;
  const bool fits =
      x >= kMargin && y >= kMargin && x < level.width_px - kMargin && y < level.height_px - kMargin;
  const uint8_t* centre = level.image + static_cast<int64_t>(y) * level.pitch_bytes + x;
  int pitch = level.pitch_bytes;
  if constexpr (IsShared(kFast)) {
    constexpr int kWords = kTilePitch / 4;
    for (int i = row * kBlockColumns + lane; i < kTileRows * kWords; i += kThreads) {
      // Pixels beyond the image are read by nobody.
      const int tile_y = min(max(y_begin - kMargin + i / kWords, 0), level.height_px - 1);
      const int tile_x = min(max(x_begin - kMargin + i % kWords * 4, 0), level.pitch_bytes - 4);
      reinterpret_cast<uint32_t*>(tile)[i] = *reinterpret_cast<const uint32_t*>(
          level.image + static_cast<int64_t>(tile_y) * level.pitch_bytes + tile_x);
    }
    __syncthreads();  // the tile is there
    centre = tile + (row + kMargin) * kTilePitch + lane + kMargin;
    pitch = kTilePitch;
  } else if (!fits) {
    return;
  }
  bool is_corner = false;
  if (fits) {
    if constexpr (kFast == FastVariant::kBaseline) {
      is_corner = IsCornerByBranches(centre, kRingOffsets[l], params.threshold_grey);
    } else if constexpr (kFast == FastVariant::kShared) {
      is_corner = IsCornerByBranches(centre, kTileRingOffsets, params.threshold_grey);
    } else {
      is_corner = IsCornerByBits(centre, pitch, params.threshold_grey);
    }
  }
  float response = 1.0f;
  if constexpr (kByWarp) {
    if (__any_sync(kAll, is_corner) == 0) return;  // the flag of the warp
    const uint8_t* const corner = tile + row * kTilePitch;
    if constexpr (kHarris == HarrisVariant::kParaSeparable) {
      SumColumnsFromRows(corner, lane, &rows[row], &columns[row]);
    } else {
      SumColumnsInRegisters(corner, lane, &columns[row]);
    }
    __syncwarp();  // all columns are there
    if (is_corner) response = ResponseOfColumns(columns[row], lane);
  } else if constexpr (kHarris == HarrisVariant::kSeparable) {
    if (is_corner) response = ResponseByRows(centre);
  } else if constexpr (kHarris == HarrisVariant::kBaseline) {
    if (is_corner) response = ResponseByGradients(centre, pitch);
  }
  if (is_corner) level.responses[static_cast<int64_t>(y) * level.response_pitch + x] = response;
}

template <FastVariant kFast, HarrisVariant kHarris>
absl::Status Launch(const VariantParams& params, cudaStream_t stream) {
  constexpr int kRows = RowsOf(kFast);
  Blocks blocks = {};
  for (int l = 0; l < params.levels; ++l) {
    blocks.columns[l] = DivUp(params.level[l].width_px, kBlockColumns);
    blocks.begin[l + 1] =
        blocks.begin[l] + blocks.columns[l] * DivUp(params.level[l].height_px, kRows);
  }
  VariantKernel<kFast, kHarris>
      <<<blocks.begin[params.levels], dim3(kBlockColumns, kRows), 0, stream>>>(params, blocks);
  return gpu::CheckLaunch("VariantKernel");
}

// --- The style of OpenCV's CUDA module ---

constexpr int kStyleRows = 8;
constexpr int kStyleThreads = kWarp * kStyleRows;

// Largest threshold at which the pixel is a corner, by halving the interval.
__device__ __forceinline__ int ScoreBySearch(const uint8_t (&ring)[kRing], int grey,
                                             int threshold_grey) {
  return algo::LargestThresholdBySearch(ring, grey, threshold_grey, kArcBits);
}

__global__ __launch_bounds__(kStyleThreads) void StyleCornersKernel(VariantLevel level,
                                                                    int threshold_grey,
                                                                    StyleLists lists,
                                                                    uint32_t most) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + algo::kFastRadiusPx;
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) + algo::kFastRadiusPx;
  if (x >= level.width_px - algo::kFastRadiusPx || y >= level.height_px - algo::kFastRadiusPx) {
    return;
  }
  const uint8_t* const centre = level.image + static_cast<int64_t>(y) * level.pitch_bytes + x;
  const int pitch = level.pitch_bytes;
  const int grey = *centre;
  uint8_t ring[kRing];
  const auto load = [&](int i) {
    ring[i] = centre[algo::FastRingY(i) * pitch + algo::FastRingX(i)];
    return abs(ring[i] - grey) > threshold_grey;
  };
  // Opposite ends of two diameters rule out most pixels before the rest is read.
  if (!load(0) & !load(8)) return;
  if (!load(4) & !load(12)) return;
#pragma unroll
  for (int i = 0; i < kRing; ++i) {
    if (i % 4 != 0) load(i);
  }
  const algo::SegmentBits bits = algo::SegmentBitsOf(ring, grey, threshold_grey);
  const bool brighter = __popc(bits.brighter) > kRing / 2;
  const bool darker = __popc(bits.darker) > kRing / 2;
  if (!(brighter && algo::InArcTable(kArcBits, bits.brighter)) &&
      !(darker && algo::InArcTable(kArcBits, bits.darker))) {
    return;
  }
  lists.scores[static_cast<int64_t>(y) * level.width_px + x] =
      ScoreBySearch(ring, grey, threshold_grey);
  const uint32_t place = atomicAdd(&lists.counts[0], 1u);
  if (place < most) lists.found[place] = static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x);
}

__global__ __launch_bounds__(kStyleThreads) void StyleSuppressionKernel(VariantLevel level,
                                                                        StyleLists lists,
                                                                        uint32_t found) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= found) return;
  const uint32_t place = lists.found[i];
  const int32_t* const score = lists.scores + static_cast<int64_t>(place >> 16) * level.width_px +
                               static_cast<int>(place & 0xffff);
  const int own = *score;
  const int above = level.width_px;
  const bool is_maximum = own > score[-above - 1] && own > score[-above] &&
                          own > score[-above + 1] && own > score[-1] && own > score[1] &&
                          own > score[above - 1] && own > score[above] && own > score[above + 1];
  if (is_maximum) lists.kept[atomicAdd(&lists.counts[1], 1u)] = place;
}

__device__ __forceinline__ int SumOfWarp(int value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAll, value, distance);
  }
  return value;
}

__global__ __launch_bounds__(kStyleThreads) void StyleResponsesKernel(VariantLevel level,
                                                                      StyleLists lists,
                                                                      uint32_t kept) {
  const uint32_t i = blockIdx.x * kStyleRows + threadIdx.y;
  if (i >= kept) return;  // the whole warp
  const uint32_t place = lists.kept[i];
  const int x = static_cast<int>(place & 0xffff);
  const int y = static_cast<int>(place >> 16);
  const bool fits =
      x >= kMargin && y >= kMargin && x < level.width_px - kMargin && y < level.height_px - kMargin;
  algo::GradientSums sums = {0, 0, 0};
  for (int n = static_cast<int>(threadIdx.x); fits && n < kWindow * kWindow; n += kWarp) {
    const uint8_t* const at =
        level.image + static_cast<int64_t>(y + n / kWindow - kWindow / 2) * level.pitch_bytes + x +
        n % kWindow - kWindow / 2;
    const int gx = algo::SobelX(at, level.pitch_bytes);
    const int gy = algo::SobelY(at, level.pitch_bytes);
    sums.xx += gx * gx;
    sums.yy += gy * gy;
    sums.xy += gx * gy;
  }
  sums = {SumOfWarp(sums.xx), SumOfWarp(sums.yy), SumOfWarp(sums.xy)};
  if (threadIdx.x == 0) lists.responses[i] = algo::HarrisResponse(sums);
}

__global__ __launch_bounds__(kStyleThreads) void StyleAnglesKernel(VariantLevel level,
                                                                   StyleLists lists,
                                                                   uint32_t kept) {
  constexpr int kRadius = algo::kCentroidRadiusPx;
  const uint32_t i = blockIdx.x * kStyleRows + threadIdx.y;
  if (i >= kept) return;  // the whole warp
  const uint32_t place = lists.kept[i];
  const int x = static_cast<int>(place & 0xffff);
  const int y = static_cast<int>(place >> 16);
  const bool fits = x > kRadius && y > kRadius && x < level.width_px - kRadius - 1 &&
                    y < level.height_px - kRadius - 1;
  // A lane takes a column of the disc; rows above and below the middle go together.
  int moment_x = 0;
  int moment_y = 0;
  const int u = static_cast<int>(threadIdx.x) - kRadius;
  for (int v = -kRadius; fits && v <= kRadius; ++v) {
    const int half_width = algo::CentroidHalfWidth(v < 0 ? -v : v);
    if (u < -half_width || u > half_width) continue;
    const int grey = level.image[static_cast<int64_t>(y + v) * level.pitch_bytes + x + u];
    moment_x += u * grey;
    moment_y += v * grey;
  }
  const algo::Moments moments = {SumOfWarp(moment_x), SumOfWarp(moment_y)};
  if (threadIdx.x == 0) lists.angles_deg[i] = algo::CentroidAngleDegrees(moments);
}

__global__ __launch_bounds__(kStyleThreads) void StyleMergeKernel(StyleLists lists, uint32_t kept,
                                                                  int octave, float* rows,
                                                                  int64_t pitch, int64_t first) {
  constexpr float kPatchPx = 31.0f;
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kept) return;
  const float scale = static_cast<float>(1 << octave);
  const uint32_t place = lists.kept[i];
  float* const to = rows + first + i;
  to[0] = static_cast<float>(place & 0xffff) * scale;
  to[pitch] = static_cast<float>(place >> 16) * scale;
  to[2 * pitch] = lists.responses[i];
  to[3 * pitch] = lists.angles_deg[i];
  to[4 * pitch] = static_cast<float>(octave);
  to[5 * pitch] = kPatchPx * scale;
}

}  // namespace

absl::Status PrepareVariants(const VariantParams& params) {
  std::array<uint8_t, 511> classes = {};
  for (int i = 0; i < 511; ++i) {
    const int difference = i - 255;
    classes[static_cast<size_t>(i)] = difference < -params.threshold_grey  ? kDarker
                                      : difference > params.threshold_grey ? kBrighter
                                                                           : kSimilar;
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyToSymbol(kClasses, classes.data(), classes.size()));
  int offsets[kMaxVariantLevels][kWalk] = {};
  int tile_offsets[kWalk];
  for (int i = 0; i < kWalk; ++i) {
    const int u = algo::FastRingX(i % kRing);
    const int v = algo::FastRingY(i % kRing);
    for (int l = 0; l < params.levels; ++l) offsets[l][i] = v * params.level[l].pitch_bytes + u;
    tile_offsets[i] = v * kTilePitch + u;
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyToSymbol(kRingOffsets, offsets, sizeof(offsets)));
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemcpyToSymbol(kTileRingOffsets, tile_offsets, sizeof(tile_offsets)));
  const auto table = algo::MakeArcTable(kArcLength);
  return gpu::StatusFromCuda(
      cudaMemcpyToSymbol(kArcBits, table.data(), table.size() * sizeof(table[0])),
      "cudaMemcpyToSymbol");
}

absl::Status LaunchVariant(FastVariant fast, HarrisVariant harris, const VariantParams& params,
                           cudaStream_t stream) {
  using F = FastVariant;
  using H = HarrisVariant;
  switch (fast) {
    case F::kBaseline:
      return harris == H::kNone ? Launch<F::kBaseline, H::kNone>(params, stream)
                                : Launch<F::kBaseline, H::kBaseline>(params, stream);
    case F::kBinary:
      return harris == H::kNone ? Launch<F::kBinary, H::kNone>(params, stream)
                                : Launch<F::kBinary, H::kBaseline>(params, stream);
    case F::kShared:
      return harris == H::kNone ? Launch<F::kShared, H::kNone>(params, stream)
                                : Launch<F::kShared, H::kBaseline>(params, stream);
    case F::kSharedBinary:
      break;
  }
  switch (harris) {
    case H::kNone:
      return Launch<F::kSharedBinary, H::kNone>(params, stream);
    case H::kBaseline:
      return Launch<F::kSharedBinary, H::kBaseline>(params, stream);
    case H::kSeparable:
      return Launch<F::kSharedBinary, H::kSeparable>(params, stream);
    case H::kParaSeparable:
      return Launch<F::kSharedBinary, H::kParaSeparable>(params, stream);
    case H::kSemiSeparable:
      break;
  }
  return Launch<F::kSharedBinary, H::kSemiSeparable>(params, stream);
}

absl::Status LaunchStyleCorners(const VariantLevel& level, int threshold_grey,
                                const StyleLists& lists, uint32_t most, cudaStream_t stream) {
  const int columns = level.width_px - 2 * algo::kFastRadiusPx;
  const int rows = level.height_px - 2 * algo::kFastRadiusPx;
  const dim3 grid(static_cast<unsigned>(DivUp(columns, kWarp)),
                  static_cast<unsigned>(DivUp(rows, kStyleRows)));
  StyleCornersKernel<<<grid, dim3(kWarp, kStyleRows), 0, stream>>>(level, threshold_grey, lists,
                                                                   most);
  return gpu::CheckLaunch("StyleCornersKernel");
}

absl::Status LaunchStyleSuppression(const VariantLevel& level, const StyleLists& lists,
                                    uint32_t found, cudaStream_t stream) {
  if (found == 0) return absl::OkStatus();
  StyleSuppressionKernel<<<(found + kStyleThreads - 1) / kStyleThreads, kStyleThreads, 0, stream>>>(
      level, lists, found);
  return gpu::CheckLaunch("StyleSuppressionKernel");
}

absl::Status LaunchStyleResponses(const VariantLevel& level, const StyleLists& lists, uint32_t kept,
                                  cudaStream_t stream) {
  if (kept == 0) return absl::OkStatus();
  StyleResponsesKernel<<<(kept + kStyleRows - 1) / kStyleRows, dim3(kWarp, kStyleRows), 0,
                         stream>>>(level, lists, kept);
  return gpu::CheckLaunch("StyleResponsesKernel");
}

absl::Status LaunchStyleAngles(const VariantLevel& level, const StyleLists& lists, uint32_t kept,
                               cudaStream_t stream) {
  if (kept == 0) return absl::OkStatus();
  StyleAnglesKernel<<<(kept + kStyleRows - 1) / kStyleRows, dim3(kWarp, kStyleRows), 0, stream>>>(
      level, lists, kept);
  return gpu::CheckLaunch("StyleAnglesKernel");
}

absl::Status LaunchStyleMerge(const StyleLists& lists, uint32_t kept, int octave, float* rows,
                              int64_t pitch, int64_t first, cudaStream_t stream) {
  if (kept == 0) return absl::OkStatus();
  StyleMergeKernel<<<(kept + kStyleThreads - 1) / kStyleThreads, kStyleThreads, 0, stream>>>(
      lists, kept, octave, rows, pitch, first);
  return gpu::CheckLaunch("StyleMergeKernel");
}

}  // namespace orbserve::bench
