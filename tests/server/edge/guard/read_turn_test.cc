// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/guard/read_turn.h"

#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

constexpr int64_t kTurnNs = ReadTurn::kTurnNs;

TEST(ReadTurnTest, ATurnEndsWhenItsTimeIsUsed) {
  ReadTurn turn;
  for (int i = 0; i < 3; ++i) {
    int64_t used_ns = 0;
    size_t most = 0;
    while ((most = turn.Begin()) > 0) {
      turn.Add(1000, kTurnNs / 4);
      used_ns += kTurnNs / 4;
    }
    EXPECT_EQ(used_ns, kTurnNs) << i;
  }
}

TEST(ReadTurnTest, BytesThatCostMuchAreReadInSmallPieces) {
  ReadTurn turn;
  for (int i = 0; i < 20; ++i) {
    if (turn.Begin() > 0) turn.Add(1000, 100 * 1000);
  }
  turn.End();
  EXPECT_NEAR(static_cast<double>(turn.Begin()), static_cast<double>(kTurnNs) / 100, 10);
  // There is always progress.
  for (int i = 0; i < 20; ++i) {
    if (turn.Begin() > 0) turn.Add(10, kTurnNs);
  }
  turn.End();
  EXPECT_EQ(turn.Begin(), ReadTurn::kLeastBytes);
}

TEST(ReadTurnTest, ATurnReadsNoMoreThanItHasLeft) {
  ReadTurn turn;
  for (int i = 0; i < 20; ++i) {
    if (turn.Begin() > 0) turn.Add(10'000, 10'000);
  }
  turn.End();
  ASSERT_GT(turn.Begin(), 0u);
  turn.Add(200'000, 200'000);
  EXPECT_NEAR(static_cast<double>(turn.Begin()), static_cast<double>(kTurnNs - 200'000), 100);
}

TEST(ReadTurnTest, ATurnDoesNotEndInSmallReads) {
  ReadTurn turn;
  int reads = 0;
  for (int turns = 0; turns < 100;) {
    const size_t most = turn.Begin();
    if (most == 0) {
      ++turns;
      continue;
    }
    // A read costs a little less than was expected of it.
    ++reads;
    turn.Add(most, static_cast<int64_t>(0.95 * 0.2 * static_cast<double>(most)));
  }
  EXPECT_LT(reads, 130);
}

TEST(ReadTurnTest, MessagesAreToldFromCalls) {
  ReadTurn turn;
  EXPECT_FALSE(turn.is_bulk());                          // nothing is known yet
  for (int i = 0; i < 20; ++i) turn.Add(16'384, 8'692);  // a frame of DATA
  EXPECT_TRUE(turn.is_bulk());
  for (int i = 0; i < 20; ++i) turn.Add(100, 50'000);
  EXPECT_FALSE(turn.is_bulk());
}

TEST(ReadTurnTest, AConnectionThatIsReadToItsEndKeepsItsTurn) {
  ReadTurn turn;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_GT(turn.Begin(), 0u);
    turn.Add(77'000, kTurnNs / 2);
    turn.End();
  }
}

TEST(TurnContentionTest, CountsEachConnectionOncePerWindow) {
  constexpr int64_t kWindowMs = TurnContention::kWindowMs;
  TurnContention contention;
  int64_t first = -1;
  int64_t second = -1;
  const int64_t now_ms = 1000 * kWindowMs;
  EXPECT_EQ(contention.Add(first, now_ms), 1);
  EXPECT_EQ(contention.Add(first, now_ms + kWindowMs - 1), 1);
  EXPECT_EQ(contention.Add(second, now_ms + kWindowMs - 1), 2);
  // Both are counted as long as the window is the last one.
  EXPECT_EQ(contention.Add(first, now_ms + kWindowMs), 2);
  EXPECT_EQ(contention.Add(first, now_ms + 2 * kWindowMs), 1);
  // A window without any is not the one before.
  EXPECT_EQ(contention.Add(second, now_ms + 4 * kWindowMs), 1);
}

}  // namespace
}  // namespace orbserve
