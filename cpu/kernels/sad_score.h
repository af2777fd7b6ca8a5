// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// SAD scores of FAST corners (features/algo/sad_score.h), for lists of corners.

#ifndef ORBSERVE_CPU_KERNELS_SAD_SCORE_H_
#define ORBSERVE_CPU_KERNELS_SAD_SCORE_H_

#include "cpu/frame/corner.h"
#include "cpu/kernels/kernel_target.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Responses of `count` corners, whose rings fit into the image: sums of differences over the arc
// that makes each a corner at `threshold_grey`, 1..254. `arc_length`: 9..12.
using SadArcKernel = void (*)(const ImageView& image, const Corner* corners, int count,
                              int arc_length, int threshold_grey, float* responses);
void ReferenceSadArc(const ImageView& image, const Corner* corners, int count, int arc_length,
                     int threshold_grey, float* responses);
SadArcKernel SadArcKernelFor(const KernelTarget& target);

// Sums of differences over the whole ring.
using SadCircleKernel = void (*)(const ImageView& image, const Corner* corners, int count,
                                 float* responses);
void ReferenceSadCircle(const ImageView& image, const Corner* corners, int count, float* responses);
SadCircleKernel SadCircleKernelFor(const KernelTarget& target);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_KERNELS_SAD_SCORE_H_
