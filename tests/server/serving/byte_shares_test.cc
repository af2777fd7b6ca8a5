// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/shares/byte_shares.h"

#include <string>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using Answer = ByteShares::Answer;

ClientId Of(const std::string& owner, const std::string& name) {
  return {.owner = owner, .name = name};
}

// Returns what the client gets when it takes `step` after `step` and gives nothing back.
int64_t TakeAll(ByteShares& shares, const ClientId& client, int64_t step = 1) {
  int64_t taken = 0;
  while (shares.Change(client, 0, step) == Answer::kFits) taken += step;
  return taken;
}

TEST(ByteSharesTest, AGreedyOwnerLeavesAsMuchAsItHasAndAGreedyNameToo) {
  ByteShares shares(1200);
  EXPECT_EQ(TakeAll(shares, Of("a", "1")), 300) << "half of the owner's half";
  EXPECT_EQ(TakeAll(shares, Of("a", "2")), 150);
  EXPECT_EQ(shares.Change(Of("a", "1"), 0, 1), Answer::kShareIsFull);
  EXPECT_EQ(TakeAll(shares, Of("b", "1")), 187);
}

TEST(ByteSharesTest, ManyNamesOfOneOwnerGetNoMoreThanItsPart) {
  ByteShares shares(1 << 20);
  int64_t taken = 0;
  for (int i = 0; i < 1000; ++i) taken += TakeAll(shares, Of("greedy", std::to_string(i)), 64);
  EXPECT_LE(taken, 1 << 19);
  EXPECT_GT(taken, (1 << 19) * 0.9);
  EXPECT_GE(TakeAll(shares, Of("other", "x"), 64), 1 << 16);
}

TEST(ByteSharesTest, ThereIsAlwaysSomethingFreeForOneOwnerMore) {
  ByteShares shares(1 << 20);
  for (int i = 0; i < 20; ++i) {
    EXPECT_GE(TakeAll(shares, Of(std::to_string(i), "x"), 16), 16) << i;
  }
  EXPECT_LE(shares.used_bytes(), 1 << 20);
}

TEST(ByteSharesTest, WeightsCount) {
  ByteShares shares(1000, {{"heavy", 3.0}});
  EXPECT_EQ(TakeAll(shares, Of("heavy", "x")), 375) << "half of three quarters";
  ByteShares light(1000, {{"light", 1.0 / 3}});
  EXPECT_EQ(TakeAll(light, Of("light", "x")), 125);
}

TEST(ByteSharesTest, ALoneHoldingOfAnySizeFits) {
  ByteShares shares(100);
  EXPECT_EQ(shares.Change(Of("a", "1"), 0, 1000), Answer::kFits);
  EXPECT_EQ(shares.Change(Of("a", "1"), 1000, 2000), Answer::kFits) << "still alone";
  EXPECT_EQ(shares.Change(Of("b", "1"), 0, 1), Answer::kAllIsFull);
  EXPECT_FALSE(shares.Fits(Of("b", "1"), 1));
  EXPECT_EQ(shares.Change(Of("a", "1"), 2000, 10), Answer::kFits) << "shrinks";
  EXPECT_TRUE(shares.Fits(Of("b", "1"), 20));
  EXPECT_EQ(shares.used_bytes(), 10);
}

TEST(ByteSharesTest, WhatIsGivenBackIsFreeAgain) {
  ByteShares shares(400);
  EXPECT_EQ(shares.Change(Of("a", "1"), 0, 100), Answer::kFits);
  EXPECT_EQ(shares.Change(Of("a", "1"), 0, 1), Answer::kShareIsFull);
  EXPECT_EQ(shares.Change(Of("a", "1"), 100, 0), Answer::kFits);
  EXPECT_EQ(shares.Change(Of("a", "1"), 0, 100), Answer::kFits);
  // Without asking, also beyond the share.
  shares.Add(Of("a", "1"), 200);
  EXPECT_EQ(shares.used_bytes(), 300);
  shares.Add(Of("a", "1"), -300);
  EXPECT_EQ(shares.used_bytes(), 0);
}

}  // namespace
}  // namespace orbserve
