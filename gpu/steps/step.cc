// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/step.h"

#include "gpu/runtime/check.h"

namespace orbserve::gpu {

absl::Status LargeFrame::Upload() const {
  // From pageable memory: the call has read it when it returns, so steps may change it again.
  return StatusFromCuda(
      cudaMemcpyAsync(uploaded, params, sizeof(FrameParams), cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync");
}

}  // namespace orbserve::gpu
