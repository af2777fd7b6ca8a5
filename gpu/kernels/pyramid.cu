// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: one level of each frame, [frame] height x pitch bytes. Out: one or more other levels alike.
// Exact-linear resampling in fixed point (features/algo/pyramid.h; OpenCV's INTER_LINEAR_EXACT).
//
// A thread makes 4 x 2 neighbouring pixels: the taps of its columns are read once, and the four
// bytes of a row leave in one store. Source bytes are read one by one: neighbours of a warp lie in
// the same one or two cache lines at any scale, and 16 loads in flight hide the latency.
// No shared memory; 38 registers.

#include "gpu/kernels/pyramid.h"

#include "features/algo/pyramid.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr int kColumnsPerThread = 4;  // one 4-byte store
constexpr int kRowsPerThread = 2;     // halves the reads of the column taps
constexpr int kBlockWidth = 32;       // threads; a warp writes 128 bytes of a row
constexpr int kBlockHeight = 4;

template <bool kMasks>
__global__ __launch_bounds__(kBlockWidth* kBlockHeight) void ResizeKernel(
    const __grid_constant__ ResizeParams params) {
  const BatchView& batch = params.batch;
  const int levels = params.last_level - params.first_level + 1;
  const int frame_index = static_cast<int>(blockIdx.z) / levels;
  const int level_index = params.first_level + static_cast<int>(blockIdx.z) % levels;
  const LevelLayout& level = batch.level[level_index];
  const int x0 = static_cast<int>(blockIdx.x * kBlockWidth + threadIdx.x) * kColumnsPerThread;
  const int y0 = static_cast<int>(blockIdx.y * kBlockHeight + threadIdx.y) * kRowsPerThread;
  if (x0 >= level.width_px || y0 >= level.height_px) return;
  const FrameParams& frame = batch.params[frame_index];
  if (frame.mode == FrameMode::kIdle) return;

  const uint8_t* source;
  uint8_t* destination;
  if constexpr (kMasks) {
    source = batch.Mask(frame, frame_index, params.source_level);
    if (source == nullptr) return;
    destination = batch.mask_pyramid + frame_index * batch.pyramid_stride + level.image_offset;
  } else {
    source = batch.Image(frame, frame_index, params.source_level);
    destination = batch.pyramid + frame_index * batch.pyramid_stride + level.image_offset;
  }
  const int source_pitch = batch.level[params.source_level].pitch_bytes;

  ResizeEntry column[kColumnsPerThread];
#pragma unroll
  for (int i = 0; i < kColumnsPerThread; ++i) {
    // Columns beyond the last repeat it; their pixels fall into the row's padding.
    column[i] = batch.taps[level.x_taps + min(x0 + i, level.width_px - 1)];
  }
#pragma unroll
  for (int row = 0; row < kRowsPerThread; ++row) {
    const int y = y0 + row;
    if (y >= level.height_px) return;
    const ResizeEntry tap = batch.taps[level.y_taps + y];
    const uint8_t* __restrict__ top = source + static_cast<int64_t>(tap.first) * source_pitch;
    const uint8_t* __restrict__ bottom = top + tap.next * source_pitch;
    uint32_t packed = 0;
#pragma unroll
    for (int i = 0; i < kColumnsPerThread; ++i) {
      const int left = column[i].first;
      const int right = left + column[i].next;
      uint8_t pixel = algo::ResizeColumn(
          algo::ResizeRow(top[left], top[right], column[i].weight),
          algo::ResizeRow(bottom[left], bottom[right], column[i].weight), tap.weight);
      if constexpr (kMasks) pixel = algo::LevelMask(pixel);
      packed |= static_cast<uint32_t>(pixel) << (8 * i);
    }
    *reinterpret_cast<uint32_t*>(destination + static_cast<int64_t>(y) * level.pitch_bytes + x0) =
        packed;
  }
}

}  // namespace

absl::Status LaunchResize(const ResizeParams& params, cudaStream_t stream) {
  const int levels = params.last_level - params.first_level + 1;
  if (levels <= 0 || params.batch.frame_count == 0) return absl::OkStatus();
  // The first destination is the largest.
  const LevelLayout& largest = params.batch.level[params.first_level];
  const dim3 block(kBlockWidth, kBlockHeight);
  const dim3 grid(DivUp(largest.width_px, kBlockWidth * kColumnsPerThread),
                  DivUp(largest.height_px, kBlockHeight * kRowsPerThread),
                  params.batch.frame_count * levels);
  if (params.masks) {
    ResizeKernel<true><<<grid, block, 0, stream>>>(params);
  } else {
    ResizeKernel<false><<<grid, block, 0, stream>>>(params);
  }
  return CheckLaunch("ResizeKernel");
}

}  // namespace orbserve::gpu
