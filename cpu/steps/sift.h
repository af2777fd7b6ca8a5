// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SIFT as steps of the whole frame: the first image, the large octaves, whose features are found
// while the next octave is made, the small octaves, the order, the descriptors.

#ifndef ORBSERVE_CPU_STEPS_SIFT_H_
#define ORBSERVE_CPU_STEPS_SIFT_H_

#include <array>
#include <memory>

#include "cpu/frame/frame_context.h"
#include "cpu/kernels/sift_extractor.h"
#include "cpu/steps/step.h"
#include "features/types.h"

namespace orbserve::cpu {

// The steps of a plan.
struct SiftSteps {
  std::unique_ptr<Step> first_image;
  std::array<std::unique_ptr<Step>, kSiftSharedOctaves> octaves;
  std::array<std::unique_ptr<Step>, kSiftSharedOctaves> features;  // of those octaves
  std::unique_ptr<Step> small_octaves;                             // all others, with features
  std::unique_ptr<Step> order;
  std::unique_ptr<Step> describe;  // null without descriptors
};
SiftSteps MakeSift(const StepSetup& setup);

// Writes the features that the steps leave in the workspace, cut at the answer's limit.
void GatherSift(const FrameContext& frame, Features* features);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SIFT_H_
