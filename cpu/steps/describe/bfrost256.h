// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// BFROST-256: the descriptor of each keypoint in the nearest of 16 directions to its angle, from
// the integral image of its level.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_BFROST256_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_BFROST256_H_

#include <cstdint>
#include <memory>

#include "cpu/frame/integral_view.h"
#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// BFROST-256 of each point (features/algo/bfrost.h): 32 bytes per point. Points keep
// algo::kBFrostRadiusPx to the border.
using BFrost256Kernel = void (*)(const IntegralView& integral, const LevelPoint* points, int count,
                                 uint8_t* descriptors);
void ReferenceBFrost256(const IntegralView& integral, const LevelPoint* points, int count,
                        uint8_t* descriptors);
BFrost256Kernel BFrost256KernelFor(const KernelTarget& target);

// This step makes the same descriptors from the pixels of the level, which it sums square by
// square.
using BFrost256OfPixelsKernel = void (*)(const ImageView& image, const LevelPoint* points,
                                         int count, uint8_t* descriptors);
void ReferenceBFrost256OfPixels(const ImageView& image, const LevelPoint* points, int count,
                                uint8_t* descriptors);
BFrost256OfPixelsKernel BFrost256OfPixelsKernelFor(const KernelTarget& target);

// True with BFROST-256 for levels whose integral image would not stay in a second cache and would
// serve few points: their squares are summed from pixels, and no integral image is made.
bool SumsPixels(const FrameContext& frame, int level);

std::unique_ptr<Step> MakeBFrost256(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_BFROST256_H_
