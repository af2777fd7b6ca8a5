// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The steps of a plan in order, on two parallel branches.

#ifndef ORBSERVE_GPU_STEP_LIST_H_
#define ORBSERVE_GPU_STEP_LIST_H_

#include <cuda_runtime_api.h>

#include <initializer_list>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/pipeline/stage.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

// The side branch starts with the main branch, which ends last.
enum class Branch { kMain, kSide };

// Streams of the branches, and events that order them and are used for nothing else.
inline constexpr int kMaxBranchEvents = 8;
struct BranchStreams {
  cudaStream_t main = nullptr;
  cudaStream_t side = nullptr;
  cudaEvent_t order[kMaxBranchEvents] = {};
  // Where stages end on the main branch, in timed graphs; the last stage ends with the graph. As
  // many as StepList::timed_stages() has entries but one.
  cudaEvent_t stage_end[StageTimes::kMaxEntries] = {};
};

class StepList {
 public:
  // Names a step of the list.
  using Id = size_t;

  // Appends a step. It runs after all steps of its branch that were added before, and after
  // `after`, steps of the other branch. The last step is on the main branch, and every step of the
  // side branch is before it.
  Id Add(Branch branch, std::unique_ptr<Step> step, std::initializer_list<Id> after = {});

  // Puts all launches on the streams.
  absl::Status Enqueue(const StepContext& context, const BranchStreams& streams) const;

  // Stages of the main branch in the order in which a timed graph passes them. A stage of the side
  // branch has the time for which the main branch waits for it.
  const std::vector<StageSet>& timed_stages() const { return timed_stages_; }

  // The step that writes records and descriptors.
  const Step& last() const { return *steps_.back().step; }

  struct PlacedStep {
    std::unique_ptr<Step> step;
    Branch branch;
    std::vector<Id> after;
    int event = -1;  // of BranchStreams::order, recorded behind the step; -1: nobody waits
  };
  const std::vector<PlacedStep>& steps() const { return steps_; }

 private:
  // Stages that the main branch waits for before a step of it begins.
  StageSet StagesAwaited(const PlacedStep& placed) const;

  std::vector<PlacedStep> steps_;
  std::vector<StageSet> timed_stages_;
  int events_ = 1;  // the first one marks the fork
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEP_LIST_H_
