// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Compares SIFT on a device with the CPU's, and finds the stage at which they part.

#ifndef ORBSERVE_TESTS_GPU_SIFT_COMPARISON_H_
#define ORBSERVE_TESTS_GPU_SIFT_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/kernels/sift_kernels.h"
#include "tests/support/image_makers.h"
#include "tests/support/sift_settings.h"

namespace orbserve::testing {

struct SiftTotals {
  int64_t frames = 0;
  int64_t features = 0;
  int64_t differing_bytes = 0;  // of features and descriptors; whole entries where one is missing
  int64_t differing_frames = 0;
};

// Compares the frames of a batch, all of one size, and prints what differs. `stages`: every stage,
// even where the answers are equal.
void CompareSift(const std::string& name, const std::vector<const TestImage*>& images,
                 const SiftSettings& settings, const cpu::SiftKernels& kernels, bool stages,
                 SiftTotals* totals, algo::SiftNorm norm = algo::SiftNorm::kL2);

// Images made by rule under all option sets, alone and in batches.
void CompareSyntheticSift(const cpu::SiftKernels& kernels, bool stages, SiftTotals* totals);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_GPU_SIFT_COMPARISON_H_
