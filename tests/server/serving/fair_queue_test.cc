// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/fair_queue.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;

std::vector<int> PopAll(FairQueue<int>& queue) {
  std::vector<int> all;
  while (!queue.empty()) all.push_back(queue.Pop());
  return all;
}

TEST(FairQueueTest, OneClientIsFirstInFirstOut) {
  FairQueue<int> queue;
  for (const int value : {1, 2, 3}) queue.Push(Named("a"), value);
  EXPECT_THAT(PopAll(queue), ElementsAre(1, 2, 3));
}

TEST(FairQueueTest, ClientsTakeTurnsInTheOrderOfTheirComing) {
  FairQueue<int> queue;
  for (const int value : {1, 2, 3, 4}) queue.Push(Named("a"), value);
  queue.Push(Named("b"), 10);
  queue.Push(Named("c"), 20);
  queue.Push(Named("b"), 11);
  EXPECT_THAT(PopAll(queue), ElementsAre(1, 10, 20, 2, 11, 3, 4));
}

TEST(FairQueueTest, AClientThatComesBackGoesToTheEndOfTheTurns) {
  FairQueue<int> queue;
  queue.Push(Named("a"), 1);
  queue.Push(Named("b"), 10);
  queue.Push(Named("b"), 11);
  EXPECT_EQ(queue.Pop(), 1);
  queue.Push(Named("a"), 2);
  EXPECT_THAT(PopAll(queue), ElementsAre(10, 2, 11));
}

TEST(FairQueueTest, RemovalLeavesTheTurnsAlone) {
  FairQueue<int> queue;
  queue.Push(Named("a"), 1);
  const auto middle = queue.Push(Named("a"), 2);
  queue.Push(Named("a"), 3);
  const auto only = queue.Push(Named("b"), 10);
  EXPECT_EQ(queue.Remove(middle), 2);
  EXPECT_EQ(queue.Remove(only), 10);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.client_count(), 1u);
  EXPECT_THAT(PopAll(queue), ElementsAre(1, 3));
  EXPECT_EQ(queue.client_count(), 0u);
}

}  // namespace
}  // namespace orbserve
