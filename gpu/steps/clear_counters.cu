// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/clear_counters.h"

#include "gpu/runtime/check.h"

namespace orbserve::gpu {

absl::Status ClearCountersStep::Enqueue(const StepContext& context, cudaStream_t stream) const {
  const Frames& frames = context.frames;
  return StatusFromCuda(
      cudaMemsetAsync(frames.counters + frames.first, 0,
                      static_cast<size_t>(frames.count) * sizeof(FrameCounters), stream),
      "cudaMemsetAsync");
}

}  // namespace orbserve::gpu
