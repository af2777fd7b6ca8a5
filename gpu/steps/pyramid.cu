// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: one level of each frame, [frame] height x pitch bytes. Out: one or more other levels.
// Exact-linear resampling in fixed point (features/algo/pyramid.h; OpenCV's INTER_LINEAR_EXACT), or
// linear resampling (features/algo/linear_resize.h).
//
// A thread makes 4 x 2 neighbouring pixels: the taps of its columns are read once, and the four
// bytes of a row leave in one store. A row's samples are read as three words up to scales of two,
// else one by one. No shared memory.

#include "gpu/steps/pyramid.h"

#include <algorithm>

#include "features/algo/linear_resize.h"
#include "features/algo/pyramid.h"
#include "features/pipeline/detection.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/overlap.cuh"

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

// Weights of both samples: of the first in the lower half.
template <bool kLinear>
__device__ __forceinline__ uint32_t WeightsOf(const ResizeEntry& entry) {
  const uint32_t second = entry.weight;
  const uint32_t first = kLinear ? algo::kLinearWeight - 1u + entry.excess - second : 256u - second;
  return first | second << 16;
}

// A row's result from the sum of its two products.
template <bool kLinear>
__device__ __forceinline__ uint32_t RowOf(uint32_t sum) {
  return kLinear ? sum >> 4 : sum;
}

// Row sums for a thread's columns, whatever the scale.
template <bool kLinear>
__device__ __forceinline__ void FarSums(const ResizeEntry (&column)[kColumnsPerThread],
                                        const uint8_t* __restrict__ row,
                                        uint32_t (&sum)[kColumnsPerThread]) {
#pragma unroll
  for (int i = 0; i < kColumnsPerThread; ++i) {
    const int left = column[i].first;
    const uint32_t weights = WeightsOf<kLinear>(column[i]);
    sum[i] = RowOf<kLinear>(row[left] * (weights & 0xffffu) +
                            row[left + column[i].next] * (weights >> 16));
  }
}

// Row sums where all samples lie in eight bytes, as they do at scales up to two. The samples are
// read as three aligned words; one permutation picks them and one dot product sums them.
template <bool kLinear>
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
      weights_[i] = WeightsOf<kLinear>(column[i]);
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
      sum[i] = RowOf<kLinear>(__dp2a_lo(weights_[i], __byte_perm(low, high, samples_[i]), 0u));
    }
  }

 private:
  int first_word_;
  uint32_t shift_;
  bool near_;
  uint32_t samples_[kColumnsPerThread];  // of the window, four bits for each of two
  uint32_t weights_[kColumnsPerThread];  // theirs, 16 bits each
};

template <bool kMasks, bool kLinear>
__global__ __launch_bounds__(kBlockWidth* kBlockHeight) void ResizeKernel(
    const __grid_constant__ ResizeParams params) {
  BeginNextKernel();
  const int place = static_cast<int>(blockIdx.z) / params.levels;
  const int frame_index = params.frames.first + place;
  const ResizeLevel& level = params.to[static_cast<int>(blockIdx.z) - place * params.levels];
  const int x0 = static_cast<int>(blockIdx.x * kBlockWidth + threadIdx.x) * kColumnsPerThread;
  const int y0 = static_cast<int>(blockIdx.y * kBlockHeight + threadIdx.y) * kRowsPerThread;
  if (x0 >= level.width_px || y0 >= level.height_px) return;
  // Columns beyond the last repeat it; their pixels fall into the row's padding.
  ResizeEntry column[kColumnsPerThread];
  LoadTaps(params.taps + level.x_taps + x0, column);
  ResizeEntry rows[kRowsPerThread];
  LoadTaps(params.taps + level.y_taps + y0, rows);
  const FrameParams& frame = params.frames.params[frame_index];
  const FrameMode mode = frame.mode;
  const int64_t input_offset = kMasks ? frame.mask_offset : frame.image_offset;
  AwaitKernelBefore();
  if (mode == FrameMode::kIdle || (kMasks && input_offset < 0)) return;

  uint8_t* const pyramid = params.pyramid + frame_index * params.stride;
  const uint8_t* const source =
      params.from_level_zero ? params.input + input_offset : pyramid + params.source_offset;
  uint8_t* const destination = pyramid + level.offset;
  const int source_pitch = params.source_pitch_bytes;

  const ColumnTaps<kLinear> taps(column);
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
      FarSums<kLinear>(column, top, above);
      FarSums<kLinear>(column, bottom, below);
    }
    uint32_t packed = 0;
#pragma unroll
    for (int i = 0; i < kColumnsPerThread; ++i) {
      const uint32_t weights = WeightsOf<kLinear>(tap);
      uint8_t pixel = kLinear
                          ? algo::LinearColumn(above[i], below[i], weights & 0xffffu, weights >> 16)
                          : algo::ResizeColumn(above[i], below[i], tap.weight);
      if constexpr (kMasks) pixel = algo::LevelMask(pixel);
      packed |= static_cast<uint32_t>(pixel) << (8 * i);
    }
    *reinterpret_cast<uint32_t*>(destination + static_cast<int64_t>(y) * level.pitch_bytes + x0) =
        packed;
  }
}

