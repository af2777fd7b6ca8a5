// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_watch.h"

#include <vector>

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr size_t kSmall = 1000;
constexpr size_t kLarge = size_t{2} << 20;

// A watch of 1000 MiB, and of 2000 MiB of address space, that sees what a test says.
class MemoryWatchTest : public ::testing::Test {
 protected:
  void Look(int64_t resident_mib, int64_t address_mib = 0, int64_t available_mib = 5000) {
    state_ = {resident_mib * kMebibyte, address_mib * kMebibyte, available_mib * kMebibyte};
    watch_.Look();
  }
  static bool IsRefused(const absl::Status& status) {
    return !status.ok() && ReasonOf(status) == ErrorReason::kOutOfMemory;
  }

  MemoryState state_;
  std::vector<bool> changes_;
  MemoryWatch watch_{
      {.limit_bytes = 1000 * kMebibyte,
       .address_limit_bytes = 2000 * kMebibyte,
       .on_change = [this](bool is_under_pressure) { changes_.push_back(is_under_pressure); },
       .read = [this] { return state_; }}};
};

TEST_F(MemoryWatchTest, LargeRequestsAreRefusedFromNinetyPercentOnUntilEightyFive) {
  Look(900);
  EXPECT_FALSE(watch_.is_under_pressure());
  EXPECT_TRUE(watch_.Check(kLarge).ok());
  Look(901);
  EXPECT_TRUE(watch_.is_under_pressure());
  EXPECT_TRUE(IsRefused(watch_.Check(kLarge)));
  EXPECT_TRUE(watch_.Check(kSmall).ok());
  Look(860);
  EXPECT_TRUE(watch_.is_under_pressure());
  Look(850);
  EXPECT_FALSE(watch_.is_under_pressure());
  EXPECT_TRUE(watch_.Check(kLarge).ok());
  EXPECT_THAT(changes_, ElementsAre(true, false));
}

TEST_F(MemoryWatchTest, EverythingIsRefusedFromNinetyFivePercentOn) {
  Look(951);
  EXPECT_TRUE(IsRefused(watch_.Check(kSmall)));
  Look(940);
  EXPECT_TRUE(watch_.Check(kSmall).ok());
  EXPECT_TRUE(IsRefused(watch_.Check(kLarge)));
}

TEST_F(MemoryWatchTest, AddressSpaceAndTheMachineCountToo) {
  Look(10, 1801);
  EXPECT_TRUE(watch_.is_under_pressure());
  Look(10, 0);
  EXPECT_FALSE(watch_.is_under_pressure());
  Look(10, 0, 19);
  EXPECT_TRUE(watch_.is_under_pressure());
  Look(10, 0, 20);
  EXPECT_FALSE(watch_.is_under_pressure());
}

TEST_F(MemoryWatchTest, LargeMessagesHaveRoomBelowSixtyPercentAndSmallOnesBelowSeventyFive) {
  Look(599);
  EXPECT_TRUE(watch_.HasRoomFor(kLarge));
  Look(600);
  EXPECT_FALSE(watch_.HasRoomFor(kLarge));
  EXPECT_TRUE(watch_.HasRoomFor(kSmall));
  Look(750);
  EXPECT_FALSE(watch_.HasRoomFor(kSmall));
  Look(10, 1200);
  EXPECT_FALSE(watch_.HasRoomFor(kLarge));
  Look(10, 0, 400);
  EXPECT_FALSE(watch_.HasRoomFor(kLarge));
  EXPECT_TRUE(watch_.HasRoomFor(kSmall));
}

TEST_F(MemoryWatchTest, WhatCannotBeReadIsEnough) {
  state_ = {};
  watch_.Look();
  EXPECT_FALSE(watch_.is_under_pressure());
  EXPECT_TRUE(watch_.HasRoomFor(kLarge));
}

}  // namespace
}  // namespace orbserve
