// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Harris: the rank key of each survivor from its Harris response.

#ifndef ORBSERVE_CPU_STEPS_DETECT_HARRIS_H_
#define ORBSERVE_CPU_STEPS_DETECT_HARRIS_H_

#include <memory>

#include "cpu/kernels/corner_responses.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"

namespace orbserve::cpu {

// For corners that are far apart; ResponseKernelOf<Score::kHarris>() is for those that follow each
// other by rows, close together. Reads no test.
ResponseKernel HarrisKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeHarris(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_HARRIS_H_
