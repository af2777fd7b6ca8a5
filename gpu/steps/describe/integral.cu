// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: level images. Out: per (frame, level) an integral image modulo 2^32 in strips of 8 rows
// (IntegralImages). Sums of integers are equal in any order.
//
// First launch: a block has a strip, a thread four columns of it. Columns are summed down in
// registers, 8 x 4 of them, then along the rows: within a thread, across the warp by shuffles, and
// across warps through shared memory, all eight rows with one barrier. 512 threads take 2,048
// columns at once; wider levels take turns and carry the sum of each row over. Second launch: a
// warp has 32 columns of the strips' totals; 16 warps of a block take parts of the height, exchange
// the sums of their parts, and turn totals into base rows.

#include "gpu/steps/describe/integral.h"

#include "features/host_device.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/warp.cuh"

namespace orbserve::gpu {
namespace {

constexpr int kRows = kIntegralStripRows;
constexpr int kWarps = 16;
constexpr int kThreads = kWarps * kWarpLanes;
constexpr int kColumns = 4;  // of a thread: one word of pixels, one 16-byte store of sums
constexpr int kPassColumns = kThreads * kColumns;
constexpr int kRowAlignment = 32;  // entries: a line of 128 bytes

__device__ __forceinline__ uint32_t InclusiveWarpSum(uint32_t value) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

// Blocks of one frame: strips of all levels, one after the other.
__device__ __forceinline__ int TakeStrip(const IntegralParams& params, int* strip) {
  int l = 0;
  for (; l + 1 < params.integrals.levels; ++l) {
    const int strips = DivUp(params.images.level[l].height_px, kRows);
    if (*strip < strips) break;
    *strip -= strips;
  }
  return l;
}

__global__ __launch_bounds__(kThreads) void IntegralStripsKernel(
    const __grid_constant__ IntegralParams params) {
  alignas(16) __shared__ uint32_t warp_total[2][kWarps][kRows];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  const FrameParams& frame = params.frames.params[frame_index];
  if (frame.mode == FrameMode::kIdle) return;
  int strip = static_cast<int>(blockIdx.x);
  const int l = TakeStrip(params, &strip);
  const LevelImage& level = params.images.level[l];
  const IntegralLevel& integral = params.integrals.level[l];
  const int y = strip * kRows;
  const uint8_t* __restrict__ image =
      params.images.Image(frame, frame_index, l) + static_cast<int64_t>(y) * level.pitch_bytes;
  uint32_t* __restrict__ inner = params.integrals.Inner(frame_index, l) +
                                 static_cast<int64_t>(strip) * (kRows - 1) * integral.pitch;
  uint32_t* __restrict__ total =
      params.integrals.Bases(frame_index, l) + static_cast<int64_t>(strip) * integral.pitch;
  const int rows = Min(kRows, level.height_px - y);
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  // Inner row r + 1 of the strip holds the sums of its rows 0 to r; those of all rows are its
  // total.
  const auto row_of = [&](int r) {
    return r + 1 < kRows ? inner + static_cast<int64_t>(r) * integral.pitch : total;
  };

  uint32_t carry[kRows] = {};  // sums of the columns of earlier passes
  int buffer = 0;
  for (int first = 0; first < level.width_px; first += kPassColumns, buffer ^= 1) {
    const int x = first + static_cast<int>(threadIdx.x) * kColumns;
    uint32_t sum[kRows][kColumns];
    uint32_t column[kColumns] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      uint32_t word = 0;
      if (x < level.width_px && r < rows) {
        // The last word may hold padding of the row, whose sums nobody reads.
        word = *reinterpret_cast<const uint32_t*>(image + r * level.pitch_bytes + x);
      }
      uint32_t along = 0;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        column[c] += (word >> (8 * c)) & 0xffu;
        along += column[c];
        sum[r][c] = along;
      }
    }
    uint32_t before[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const uint32_t own = sum[r][kColumns - 1];
      const uint32_t inclusive = InclusiveWarpSum(own);
      before[r] = carry[r] + inclusive - own;
      if (lane == kWarpLanes - 1) warp_total[buffer][warp][r] = inclusive;
    }
    __syncthreads();  // all warps' totals are there; the buffer before is free again
    for (int w = 0; w < kWarps; ++w) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const uint32_t of_warp = warp_total[buffer][w][r];
        carry[r] += of_warp;
        if (w < warp) before[r] += of_warp;
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      // A strip at the lower edge has no row below its last one, and a total that nobody reads.
      if (r >= rows) continue;
      uint32_t* const row = row_of(r) + kIntegralLead;
      if (x == 0) row[0] = 0;
      if (x < level.width_px) {
        const uint4 four = {before[r] + sum[r][0], before[r] + sum[r][1], before[r] + sum[r][2],
                            before[r] + sum[r][3]};
        *reinterpret_cast<uint4*>(row + 1 + x) = four;
      }
    }
  }
}

