// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT as two steps: one finds the features of the frame and puts them in cv::SIFT's order, the
// other describes them.

#ifndef ORBSERVE_CPU_STEPS_SIFT_H_
#define ORBSERVE_CPU_STEPS_SIFT_H_

#include <memory>

#include "cpu/frame/frame_context.h"
#include "cpu/steps/step.h"
#include "features/types.h"

namespace orbserve::cpu {

// Both steps of a plan.
struct SiftSteps {
  std::unique_ptr<Step> detect;
  std::unique_ptr<Step> describe;  // null without descriptors
};
SiftSteps MakeSift(const StepSetup& setup);

// Writes the features that the steps leave in the workspace, cut at the answer's limit.
void GatherSift(const FrameContext& frame, Features* features);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SIFT_H_
