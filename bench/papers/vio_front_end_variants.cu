// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/papers/vio_front_end_variants.h"

#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/algo/sad_score.h"
#include "features/algo/segment_test.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"

namespace orbserve::bench {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;
constexpr int kBlockRows = 8;
constexpr int kCellWarps = 4;  // of a cell
constexpr int kCellPx = 32;

// True if the response at (x, y), which is not 0, is above all others of its window. The nearest
// ring comes first, where most candidates fall. `at`: the entry of (x, y).
__device__ __forceinline__ bool IsMaximumBySpiral(const SuppressionParams& params,
                                                  const uint32_t* at, int x, int y) {
  const uint32_t own = *at;
  const auto beats = [&](int u, int v) {
    const bool inside =
        x + u >= 0 && y + v >= 0 && x + u < params.width_px && y + v < params.height_px;
    return inside && at[static_cast<int64_t>(v) * params.pitch + u] >= own;
  };
  for (int ring = 1; ring <= params.radius_px; ++ring) {
    for (int i = -ring; i < ring; ++i) {
      if (beats(i, -ring) || beats(ring, i) || beats(-i, ring) || beats(-ring, -i)) return false;
    }
  }
  return true;
}

__device__ __forceinline__ bool IsInside(const SuppressionParams& params, int x, int y) {
  return x >= params.border_px && y >= params.border_px && x < params.width_px - params.border_px &&
         y < params.height_px - params.border_px;
}

__device__ __forceinline__ uint64_t KeyAt(const SuppressionParams& params, uint32_t order, int x,
                                          int y) {
  return algo::CellKey(params.grid, algo::ValueOfOrderedBits(order), 0, x, y, 1.0f);
}

__global__ __launch_bounds__(kWarp* kBlockRows) void SpiralKernel(SuppressionParams params) {
  const int x = static_cast<int>(blockIdx.x) * kWarp + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * kBlockRows + static_cast<int>(threadIdx.y);
  if (!IsInside(params, x, y)) return;
  const uint32_t* const at = params.map + static_cast<int64_t>(y) * params.pitch + x;
  if (*at == 0 || !IsMaximumBySpiral(params, at, x, y)) return;
  atomicMin(
      reinterpret_cast<unsigned long long*>(params.winners) + algo::CellOf(params.grid, x, y, 1.0f),
      static_cast<unsigned long long>(KeyAt(params, *at, x, y)));
}

__global__ __launch_bounds__(kWarp* kCellWarps) void CellLinesKernel(SuppressionParams params) {
  __shared__ uint64_t best_of_warp[kCellWarps];
  const int cell =
      static_cast<int>(blockIdx.y) * params.grid.columns + static_cast<int>(blockIdx.x);
  const int x = static_cast<int>(blockIdx.x) * kCellPx + static_cast<int>(threadIdx.x);
  uint64_t best = algo::kNoCellKey;
  for (int line = static_cast<int>(threadIdx.y); line < kCellPx; line += kCellWarps) {
    const int y = static_cast<int>(blockIdx.y) * kCellPx + line;
    if (!IsInside(params, x, y)) continue;
    const uint32_t* const at = params.map + static_cast<int64_t>(y) * params.pitch + x;
    if (*at == 0) continue;
    const uint64_t key = KeyAt(params, *at, x, y);
    if (key < best && IsMaximumBySpiral(params, at, x, y)) best = key;
  }
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    best =
        Min<uint64_t>(best, __shfl_xor_sync(kAll, static_cast<unsigned long long>(best), distance));
  }
  if (threadIdx.x == 0) best_of_warp[threadIdx.y] = best;
  __syncthreads();  // the bests of all warps are there
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  for (int i = 1; i < kCellWarps; ++i) best = Min<uint64_t>(best, best_of_warp[i]);
  params.winners[cell] = best;
}

// Answers of a table of bytes, as algo::InArcTable() has them of bits.
__device__ __forceinline__ bool HasArc(const uint8_t* table, uint32_t bits) {
  return table[bits] != 0;
}
__device__ __forceinline__ bool HasArc(const uint32_t* table, uint32_t bits) {
  return algo::InArcTable(table, bits);
}