void AppendTaps(const std::vector<algo::ResizeTap>& taps, int source_side, bool linear,
                std::vector<ResizeEntry>* table) {
  const int count = static_cast<int>(taps.size());
  for (int i = 0; i < RoundUp(count, kResizeEntryGroup); ++i) {
    const algo::ResizeTap& tap = taps[static_cast<size_t>(std::min(i, count - 1))];
    ResizeEntry entry;
    entry.first = static_cast<uint16_t>(tap.first);
    entry.weight = static_cast<uint16_t>(tap.weight) & 0xfff;
    const int excess = tap.first_weight + tap.weight - algo::kLinearWeight + 1;  // 0, 1 or 2
    entry.excess = static_cast<uint16_t>(linear ? excess : 0) & 7;
    entry.next = tap.first + 1 < source_side ? 1 : 0;
    table->push_back(entry);
  }
}

}  // namespace

absl::Status LaunchResize(const ResizeParams& params, cudaStream_t stream) {
  if (params.frames.count == 0) return absl::OkStatus();
  const ResizeLevel& largest = params.to[0];
  const dim3 block(kBlockWidth, kBlockHeight);
  const dim3 grid(DivUp(largest.width_px, kBlockWidth * kColumnsPerThread),
                  DivUp(largest.height_px, kBlockHeight * kRowsPerThread),
                  params.frames.count * params.levels);
  const auto kernel = params.masks    ? ResizeKernel<true, false>
                      : params.linear ? ResizeKernel<false, true>
                                      : ResizeKernel<false, false>;
  return LaunchKernel(kernel, "ResizeKernel", grid, block, params.overlaps, params, stream);
}

PyramidStep::PyramidStep(const CompiledPipeline& pipeline, const LevelImageBuffers& images)
    : images_(images),
      from_level_zero_(pipeline.spec.pipeline.pyramid.source == PyramidSource::kLevelZero),
      linear_(ResizesLinearly(pipeline.spec.pipeline)),
      existing_levels_(pipeline.level_count()),
      detecting_levels_(pipeline.pyramid.detecting_levels) {
  for (int l = 1; l < existing_levels_; ++l) {
    const LevelGeometry& level = pipeline.level(l);
    const LevelGeometry& source = pipeline.level(level.source_level);
    to_[l].x_taps = static_cast<int32_t>(table_.size());
    AppendTaps(level.x_taps, source.width_px, linear_, &table_);
    to_[l].y_taps = static_cast<int32_t>(table_.size());
    AppendTaps(level.y_taps, source.height_px, linear_, &table_);
  }
}

absl::Status PyramidStep::AddDevice(int device, const std::shared_ptr<MemoryBudget>& budget) {
  ORBSERVE_ASSIGN_OR_RETURN(
      DeviceBuffer table,
      DeviceBuffer::CreateCopyOf(
          device,
          {reinterpret_cast<const uint8_t*>(table_.data()), table_.size() * sizeof(table_[0])},
          budget));
  device_tables_.push_back(std::move(table));
  return absl::OkStatus();
}

size_t PyramidStep::device_bytes() const {
  size_t bytes = 0;
  for (const DeviceBuffer& table : device_tables_) bytes += table.size_bytes();
  return bytes;
}

ResizeParams PyramidStep::ParamsFor(const StepContext& context, int first_level, int last_level,
                                    bool masks) const {
  const LevelImages images = images_.At(context);
  const int source_level = from_level_zero_ ? 0 : first_level - 1;
  const LevelImage& source = images.level[source_level];
  ResizeParams params = {};
  params.frames = context.frames;
  params.input = images.input;
  params.pyramid = masks ? images.mask_pyramid : images.pyramid;
  params.stride = images.stride;
  params.source_offset = source.offset;
  params.source_pitch_bytes = source.pitch_bytes;
  params.from_level_zero = source_level == 0;
  params.masks = masks;
  params.linear = linear_;
  params.taps = reinterpret_cast<const ResizeEntry*>(device_tables_[context.device_index].data());
  params.levels = last_level - first_level + 1;
  for (int l = first_level; l <= last_level; ++l) {
    ResizeLevel& to = params.to[l - first_level];
    to = to_[l];
    to.offset = images.level[l].offset;
    to.width_px = images.level[l].width_px;
    to.height_px = images.level[l].height_px;
    to.pitch_bytes = images.level[l].pitch_bytes;
  }
  return params;
}

absl::Status PyramidStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  // Given keypoints may lie on levels that are too small for a detection.
  const int last_level = (context.kind.given ? existing_levels_ : detecting_levels_) - 1;
  for (const bool masks : {false, true}) {
    if (masks && !context.kind.masks) break;
    for (int l = 1; l <= last_level; ++l) {
      // One launch makes all levels where they have one source.
      const int end = from_level_zero_ ? last_level : l;
      ResizeParams params = ParamsFor(context, l, end, masks);
      params.overlaps = context.overlaps && (l > 1 || masks);
      ORBSERVE_RETURN_IF_ERROR(LaunchResize(params, stream));
      l = end;
    }
  }
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
