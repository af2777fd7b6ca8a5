// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Intensity centroid: the angle of each keypoint, by the disc or by the patch of rBRIEF-32.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_INTENSITY_CENTROID_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_INTENSITY_CENTROID_H_

#include <memory>

#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Sets `angle_deg` by the intensity centroid (features/algo/orientation.h). Points keep 16 pixels
// to the border.
using IntensityCentroidKernel = void (*)(const ImageView& image, LevelPoint* points, int count);
void ReferenceIntensityCentroid(const ImageView& image, LevelPoint* points, int count);
IntensityCentroidKernel IntensityCentroidKernelFor(const KernelTarget& target);

// Sets the angles by the centroid of the patch (features/algo/rbrief32.h). Points keep 10 pixels
// to the border.
void ReferencePatchCentroid(const ImageView& image, LevelPoint* points, int count);
IntensityCentroidKernel PatchCentroidKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeIntensityCentroid(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_INTENSITY_CENTROID_H_
