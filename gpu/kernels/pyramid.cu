// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: one level of each frame, [frame] height x pitch bytes. Out: one or more other levels alike.
// Exact-linear resampling in fixed point (features/algo/pyramid.h; OpenCV's INTER_LINEAR_EXACT).
//
// A thread makes 4 x 2 neighbouring pixels: the taps of its columns are read once, and the four
// bytes of a row leave in one store. A row's samples are read as three words up to scales of two,
// else one by one. No shared memory.

#include "gpu/kernels/pyramid.h"

#include "features/algo/pyramid.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr int kColumnsPerThread = 4;  // one 4-byte store
constexpr int kRowsPerThread = 2;     // halves the reads of the column taps
constexpr int kBlockWidth = 32;       // threads; a warp writes 128 bytes of a row
constexpr int kBlockHeight = 4;

// Neighbouring entries in one load.
template <int kCount>
__device__ __forceinline__ void LoadTaps(const ResizeEntry* __restrict__ from,
                                         ResizeEntry (&to)[kCount]) {
  static_assert(kResizeEntryGroup % kCount == 0);
  struct alignas(sizeof(to)) Group {
    ResizeEntry entry[kCount];
  };
  const Group group = *reinterpret_cast<const Group*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = group.entry[i];
}

// algo::ResizeRow for a thread's columns, whatever the scale.
__device__ __forceinline__ void FarSums(const ResizeEntry (&column)[kColumnsPerThread],
                                        const uint8_t* __restrict__ row,
                                        uint32_t (&sum)[kColumnsPerThread]) {
#pragma unroll
  for (int i = 0; i < kColumnsPerThread; ++i) {
    const int left = column[i].first;
    sum[i] = algo::ResizeRow(row[left], row[left + column[i].next], column[i].weight);
  }
}

// The same where all samples lie in eight bytes, as they do at scales up to two: read as three
// aligned words, picked by one permutation and summed by one dot product each.
class ColumnTaps {
 public:
  __device__ __forceinline__ explicit ColumnTaps(const ResizeEntry (&column)[kColumnsPerThread])
      : first_word_(column[0].first & ~3), shift_(static_cast<uint32_t>(column[0].first & 3) * 8) {
    constexpr int kWindow = 8;
    near_ = true;
#pragma unroll
    for (int i = 0; i < kColumnsPerThread; ++i) {
      const int left = column[i].first - column[0].first;
      const int right = left + column[i].next;
      near_ = near_ && right < kWindow;
      samples_[i] = static_cast<uint32_t>(left | right << 4);
      weights_[i] = (256u - column[i].weight) | static_cast<uint32_t>(column[i].weight) << 16;
    }
  }

  __device__ __forceinline__ bool near() const { return near_; }

  // Reads up to eleven bytes beyond the first sample. `row` is aligned to words.
  __device__ __forceinline__ void NearSums(const uint8_t* __restrict__ row,
                                           uint32_t (&sum)[kColumnsPerThread]) const {
    const auto* words = reinterpret_cast<const uint32_t*>(row + first_word_);
    const uint32_t word[3] = {words[0], words[1], words[2]};
    const uint32_t low = __funnelshift_r(word[0], word[1], shift_);
    const uint32_t high = __funnelshift_r(word[1], word[2], shift_);
#pragma unroll
    for (int i = 0; i < kColumnsPerThread; ++i) {
      sum[i] = __dp2a_lo(weights_[i], __byte_perm(low, high, samples_[i]), 0u);
    }
  }

 private:
  int first_word_;
  uint32_t shift_;
  bool near_;
  uint32_t samples_[kColumnsPerThread];  // of the window, four bits for each of two
  uint32_t weights_[kColumnsPerThread];  // theirs, 16 bits each
};

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

  // Columns beyond the last repeat it; their pixels fall into the row's padding.
  ResizeEntry column[kColumnsPerThread];
  LoadTaps(batch.taps + level.x_taps + x0, column);
  ResizeEntry rows[kRowsPerThread];
  LoadTaps(batch.taps + level.y_taps + y0, rows);
  const ColumnTaps taps(column);
#pragma unroll
  for (int row = 0; row < kRowsPerThread; ++row) {
    const int y = y0 + row;
    if (y >= level.height_px) return;
    const ResizeEntry tap = rows[row];
    const uint8_t* __restrict__ top = source + static_cast<int64_t>(tap.first) * source_pitch;
    const uint8_t* __restrict__ bottom = top + tap.next * source_pitch;
    uint32_t above[kColumnsPerThread];
    uint32_t below[kColumnsPerThread];
    if (taps.near()) {
      taps.NearSums(top, above);
      taps.NearSums(bottom, below);
    } else {
      FarSums(column, top, above);
      FarSums(column, bottom, below);
    }
    uint32_t packed = 0;
#pragma unroll
    for (int i = 0; i < kColumnsPerThread; ++i) {
      uint8_t pixel = algo::ResizeColumn(above[i], below[i], tap.weight);
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
