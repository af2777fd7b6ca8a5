// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every float of [0, 360), and of [0, 720]: some half a minute of processor time a core.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/features/algo/sincos_sweep.h"

namespace orbserve::algo {
namespace {

using Sweep = SweepResult (*)(uint32_t first, uint32_t stride);

void ExpectNoDifference(Sweep sweep, int64_t expected_angles) {
  if (!SincosfIsTheOneMeant()) GTEST_SKIP() << "this C library has other functions";
  const uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<SweepResult> results(threads);
  std::vector<std::thread> workers;
  for (uint32_t t = 0; t < threads; ++t) {
    workers.emplace_back([&results, t, threads, sweep] { results[t] = sweep(t, threads); });
  }
  int64_t angles = 0;
  int64_t differing = 0;
  for (uint32_t t = 0; t < threads; ++t) {
    workers[t].join();
    angles += results[t].angles;
    differing += results[t].differing;
  }
  EXPECT_EQ(angles, expected_angles);
  EXPECT_EQ(differing, 0);
}

TEST(SinCosExhaustiveTest, EqualsSincosfForEveryAngle) {
  ExpectNoDifference(SweepAngles, 1'135'869'952);
}

TEST(SinCosExhaustiveTest, OfDegreesEqualsTheDoublePrecisionFunctionsForEveryAngle) {
  ExpectNoDifference(SweepDegrees, 1'144'258'561);
}

}  // namespace
}  // namespace orbserve::algo
