// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pyramid: level 0 to the other levels, each resampled from its source level. Masks are resampled
// like images.

#ifndef ORBSERVE_CPU_STEPS_PYRAMID_H_
#define ORBSERVE_CPU_STEPS_PYRAMID_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/algo/pyramid.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Taps of the columns of a level, with the tables that SIMD kernels derive from them for byte
// shuffles over windows of the source row. Each table has RoundUp(columns, 64) entries.
struct ResizeAxis {
  // `column_taps` must outlive the axis. One tap at least.
  static ResizeAxis Of(absl::Span<const algo::ResizeTap> column_taps);

  absl::Span<const algo::ResizeTap> taps;
  std::vector<uint16_t> padded_weight;
  std::vector<uint16_t> padded_first_weight;
  std::vector<uint16_t> offset_in_8;   // taps[i].first - taps[i / 8 * 8].first
  std::vector<uint16_t> offset_in_32;  // taps[i].first - taps[i / 32 * 32].first
};

// Rows [row_begin, row_end) of `dst` from `src` (features/algo/pyramid.h). At a clamped end the tap
// has weight 0, and the pixel after the last one of a row is read and multiplied by 0. `scratch`:
// ResizeScratchBytes(dst.width_px), 64-byte aligned.
using ResizeKernel = void (*)(const ImageView& src, const MutableImageView& dst,
                              const ResizeAxis& x_axis, absl::Span<const algo::ResizeTap> y_taps,
                              int row_begin, int row_end, uint16_t* scratch);
void ReferenceResize(const ImageView& src, const MutableImageView& dst, const ResizeAxis& x_axis,
                     absl::Span<const algo::ResizeTap> y_taps, int row_begin, int row_end,
                     uint16_t* scratch);
ResizeKernel ResizeKernelFor(const KernelTarget& target);
// These resize by the rules of features/algo/linear_resize.h.
void ReferenceLinearResize(const ImageView& src, const MutableImageView& dst,
                           const ResizeAxis& x_axis, absl::Span<const algo::ResizeTap> y_taps,
                           int row_begin, int row_end, uint16_t* scratch);
ResizeKernel LinearResizeKernelFor(const KernelTarget& target);
// Two resampled rows.
size_t ResizeScratchBytes(int width_px);

// Begin() and Run() are for levels from 1 on, in ascending order.
std::unique_ptr<Step> MakePyramid(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_PYRAMID_H_