template <typename Table>
__device__ __forceinline__ int LargestThreshold(const uint8_t (&ring)[algo::kFastRingPixels],
                                                int grey, int threshold_grey, const Table* table) {
  int passes = threshold_grey;
  int fails = 255;
  while (fails - passes > 1) {
    const int middle = (passes + fails) / 2;
    const algo::SegmentBits bits = algo::SegmentBitsOf(ring, grey, middle);
    if (HasArc(table, bits.brighter) || HasArc(table, bits.darker)) {
      passes = middle;
    } else {
      fails = middle;
    }
  }
  return passes;
}

template <Score kScore, typename Table>
__global__ __launch_bounds__(kWarp* kBlockRows) void TableKernel(TableParams params,
                                                                 const Table* __restrict__ table) {
  const int x = static_cast<int>(blockIdx.x) * kWarp + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * kBlockRows + static_cast<int>(threadIdx.y);
  if (x >= params.width_px || y >= params.height_px) return;
  float response = 0.0f;
  constexpr int kRadius = algo::kFastRadiusPx;
  if (x >= kRadius && y >= kRadius && x < params.width_px - kRadius &&
      y < params.height_px - kRadius) {
    const uint8_t* const centre = params.image + static_cast<int64_t>(y) * params.pitch_bytes + x;
    uint8_t ring[algo::kFastRingPixels];
#pragma unroll
    for (int i = 0; i < algo::kFastRingPixels; ++i) {
      ring[i] = centre[algo::FastRingY(i) * params.pitch_bytes + algo::FastRingX(i)];
    }
    const int grey = *centre;
    const algo::SegmentBits bits = algo::SegmentBitsOf(ring, grey, params.threshold_grey);
    const bool brighter = HasArc(table, bits.brighter);
    if (brighter || HasArc(table, bits.darker)) {
      int score = 0;
      if constexpr (kScore == Score::kSadCircle) {
        score = algo::SadCircleScore(ring, grey);
      } else if constexpr (kScore == Score::kSadArc) {
        score = algo::SumOfDifferences(
            ring, grey,
            algo::ArcMembers(brighter ? bits.brighter : bits.darker, params.arc_length));
      } else {
        score = LargestThreshold(ring, grey, params.threshold_grey, table);
      }
      response = static_cast<float>(score);
    }
  }
  params.responses[static_cast<int64_t>(y) * params.width_px + x] = response;
}

template <Score kScore>
void LaunchTable(const TableParams& params, dim3 grid, cudaStream_t stream) {
  const dim3 block(kWarp, kBlockRows);
  if (params.byte_table != nullptr) {
    TableKernel<kScore><<<grid, block, 0, stream>>>(params, params.byte_table);
  } else {
    TableKernel<kScore><<<grid, block, 0, stream>>>(params, params.bit_table);
  }
}

dim3 GridOf(int width_px, int height_px, int rows) {
  return dim3(static_cast<unsigned>(DivUp(width_px, kWarp)),
              static_cast<unsigned>(DivUp(height_px, rows)));
}

}  // namespace

absl::Status LaunchSuppression(SuppressionVariant variant, const SuppressionParams& params,
                               cudaStream_t stream) {
  if (variant == SuppressionVariant::kSpiral) {
    SpiralKernel<<<GridOf(params.width_px, params.height_px, kBlockRows), dim3(kWarp, kBlockRows),
                   0, stream>>>(params);
  } else {
    CellLinesKernel<<<GridOf(params.width_px, params.height_px, kCellPx), dim3(kWarp, kCellWarps),
                      0, stream>>>(params);
  }
  return gpu::CheckLaunch("LaunchSuppression");
}

absl::Status LaunchTableResponses(const TableParams& params, cudaStream_t stream) {
  const dim3 grid = GridOf(params.width_px, params.height_px, kBlockRows);
  switch (params.score) {
    case Score::kSadCircle:
      LaunchTable<Score::kSadCircle>(params, grid, stream);
      break;
    case Score::kSadArc:
      LaunchTable<Score::kSadArc>(params, grid, stream);
      break;
    default:
      LaunchTable<Score::kFast>(params, grid, stream);
      break;
  }
  return gpu::CheckLaunch("TableKernel");
}

}  // namespace orbserve::bench
