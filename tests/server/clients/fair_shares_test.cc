// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/fair_shares.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/clients/fair_queue.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A queue of pieces of work, each with its cost, and a server that does one at a time.
class FairSharesTest : public ::testing::Test {
 protected:
  struct Piece {
    ClientId client;
    FairShares::Account* account = nullptr;
    int64_t cost = 0;   // as expected
    int64_t taken = 0;  // as it turns out
  };

  void Make(OwnerWeights weights) {
    ledger_ = std::make_unique<Ledger>(std::move(weights));
    shares_ = std::make_unique<FairShares>(ledger_.get());
  }

  void Push(const ClientId& client, int64_t cost, int64_t taken) {
    FairShares::Account* const account = shares_->Open(client);
    queue_.Push(account, {client, account, cost, taken});
  }
  void Push(const std::string& name, int64_t cost) { Push(Named(name), cost, cost); }

  // Does the next piece and returns its client.
  ClientId Serve() {
    const Piece piece = queue_.Pop();
    shares_->Charge(piece.account, piece.cost);
    shares_->Correct(piece.account, piece.taken - piece.cost);
    shares_->Close(piece.account);
    return piece.client;
  }

  // Serves until so much work was done; every client that was served gets a new piece like its
  // last. Returns the work of each name.
  std::map<std::string, int64_t> ServeBacklog(int64_t work,
                                              const std::map<std::string, int64_t>& cost_of) {
    std::map<std::string, int64_t> served;
    for (int64_t sum = 0; sum < work;) {
      const ClientId client = Serve();
      const int64_t cost = cost_of.at(client.name);
      served[client.name] += cost;
      sum += cost;
      Push(client, cost, cost);
    }
    return served;
  }

  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<FairShares> shares_ = std::make_unique<FairShares>();
  FairQueue<Piece> queue_;
};

