// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corner maps: a level to its map of responses (FrameLists::responses) by the detector HARRIS or
// SHI_TOMASI, strip by strip, and the largest response of each strip. Responses of masked pixels
// are 0.

#ifndef ORBSERVE_CPU_STEPS_DETECT_CORNER_MAP_H_
#define ORBSERVE_CPU_STEPS_DETECT_CORNER_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"
#include "features/options.h"
#include "features/pipeline/geometry.h"

namespace orbserve::cpu {

// Columns that are summed at a time. The sums and gradients of so many stay in the first cache.
inline constexpr int kCornerMapTilePx = 512;
// Scratch memory of the kernel: sums of columns and seven rows of gradients, with room for vectors
// that begin at the last column.
inline constexpr int kCornerMapScratchColumns = kCornerMapTilePx + 128;
inline constexpr size_t kCornerMapScratchBytes =
    static_cast<size_t>(kCornerMapScratchColumns) * (3 * sizeof(int32_t) + 7 * 2 * sizeof(int16_t));

// Work of a kernel.
struct CornerMapTask {
  ImageView image;
  ImageView mask;  // of the image's size, or empty: nothing is masked
  // Pixels whose responses are wanted, kCornerMapReachPx pixels away from the sides or farther.
  Region part;
  Region counted;  // the pixels of `part` among which the largest response is looked for
  uint32_t* map;   // entry of the pixel (0, 0)
  ptrdiff_t pitch;
};

// Writes the responses of `part`: OrderedBits() where the response is above 0 and the pixel is not
// masked, else 0. Returns the largest entry of `counted`. `scratch`: kCornerMapScratchBytes,
// 64-byte aligned.
using CornerMapKernel = uint32_t (*)(const CornerMapTask& task, uint8_t* scratch);
uint32_t ReferenceHarrisMap(const CornerMapTask& task, uint8_t* scratch);
uint32_t ReferenceShiTomasiMap(const CornerMapTask& task, uint8_t* scratch);
// `detector`: HARRIS or SHI_TOMASI.
CornerMapKernel CornerMapKernelFor(Detector detector, const KernelTarget& target);

std::unique_ptr<Step> MakeCornerMap(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DETECT_CORNER_MAP_H_
