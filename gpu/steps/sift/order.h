// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Order and cut of the features of SIFT.

#ifndef ORBSERVE_GPU_STEPS_SIFT_ORDER_H_
#define ORBSERVE_GPU_STEPS_SIFT_ORDER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gpu/frame/frame_params.h"
#include "gpu/steps/sift/sift_geometry.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct SiftOrderParams {
  Frames frames;
  int32_t width_px;        // of a frame
  int32_t shared_entries;  // of AllowSiftSharedEntries()
  bool follows;            // may overlap with the kernel before it (gpu/runtime/overlap.cuh)
};

// Sets how many features of a frame of that width the kernel sorts in shared memory on the current
// device, and lets it use that much; longer lists are sorted in global memory.
absl::Status AllowSiftSharedEntries(int width_px, int32_t* shared_entries);

// Sorts the features, leaves duplicates out, keeps about the best FrameParams::answer_limit, and
// writes those of the answer; 0 = all.
absl::Status LaunchSiftOrder(const SiftOrderParams& params, cudaStream_t stream);

class SiftOrderStep final : public Step {
 public:
  explicit SiftOrderStep(const SiftBuffers& buffers) : buffers_(buffers) {}

  absl::string_view name() const override { return "order"; }
  StageSet stages() const override { return Stage::kSelect; }
  absl::Status AddDevice(int device, const std::shared_ptr<MemoryBudget>& budget) override;
  // Runs again with room for all.
  absl::Status FinishLarge(const StepContext& context, LargeFrame* frame) const override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const SiftBuffers buffers_;
  std::vector<int32_t> shared_entries_;  // [device]
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SIFT_ORDER_H_
