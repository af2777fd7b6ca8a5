// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `clear_counters`: zeroes the counters of the batch and empties its cells, before a step
// fills them.

#ifndef ORBSERVE_GPU_STEPS_CLEAR_COUNTERS_H_
#define ORBSERVE_GPU_STEPS_CLEAR_COUNTERS_H_

#include <optional>

#include "gpu/steps/step.h"
#include "gpu/steps/suppress/cell.h"

namespace orbserve::gpu {

class ClearCountersStep final : public Step {
 public:
  // `has_histograms`: of scored corners; else nothing reads them. `winners`: the cells that keyed
  // corners may have.
  ClearCountersStep(bool has_histograms, const std::optional<CellWinnerBuffers>& winners)
      : has_histograms_(has_histograms), winners_(winners) {}

  absl::string_view name() const override { return "clear_counters"; }
  StageSet stages() const override { return {}; }
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

 private:
  const bool has_histograms_;
  const std::optional<CellWinnerBuffers> winners_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_CLEAR_COUNTERS_H_
