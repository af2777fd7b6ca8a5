// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/step_list.h"

#include <utility>

#include "features/errors.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {

StageSet StepList::StagesAwaited(const PlacedStep& placed) const {
  uint16_t bits = 0;
  for (const Id id : placed.after) bits |= steps_[id].step->stages().bits();
  return StageSet::FromBits(bits);
}

StepList::Id StepList::Add(Branch branch, std::unique_ptr<Step> step,
                           std::initializer_list<Id> after) {
  PlacedStep placed = {std::move(step), branch, after};
  for (const Id id : after) {
    if (steps_[id].event < 0) steps_[id].event = events_++;
  }
  if (branch == Branch::kMain) {
    for (const StageSet stages : {StagesAwaited(placed), placed.step->stages()}) {
      const bool continues = !timed_stages_.empty() && timed_stages_.back() == stages;
      if (!stages.empty() && !continues) timed_stages_.push_back(stages);
    }
  }
  steps_.push_back(std::move(placed));
  return steps_.size() - 1;
}

absl::Status StepList::Enqueue(const StepContext& context, const BranchStreams& streams) const {
  if (events_ > kMaxBranchEvents) {
    return MakeError(ErrorReason::kInternal, "a pipeline with too many branches");
  }
  size_t stage = 0;  // of timed_stages_, in which the main branch is
  const auto enter = [&](StageSet stages) -> absl::Status {
    if (!context.kind.timed || stages.empty() || timed_stages_[stage] == stages) {
      return absl::OkStatus();
    }
    return StatusFromCuda(
        cudaEventRecordWithFlags(streams.stage_end[stage++], streams.main, cudaEventRecordExternal),
        "cudaEventRecordWithFlags");
  };
  bool forked = false;
  for (const PlacedStep& placed : steps_) {
    const bool is_main = placed.branch == Branch::kMain;
    cudaStream_t const stream = is_main ? streams.main : streams.side;
    if (!is_main && !forked) {
      forked = true;
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventRecord(streams.order[0], streams.main));
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(streams.side, streams.order[0], 0));
    }
    // The time for which the main branch waits belongs to the stages that it waits for, if they
    // have a name, else to the step that waits.
    if (is_main) {
      const StageSet awaited = StagesAwaited(placed);
      ORBSERVE_RETURN_IF_ERROR(enter(awaited.empty() ? placed.step->stages() : awaited));
    }
    for (const Id id : placed.after) {
      ORBSERVE_CUDA_RETURN_IF_ERROR(
          cudaStreamWaitEvent(stream, streams.order[steps_[id].event], 0));
    }
    if (is_main) ORBSERVE_RETURN_IF_ERROR(enter(placed.step->stages()));
    // A kernel that waits for another stream, or begins the graph, has more to wait for.
    StepContext own = context;
    own.follows = own.overlaps && is_main && &placed != steps_.data() && placed.after.empty();
    ORBSERVE_RETURN_IF_ERROR(placed.step->Enqueue(own, stream));
    if (placed.event >= 0) {
      ORBSERVE_CUDA_RETURN_IF_ERROR(cudaEventRecord(streams.order[placed.event], stream));
    }
  }
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
