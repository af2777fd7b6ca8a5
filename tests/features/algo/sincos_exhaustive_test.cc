// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every float of [0, 360): some ten seconds of processor time a core.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/features/algo/sincos_sweep.h"

namespace orbserve::algo {
namespace {

TEST(SinCosExhaustiveTest, EqualsSincosfForEveryAngle) {
  if (!SincosfIsTheOneMeant()) GTEST_SKIP() << "this C library has another sincosf";
  const uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<SweepResult> results(threads);
  std::vector<std::thread> workers;
  for (uint32_t t = 0; t < threads; ++t) {
    workers.emplace_back([&results, t, threads] { results[t] = SweepAngles(t, threads); });
  }
  int64_t angles = 0;
  int64_t differing = 0;
  for (uint32_t t = 0; t < threads; ++t) {
    workers[t].join();
    angles += results[t].angles;
    differing += results[t].differing;
  }
  RecordProperty("angles", std::to_string(angles));
  EXPECT_EQ(angles, 1'135'869'952);
  EXPECT_EQ(differing, 0);
}

}  // namespace
}  // namespace orbserve::algo
