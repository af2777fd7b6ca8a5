// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `clear_counters`: zeroes the counters of the batch, before a step fills lists.

#ifndef ORBSERVE_GPU_STEPS_CLEAR_COUNTERS_H_
#define ORBSERVE_GPU_STEPS_CLEAR_COUNTERS_H_

#include "gpu/steps/step.h"

namespace orbserve::gpu {

class ClearCountersStep final : public Step {
 public:
  absl::string_view name() const override { return "clear_counters"; }
  StageSet stages() const override { return {}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_CLEAR_COUNTERS_H_
