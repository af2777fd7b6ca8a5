// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/input_limits.h"

#include <cstdint>
#include <utility>

#include "features/errors.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

TEST(InputLimitsTest, SidesAreFromOneToTheirLimit) {
  EXPECT_TRUE(CheckImageSize(1, 1).ok());
  EXPECT_TRUE(CheckImageSize(32767, 32767).ok());
  for (const auto& [width_px, height_px] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{-1, 1},
                                            std::pair{32768, 1}, std::pair{1, 32768}}) {
    const absl::Status status = CheckImageSize(width_px, height_px);
    ASSERT_FALSE(status.ok()) << width_px << " x " << height_px;
    EXPECT_EQ(ReasonOf(status), ErrorReason::kBadImage);
  }
}

TEST(InputLimitsTest, AFrameThatNoSlotCanHoldIsToldItsBytes) {
  EXPECT_TRUE(CheckInputBytes(64, 48, false, 4096, 4096).ok());
  const absl::Status status = CheckInputBytes(64, 48, true, 4097, 4096);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kTooLarge);
  EXPECT_EQ(status.message(),
            "a frame of 64 x 48 with a mask needs 4097 bytes of input; this server has room for "
            "4096");
}

TEST(InputLimitsTest, ABudgetIsWhatIsAskedForOrPartOfTheMemory) {
  EXPECT_EQ(InputBudgetBytes(1), 1);
  EXPECT_EQ(InputBudgetBytes(int64_t{1} << 40), int64_t{1} << 40);
  EXPECT_GT(InputBudgetBytes(0), int64_t{64} << 20);
}

}  // namespace
}  // namespace orbserve
