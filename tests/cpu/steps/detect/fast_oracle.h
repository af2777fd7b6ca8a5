// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The corners of a level by the oracle, for tests of the steps that find them.

#ifndef ORBSERVE_TESTS_CPU_STEPS_DETECT_FAST_ORACLE_H_
#define ORBSERVE_TESTS_CPU_STEPS_DETECT_FAST_ORACLE_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"

namespace orbserve::cpu {

struct ExpectedCorner {
  int x;
  int y;
  int largest_threshold;
  float response;
};

// The corners of one level of `runner` that detection and suppression leave, border and mask
// included, row by row. With MINIMUM_DISTANCE: all corners, which compete afterwards.
std::vector<ExpectedCorner> ExpectedCorners(StepRunner& runner, int level);

// Frames on which detectors are compared: scenes that are divided into several strips, noise,
// massive ties, sizes about the smallest that have a corner, with and without a mask.
struct DetectionFrame {
  std::string name;
  testing::TestImage image;
  const testing::TestImage* mask;  // null: none
};
const std::vector<DetectionFrame>& DetectionFrames();

// Runs a frame up to `step` by every variant and expects the oracle's keys of each level, in its
// order. Strips follow each other by rows, so their order is that of the whole level. Returns the
// number of the oracle's keys.
size_t ExpectTheOraclesKeys(const DetectionFrame& frame, RunnerInput input,
                            const std::string& step);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_STEPS_DETECT_FAST_ORACLE_H_
