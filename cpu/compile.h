// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Lists the steps of a pipeline in their order.

#ifndef ORBSERVE_CPU_COMPILE_H_
#define ORBSERVE_CPU_COMPILE_H_

#include <initializer_list>
#include <memory>
#include <vector>

#include "cpu/steps/step.h"

namespace orbserve::cpu {

// Most steps of a phase.
inline constexpr int kMaxPhaseSteps = 4;

// Steps whose tasks may run at the same time, all of one scope. A phase begins on a level when the
// phase before it has ended there.
struct Phase {
  StepScope scope = StepScope::kLevel;
  std::vector<int> steps;  // indices into StepList::steps
};

// Owns the steps of a plan.
struct StepList {
  std::vector<std::unique_ptr<Step>> steps;
  int pyramid = 0;               // index of the step that makes the levels, before any phase
  std::vector<Phase> detection;  // phases of a frame whose keypoints are detected
  // Phases of a frame whose keypoints are given; empty where the pipeline describes nothing.
  std::vector<Phase> description;
};

StepList CompileSteps(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_COMPILE_H_