// Entries of base rows that a block turns, over all levels.
__device__ __forceinline__ int TakeColumns(const IntegralParams& params, int* group) {
  int l = 0;
  for (; l + 1 < params.integrals.levels; ++l) {
    const int groups = DivUp(params.images.level[l].width_px + 1, kWarpLanes);
    if (*group < groups) break;
    *group -= groups;
  }
  return l;
}

__global__ __launch_bounds__(kThreads) void IntegralBasesKernel(
    const __grid_constant__ IntegralParams params) {
  __shared__ uint32_t part_total[kWarps][kWarpLanes];
  const int frame_index = params.frames.first + static_cast<int>(blockIdx.y);
  if (params.frames.params[frame_index].mode == FrameMode::kIdle) return;
  int group = static_cast<int>(blockIdx.x);
  const int l = TakeColumns(params, &group);
  const IntegralLevel& integral = params.integrals.level[l];
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int entry = group * kWarpLanes + lane;
  const bool inside = entry <= params.images.level[l].width_px;
  uint32_t* __restrict__ column = params.integrals.Bases(frame_index, l) + kIntegralLead + entry;
  // The total of the last strip is added to nothing, and may be missing.
  const int totals = integral.base_rows - 1;
  const int part = DivUp(integral.base_rows, kWarps);
  const int begin = warp * part;
  const int end = Min(begin + part, integral.base_rows);
  uint32_t sum = 0;
  if (inside) {
#pragma unroll 8
    for (int s = begin; s < Min(end, totals); ++s) {
      sum += column[static_cast<int64_t>(s) * integral.pitch];
    }
  }
  part_total[warp][lane] = sum;
  __syncthreads();  // the totals of all parts are there
  if (!inside) return;
  uint32_t base = 0;
  for (int w = 0; w < warp; ++w) base += part_total[w][lane];
#pragma unroll 4
  for (int s = begin; s < end; ++s) {
    uint32_t& at = column[static_cast<int64_t>(s) * integral.pitch];
    const uint32_t of_strip = s < totals ? at : 0;
    at = base;
    base += of_strip;
  }
}

}  // namespace

IntegralBuffers::IntegralBuffers(const CompiledPipeline& pipeline, int levels,
                                 ArenaLayout* layout) {
  images_.levels = levels;
  for (int l = 0; l < images_.levels; ++l) {
    const LevelGeometry& geometry = pipeline.level(l);
    IntegralLevel& level = images_.level[l];
    level.pitch = RoundUp(kIntegralLead + 1 + RoundUp(geometry.width_px, kColumns), kRowAlignment);
    level.base_rows = geometry.height_px / kRows + 1;
    level.inner = images_.inner_stride;
    level.bases = images_.bases_stride;
    images_.inner_stride +=
        static_cast<int64_t>(level.pitch) * DivUp(geometry.height_px, kRows) * (kRows - 1);
    images_.bases_stride += static_cast<int64_t>(level.pitch) * level.base_rows;
  }
  inner_ = layout->Add("integral inner rows",
                       static_cast<size_t>(images_.inner_stride) * sizeof(uint32_t));
  bases_ = layout->Add("integral base rows",
                       static_cast<size_t>(images_.bases_stride) * sizeof(uint32_t));
}

IntegralImages IntegralBuffers::At(const StepContext& context) const {
  IntegralImages images = images_;
  images.inner = reinterpret_cast<uint32_t*>(context.At(inner_));
  images.bases = reinterpret_cast<uint32_t*>(context.At(bases_));
  return images;
}

absl::Status LaunchIntegral(const IntegralParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  int strips = 0;
  int groups = 0;
  for (int l = 0; l < params.integrals.levels; ++l) {
    strips += DivUp(params.images.level[l].height_px, kRows);
    groups += DivUp(params.images.level[l].width_px + 1, kWarpLanes);
  }
  IntegralStripsKernel<<<dim3(strips, params.frames.count), kThreads, 0, stream>>>(params);
  ORBSERVE_RETURN_IF_ERROR(CheckLaunch("IntegralStripsKernel"));
  IntegralBasesKernel<<<dim3(groups, params.frames.count), kThreads, 0, stream>>>(params);
  return CheckLaunch("IntegralBasesKernel");
}

absl::Status IntegralStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  return LaunchIntegral({context.frames, images_.At(context), integrals_.At(context)}, stream);
}

}  // namespace orbserve::gpu
