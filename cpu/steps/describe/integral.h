// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Integral image: a level to the sums of all pixels above and left of each place, strip by strip.
// Two steps share the work. The first adds up the columns of each strip. From these the second
// knows the row that a strip begins with, so that all strips are summed at the same time. A single
// thread has one strip and skips the first step.

#ifndef ORBSERVE_CPU_STEPS_DESCRIBE_INTEGRAL_H_
#define ORBSERVE_CPU_STEPS_DESCRIBE_INTEGRAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/frame/integral_view.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/step.h"
#include "features/image_view.h"

namespace orbserve::cpu {

// Rows row_begin + 1 to row_end of the integral image, which are the pixel rows [row_begin,
// row_end) added to `above`, entry 0 of row `row_begin`. `rows`: entry 0 of row row_begin + 1;
// entries beyond the width are written up to IntegralRowEntries(). Both pointers lie one entry
// before a multiple of 64 bytes, and `pitch` is a multiple of 16.
using IntegralKernel = void (*)(const ImageView& image, int row_begin, int row_end,
                                const uint32_t* above, uint32_t* rows, ptrdiff_t pitch);
void ReferenceIntegral(const ImageView& image, int row_begin, int row_end, const uint32_t* above,
                       uint32_t* rows, ptrdiff_t pitch);
IntegralKernel IntegralKernelFor(const KernelTarget& target);

// Sum of each column over the rows [row_begin, row_end). `sums` has RoundUp(width, 64) entries, all
// of which may be written, and is 64-byte aligned.
using ColumnSumsKernel = void (*)(const ImageView& image, int row_begin, int row_end,
                                  uint32_t* sums);
void ReferenceColumnSums(const ImageView& image, int row_begin, int row_end, uint32_t* sums);
ColumnSumsKernel ColumnSumsKernelFor(const KernelTarget& target);

std::unique_ptr<Step> MakeIntegralColumns(const StepSetup& setup);
std::unique_ptr<Step> MakeIntegral(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_DESCRIBE_INTEGRAL_H_
