// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Angles of [0, 360) degrees against this machine's sincosf, on a stride that meets every binade
// and reaches each angle of a real keypoint's precision in time; sincos_exhaustive goes through all
// of them.

#include "features/algo/sincos.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/features/algo/sincos_sweep.h"

namespace orbserve::algo {
namespace {

TEST(SinCosTest, EqualsSincosfOnAStrideOverAllAngles) {
  if (!SincosfIsTheOneMeant()) GTEST_SKIP() << "this C library has another sincosf";
  const SweepResult result = SweepAngles(/*first=*/0, /*stride=*/1009);
  EXPECT_GT(result.angles, 1'000'000);
  EXPECT_EQ(result.differing, 0) << "first at " << result.first_differing_deg << " degrees";
}

TEST(SinCosTest, OfDegreesEqualsTheDoublePrecisionFunctionsOnAStrideOverAllAngles) {
  if (!SincosfIsTheOneMeant()) GTEST_SKIP() << "this C library has other functions";
  const SweepResult result = SweepDegrees(/*first=*/0, /*stride=*/1009);
  EXPECT_GT(result.angles, 1'000'000);
  EXPECT_EQ(result.differing, 0) << "first at " << result.first_differing_deg << " degrees";
}

TEST(SinCosTest, OfDegreesIsAnotherFunctionThanThatOfRadians) {
  EXPECT_EQ(SinCosOfDegrees(90.0f).sine, 1.0f);
  // The cosine of the nearest double to pi/2, not of the nearest float.
  EXPECT_EQ(SinCosOfDegrees(90.0f).cosine, 0x1.1a6264p-54f);
  EXPECT_NE(SinCosOf(RadiansOfDegrees(90.0f)).cosine, SinCosOfDegrees(90.0f).cosine);
}

TEST(SinCosTest, GoldenValues) {
  // glibc 2.36, x86-64.
  const SinCos one = SinCosOf(1.0f);
  EXPECT_EQ(one.sine, 0x1.aed548p-1f);
  EXPECT_EQ(one.cosine, 0x1.14a280p-1f);
  const SinCos three = SinCosOf(3.0f);
  EXPECT_EQ(three.sine, 0x1.210386p-3f);
  EXPECT_EQ(three.cosine, -0x1.fae04cp-1f);
}

TEST(SinCosTest, TinyAnglesAreThemselves) {
  const SinCos tiny = SinCosOf(1e-30f);
  EXPECT_EQ(tiny.sine, 1e-30f);
  EXPECT_EQ(tiny.cosine, 1.0f);
}

TEST(SinCosTest, EqualsSincosfForGivenAnglesOfEitherSignUpToTwoTurns) {
  if (!SincosfIsTheOneMeant()) GTEST_SKIP() << "this C library has another sincosf";
  for (int i = -7'200'000; i <= 7'200'000; i += 7) {
    const float degrees = static_cast<float>(i) / 10'000.0f;
    const float radians = RadiansOfDegrees(degrees);
    float sine = 0;
    float cosine = 0;
    sincosf(radians, &sine, &cosine);
    const SinCos actual = SinCosOf(radians);
    ASSERT_EQ(actual.sine, sine) << degrees;
    ASSERT_EQ(actual.cosine, cosine) << degrees;
  }
}

TEST(SinCosTest, StaysOnTheUnitCircle) {
  for (int i = 0; i < 36000; ++i) {
    const SinCos turn = SinCosOf(RadiansOfDegrees(static_cast<float>(i) / 100.0f));
    ASSERT_NEAR(turn.sine * turn.sine + turn.cosine * turn.cosine, 1.0, 3e-7) << i;
  }
}

}  // namespace
}  // namespace orbserve::algo
