// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/arrivals.h"

#include <cmath>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

TEST(Arrivals, ConstantGapsDoNotDrift) {
  Arrivals arrivals(ArrivalKind::kConstant, 30);
  EXPECT_EQ(arrivals.Next(), 0);
  double last = 0;
  for (int i = 1; i <= 300'000; ++i) last = arrivals.Next();
  EXPECT_DOUBLE_EQ(last, 10'000);
}

// The gaps of a Poisson process have the mean 1 / rate, the same standard deviation, and are longer
// than t in a share exp(-rate t) of the cases.
TEST(Arrivals, PoissonGapsHaveTheirDistribution) {
  constexpr int kCount = 200'000;
  Arrivals arrivals(ArrivalKind::kPoisson, 50);
  double last = 0;
  double squares = 0;
  int long_gaps = 0;
  for (int i = 0; i < kCount; ++i) {
    const double time = arrivals.Next();
    ASSERT_GE(time, last);
    squares += (time - last) * (time - last);
    long_gaps += time - last > 0.04 ? 1 : 0;
    last = time;
  }
  const double mean = last / kCount;
  EXPECT_NEAR(mean, 0.02, 0.0002);
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 0.02, 0.0004);
  EXPECT_NEAR(static_cast<double>(long_gaps) / kCount, std::exp(-2), 0.003);
}

TEST(Arrivals, EveryRunHasTheSameTimes) {
  Arrivals first(ArrivalKind::kPoisson, 7);
  Arrivals second(ArrivalKind::kPoisson, 7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first.Next(), second.Next());
}

}  // namespace
}  // namespace orbserve::cli
