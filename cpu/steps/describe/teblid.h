// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// TEBLID and BEBLID: the descriptors of all keypoints of the frame from the integral image of
// level 0.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_TEBLID_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_TEBLID_H_

#include <cstdint>
#include <memory>

#include "cpu/frame/integral_view.h"
#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/algo/teblid.h"

namespace orbserve::cpu {

// The integral image of an image of this size.
struct BoxImage {
  IntegralView integral;
  int width_px;
  int height_px;
};

// Descriptors of `count` points (features/algo/teblid.h): set.bytes() bytes each.
using BoxTestsKernel = void (*)(const BoxImage& image, const algo::BoxTestSet& set,
                                const PatchPoint* points, int count, uint8_t* descriptors);
void ReferenceBoxTests(const BoxImage& image, const algo::BoxTestSet& set, const PatchPoint* points,
                       int count, uint8_t* descriptors);
BoxTestsKernel BoxTestsKernelFor(const KernelTarget& target);

// Its scope is the frame: the points of all levels need the integral image of level 0.
std::unique_ptr<Step> MakeTeblid(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_TEBLID_H_
