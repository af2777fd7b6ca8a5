// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/frame_times.h"

#include <cstddef>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

FrameTimes::Time After(int64_t us) { return FrameTimes::Time(microseconds(us)); }

nanoseconds Sum(const FrameTimes& times) {
  nanoseconds sum{};
  for (size_t i = 0; i < kFramePhaseNames.size(); ++i) {
    sum += times.spent(static_cast<FramePhase>(i));
  }
  return sum;
}

TEST(FrameTimesTest, EachMomentBelongsToThePhaseInWhichTheFrameWas) {
  FrameTimes times;
  times.Begin(After(100));
  times.Enter(FramePhase::kDecodeQueue, After(110));
  times.Enter(FramePhase::kDecode, After(140));
  times.Enter(FramePhase::kSend, After(145));
  times.Enter(FramePhase::kSend, After(150));
  EXPECT_EQ(times.spent(FramePhase::kAdmit), microseconds(10));
  EXPECT_EQ(times.spent(FramePhase::kDecodeQueue), microseconds(30));
  EXPECT_EQ(times.spent(FramePhase::kDecode), microseconds(5));
  EXPECT_EQ(times.spent(FramePhase::kSend), microseconds(5));
  EXPECT_EQ(times.total(), microseconds(50));
  EXPECT_EQ(Sum(times), times.total());
}

TEST(FrameTimesTest, MeasuredPartsAreTakenFromThePhase) {
  FrameTimes times;
  times.Begin(After(0));
  times.Enter(FramePhase::kCompute, After(10));
  times.Spend(FramePhase::kUpload, microseconds(3), After(100));
  times.Spend(FramePhase::kCompute, microseconds(20), After(100));
  times.Spend(FramePhase::kQueue, nanoseconds::max(), After(100));  // the rest
  times.Enter(FramePhase::kSend, After(100));
  EXPECT_EQ(times.spent(FramePhase::kUpload), microseconds(3));
  EXPECT_EQ(times.spent(FramePhase::kCompute), microseconds(20));
  EXPECT_EQ(times.spent(FramePhase::kQueue), microseconds(67));
  EXPECT_EQ(Sum(times), times.total());
}

TEST(FrameTimesTest, NoPartIsLongerThanTheTimeThatPassed) {
  FrameTimes times;
  times.Begin(After(0));
  times.Spend(FramePhase::kDecode, microseconds(50), After(20));
  times.Spend(FramePhase::kQueue, microseconds(1), After(20));
  times.Enter(FramePhase::kSend, After(15));  // another thread's look at the clock
  EXPECT_EQ(times.spent(FramePhase::kDecode), microseconds(20));
  EXPECT_EQ(times.spent(FramePhase::kQueue), microseconds(0));
  EXPECT_EQ(times.spent(FramePhase::kAdmit), microseconds(0));
  EXPECT_EQ(times.total(), microseconds(20));
}

}  // namespace
}  // namespace orbserve
