// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/clear_counters.h"

#include <cstddef>

#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxBlocks = 16;  // of a frame: 4,096 threads, a cell each, or more

// Counters without histograms, in words.
constexpr int kCounterWords =
    static_cast<int>(offsetof(FrameCounters, histogram) / sizeof(int32_t));

// Counters of keyed corners, and cells if there are any, in one launch: two would cost more than
// their work.
__global__ __launch_bounds__(kThreads) void ClearFramesKernel(Frames frames, CellWinners winners) {
  const int frame_index = frames.first + static_cast<int>(blockIdx.y);
  const int thread = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  const int threads = static_cast<int>(gridDim.x) * kThreads;
  auto* const words = reinterpret_cast<int32_t*>(frames.counters + frame_index);
  for (int i = thread; i < kCounterWords; i += threads) words[i] = 0;
  const int cells = winners.cells.grid.count();
  uint64_t* const keys = winners.key + static_cast<int64_t>(frame_index) * cells;
  for (int i = thread; i < cells; i += threads) keys[i] = algo::kNoCellKey;
}

}  // namespace

absl::Status ClearCountersStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const Frames& frames = context.frames;
  if (!has_histograms_) {
    const CellWinners winners = winners_.has_value() ? winners_->At(context) : CellWinners{};
    const int blocks = Clamp(DivUp(winners.cells.grid.count(), kThreads), 1, kMaxBlocks);
    ClearFramesKernel<<<dim3(blocks, frames.count), kThreads, 0, stream>>>(frames, winners);
    return CheckLaunch("ClearFramesKernel");
  }
  return StatusFromCuda(
      cudaMemsetAsync(frames.counters + frames.first, 0,
                      static_cast<size_t>(frames.count) * sizeof(FrameCounters), stream),
      "cudaMemsetAsync");
}

}  // namespace orbserve::gpu
