// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/rate_search.h"

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

TEST(RateSearch, FindsTheHighestRateThatHolds) {
  for (const double limit : {3.0, 16.0, 17.0, 100.0, 4321.0, 250'000.0}) {
    int measured = 0;
    const absl::StatusOr<double> found =
        FindHighestRate(16, [&](double rate) -> absl::StatusOr<bool> {
          ++measured;
          return rate <= limit;
        });
    ASSERT_TRUE(found.ok());
    EXPECT_LE(*found, limit);
    EXPECT_GE(*found, limit / 1.03);
    EXPECT_LE(measured, 25);
  }
}

TEST(RateSearch, NothingHoldsOrAMeasurementFails) {
  EXPECT_EQ(*FindHighestRate(16, [](double) -> absl::StatusOr<bool> { return false; }), 0);
  EXPECT_FALSE(FindHighestRate(16, [](double) -> absl::StatusOr<bool> {
                 return absl::UnknownError("x");
               }).ok());
  EXPECT_GT(*FindHighestRate(16, [](double) -> absl::StatusOr<bool> { return true; }), 1e6);
}

}  // namespace
}  // namespace orbserve::cli
