// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/fair_queue.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;

// Every item costs 1. Accounts stay open until the end.
class FairQueueTest : public ::testing::Test {
 protected:
  FairQueue<int>::Handle Push(const std::string& name, int value) {
    return queue_.Push(shares_.Open(Named(name)), value);
  }
  int Pop() {
    FairShares::Account* const account = queue_.front_account();
    const int value = queue_.Pop();
    shares_.Charge(account, 1);
    return value;
  }
  std::vector<int> PopAll() {
    std::vector<int> all;
    while (!queue_.empty()) all.push_back(Pop());
    return all;
  }

  FairShares shares_;
  FairQueue<int> queue_;
};

TEST_F(FairQueueTest, OneClientIsFirstInFirstOut) {
  for (const int value : {1, 2, 3}) Push("a", value);
  EXPECT_THAT(PopAll(), ElementsAre(1, 2, 3));
}

TEST_F(FairQueueTest, ClientsTakeTurnsInTheOrderOfTheirComing) {
  for (const int value : {1, 2, 3, 4}) Push("a", value);
  Push("b", 10);
  Push("c", 20);
  Push("b", 11);
  EXPECT_THAT(PopAll(), ElementsAre(1, 10, 20, 2, 11, 3, 4));
}

TEST_F(FairQueueTest, AClientThatComesBackHasNotForgottenItsTurn) {
  Push("a", 1);
  Push("b", 10);
  Push("b", 11);
  EXPECT_EQ(Pop(), 1);
  Push("a", 2);
  EXPECT_THAT(PopAll(), ElementsAre(10, 2, 11));
}

TEST_F(FairQueueTest, RemovalCostsNothing) {
  Push("a", 1);
  const auto middle = Push("a", 2);
  Push("a", 3);
  const auto only = Push("b", 10);
  EXPECT_EQ(queue_.Remove(middle), 2);
  EXPECT_EQ(queue_.Remove(only), 10);
  EXPECT_EQ(queue_.size(), 2u);
  Push("b", 11);
  EXPECT_THAT(PopAll(), ElementsAre(1, 11, 3));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(FairQueueTest, RanksMayChangeWhileAnOwnerIsOnlyInPartInTheQueue) {
  FairShares::Account* const absent = shares_.Open({.owner = "o", .name = "absent"});
  FairShares::Account* const present = shares_.Open({.owner = "o", .name = "present"});
  queue_.Push(present, 1);
  Push("b", 10);
  Push("b", 11);
  shares_.Charge(absent, 5);  // by another queue
  EXPECT_THAT(PopAll(), ElementsAre(10, 11, 1));
}

}  // namespace
}  // namespace orbserve