TEST_F(FairSharesTest, ClientsGetEqualWorkAndNotEqualTurns) {
  const std::map<std::string, int64_t> cost_of = {{"small", 1}, {"middle", 10}, {"large", 100}};
  for (const auto& [name, cost] : cost_of) {
    for (int i = 0; i < 3; ++i) Push(name, cost);
  }
  const auto served = ServeBacklog(30'000, cost_of);
  for (const auto& [name, work] : served) EXPECT_NEAR(work, 10'000, 200) << name;
}

TEST_F(FairSharesTest, OwnersShareByTheirWeights) {
  Make({{"four", 4.0}, {"half", 0.5}});
  const std::map<std::string, int64_t> cost_of = {{"four", 700}, {"one", 700}, {"half", 700}};
  for (const auto& [name, cost] : cost_of) {
    for (int i = 0; i < 3; ++i) Push(name, cost);
  }
  const auto served = ServeBacklog(5'500'000, cost_of);
  EXPECT_NEAR(served.at("four"), 4'000'000, 20'000);
  EXPECT_NEAR(served.at("one"), 1'000'000, 20'000);
  EXPECT_NEAR(served.at("half"), 500'000, 20'000);
}

TEST_F(FairSharesTest, TheNamesOfAnOwnerDivideItsShare) {
  std::map<std::string, int64_t> cost_of = {{"alone", 5}};
  Push({.owner = "b", .name = "alone"}, 5, 5);
  for (int i = 0; i < 50; ++i) {
    const std::string name = absl::StrCat("a", i);
    cost_of[name] = 5;
    Push({.owner = "a", .name = name}, 5, 5);
  }
  const auto served = ServeBacklog(100'000, cost_of);
  EXPECT_NEAR(served.at("alone"), 50'000, 100);
  for (int i = 0; i < 50; ++i) EXPECT_NEAR(served.at(absl::StrCat("a", i)), 1'000, 20);
}

TEST_F(FairSharesTest, TimeWithoutWorkEarnsNoCredit) {
  const std::map<std::string, int64_t> cost_of = {{"busy", 10}, {"idle", 10}};
  for (int i = 0; i < 2; ++i) Push("busy", 10);
  ServeBacklog(100'000, cost_of);
  for (int i = 0; i < 100; ++i) Push("idle", 10);
  std::map<std::string, int> turns;
  for (int i = 0; i < 40; ++i) {
    const ClientId client = Serve();
    ++turns[client.name];
    Push(client, 10, 10);
  }
  EXPECT_NEAR(turns["busy"], 20, 1);
}

// Otherwise one expensive request at a time would get half of the server beside any load.
TEST_F(FairSharesTest, WhatAClientOwesIsRememberedWhileOthersWait) {
  for (int i = 0; i < 300; ++i) Push("small", 1);
  Push("large", 100);
  int since = 0;
  std::vector<int> between;
  for (int i = 0; i < 200; ++i) {
    if (Serve().name == "large") {
      between.push_back(std::exchange(since, 0));
      Push("large", 100);  // the next one comes when the last is answered
    } else {
      ++since;
    }
  }
  ASSERT_EQ(between.size(), 2u);
  EXPECT_LE(between[0], 2);
  EXPECT_NEAR(between[1], 100, 2);
}

TEST_F(FairSharesTest, DebtsEndWithTheBusyTime) {
  Push("a", 1'000'000);
  Serve();
  Push("b", 1);
  Serve();
  Push("a", 1);
  Push("b", 1);
  EXPECT_EQ(Serve().name, "a");
  EXPECT_EQ(Serve().name, "b");
}

TEST_F(FairSharesTest, AChargeIsCorrectedByWhatTheWorkTook) {
  // Expected to be equal, but one is ten times as expensive.
  std::map<std::string, int64_t> served;
  for (int i = 0; i < 400; ++i) {
    Push(Named("cheap"), 10, 1);
    Push(Named("dear"), 10, 10);
  }
  for (int i = 0; i < 110; ++i) ++served[Serve().name];
  EXPECT_THAT(served, UnorderedElementsAre(
                          Pair("cheap", ::testing::AllOf(::testing::Ge(95), ::testing::Le(102))),
                          Pair("dear", ::testing::_)));
}

TEST_F(FairSharesTest, ARefundTakesEffectOnWorkThatWaits) {
  Push("over", 1);
  Push("other", 600);
  Push("other", 1);
  FairShares::Account* const over = shares_->Open(Named("over"));
  shares_->Charge(over, 1'000);
  EXPECT_EQ(Serve().name, "other");
  EXPECT_EQ(queue_.front().client.name, "other");
  shares_->Correct(over, -900);
  EXPECT_EQ(queue_.front().client.name, "over");
  shares_->Close(over);
}

TEST_F(FairSharesTest, QueuesOnTheSameSharesKnowOfEachOther) {
  FairQueue<Piece> second;
  for (int i = 0; i < 2; ++i) {
    Push("a", 10);
    Push("b", 10);
  }
  FairShares::Account* const account = shares_->Open(Named("a"));
  second.Push(account, {Named("a"), account, 1'000, 1'000});
  shares_->Charge(second.Pop().account, 1'000);
  EXPECT_EQ(Serve().name, "b");
  EXPECT_EQ(Serve().name, "b");
  EXPECT_EQ(Serve().name, "a");
  shares_->Close(account);
}

// A client could otherwise fill the memory with names.
TEST_F(FairSharesTest, RemembersABoundedNumberOfClients) {
  FairShares::Account* const always = shares_->Open(Named("always"));
  shares_->Charge(always, 1);
  for (int i = 0; i < 3 * static_cast<int>(FairShares::kMaxIdle); ++i) {
    FairShares::Account* const account = shares_->Open(Named(absl::StrCat("id", i)));
    shares_->Charge(account, 1'000);
    shares_->Close(account);
  }
  EXPECT_LE(shares_->clients(), FairShares::kMaxIdle + 1);
  EXPECT_GE(shares_->clients(), FairShares::kMaxIdle);
  shares_->Close(always);
  EXPECT_EQ(shares_->clients(), FairShares::kMaxIdle);
}

// A client that takes a new name for each request, beside one that keeps its own.
TEST_F(FairSharesTest, EverNewNamesDoNotGoFirst) {
  for (int i = 0; i < 10; ++i) Push({.owner = "o", .name = "known"}, 1'000, 1'000);
  int next = 0;
  const auto push_new = [&] {
    Push({.owner = "o", .name = absl::StrCat("new", next++)}, 1'000, 1'000);
  };
  for (int i = 0; i < 4; ++i) push_new();
  int known = 0;
  for (int i = 0; i < 30; ++i) {
    if (Serve().name == "known") {
      ++known;
    } else {
      push_new();
    }
  }
  EXPECT_GE(known, 5) << "a fifth of the turns, as one of five";
}

// Against a plain search through all.
TEST_F(FairSharesTest, TheQueueFindsTheSmallestRank) {
  constexpr unsigned kSeed = 7;
  std::minstd_rand random(kSeed);
  std::vector<FairShares::Account*> accounts;
  for (int i = 0; i < 12; ++i) {
    const ClientId client = {absl::StrCat("o", i % 3), absl::StrCat("n", i)};
    accounts.push_back(shares_->Open(client));
    for (int k = 0; k < 200; ++k) {
      queue_.Push(accounts.back(),
                  {client, accounts.back(), static_cast<int64_t>(random() % 50), 0});
    }
  }
  for (int i = 0; i < 1'000; ++i) {
    const FairShares::Account* const next = queue_.front_account();
    for (const FairShares::Account* const account : accounts) {
      EXPECT_FALSE(Before(*account, *next)) << "seed " << kSeed << ", turn " << i;
    }
    const Piece piece = queue_.Pop();
    shares_->Charge(piece.account, piece.cost);
    shares_->Correct(accounts[random() % accounts.size()], static_cast<int64_t>(random() % 9) - 4);
  }
  while (!queue_.empty()) queue_.Pop();
  for (FairShares::Account* const account : accounts) shares_->Close(account);
}

}  // namespace
}  // namespace orbserve
