// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/ledger.h"

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using Full = Refusal::Full;

ClientId Of(const std::string& owner, const std::string& name) {
  return {.owner = owner, .name = name};
}

class LedgerTest : public ::testing::Test {
 protected:
  void Make(int64_t all, double times_free, OwnerWeights weights = {}) {
    held_.clear();
    ledger_ = std::make_unique<Ledger>(std::move(weights));
    ledger_->Bound(Resource::kUnaryResponseBytes, {.all = all, .times_free = times_free});
  }
  std::optional<Refusal> Take(const ClientId& client, int64_t amount) {
    Holding holding(ledger_->Open(client), Resource::kUnaryResponseBytes);
    const std::optional<Refusal> would = holding.AskFurther(amount);
    const std::optional<Refusal> refusal = holding.Resize(amount);
    EXPECT_EQ(would.has_value(), refusal.has_value());
    if (!refusal.has_value()) held_.push_back(std::move(holding));
    return refusal;
  }
  // Returns what the client gets when it takes `step` after `step` and gives nothing back.
  int64_t TakeAll(const ClientId& client, int64_t step = 1) {
    int64_t taken = 0;
    while (!Take(client, step).has_value()) taken += step;
    return taken;
  }
  int64_t all() const { return ledger_->held(Resource::kUnaryResponseBytes); }

  std::unique_ptr<Ledger> ledger_;
  std::vector<Holding> held_;
};

TEST_F(LedgerTest, AGreedyOwnerLeavesAsMuchAsItHasAndAGreedyNameToo) {
  Make(1200, 1);
  EXPECT_EQ(TakeAll(Of("a", "1")), 400) << "as much as the owner's 800 leave it";
  EXPECT_EQ(TakeAll(Of("a", "2")), 133);
  const std::optional<Refusal> refusal = Take(Of("a", "1"), 1);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->full, Full::kName);
  EXPECT_EQ(TakeAll(Of("b", "1")), 222);
}

TEST_F(LedgerTest, ManyNamesOfOneOwnerGetNoMoreThanItsPart) {
  Make(1 << 20, 1);
  int64_t taken = 0;
  for (int i = 0; i < 1000; ++i) taken += TakeAll(Of("greedy", absl::StrCat(i)), 64);
  EXPECT_LE(taken, 1 << 19);
  EXPECT_GT(taken, (1 << 19) * 0.9);
  EXPECT_EQ(Take(Of("greedy", "new"), 64)->full, Full::kOwner);
  EXPECT_GE(TakeAll(Of("other", "x"), 64), 1 << 16);
}

TEST_F(LedgerTest, ThereIsAlwaysSomethingFreeForOneOwnerMore) {
  Make(1 << 16, 3);
  for (int i = 0; i < 6; ++i) EXPECT_GE(TakeAll(Of(absl::StrCat(i), "x")), 1) << i;
  EXPECT_LE(all(), 1 << 16);
}

TEST_F(LedgerTest, WeightsCount) {
  Make(1000, 1, {{"heavy", 3.0}, {"light", 1.0 / 4}});
  EXPECT_EQ(TakeAll(Of("heavy", "x")), 600);  // x <= 3 * (1000 - x) - x
  Make(1000, 1, {{"light", 1.0 / 4}});
  EXPECT_EQ(TakeAll(Of("light", "x")), 111);  // x <= (1000 - x) / 4 - x
}

TEST_F(LedgerTest, NewcomersFindRoomInAFullPart) {
  Make(1000, 3);
  ledger_->Bound(Resource::kUnaryResponseBytes,
                 {.all = 1000, .times_free = 3, .times_free_for_newcomers = 7});
  for (int i = 0; i < 100; ++i) TakeAll(Of("a", absl::StrCat(i)));
  EXPECT_FALSE(Take(Of("a", "new"), 1).has_value());
  EXPECT_EQ(Take(Of("a", "new"), 1)->full, Full::kOwner);
}

TEST_F(LedgerTest, WhoHoldsNothingMayHaveOneThingForWhichThereIsSpace) {
  Make(100, 1);
  EXPECT_FALSE(Take(Of("a", "1"), 1000).has_value()) << "alone";
  EXPECT_EQ(Take(Of("b", "1"), 1)->full, Full::kAll);
  ASSERT_FALSE(held_.back().Resize(2000).has_value()) << "still alone";
  ASSERT_FALSE(held_.back().Resize(10).has_value()) << "shrinks";
  EXPECT_EQ(all(), 10);
  EXPECT_FALSE(Take(Of("b", "1"), 80).has_value());
  EXPECT_EQ(Take(Of("b", "1"), 1)->full, Full::kOwner);
  EXPECT_EQ(Take(Of("c", "1"), 11)->full, Full::kAll);
  EXPECT_FALSE(Take(Of("c", "1"), 10).has_value());
}

TEST_F(LedgerTest, FixedBoundsAreKept) {
  Make(100, 1);
  ledger_->Bound(Resource::kUnaryResponseBytes,
                 {.all = 100, .owner = 20, .name = 10, .times_free = 0});
  EXPECT_EQ(TakeAll(Of("a", "1")), 10);
  EXPECT_EQ(TakeAll(Of("a", "2")), 10);
  const Refusal refusal = *Take(Of("a", "3"), 2);
  EXPECT_EQ(refusal.full, Full::kOwner);
  EXPECT_EQ(refusal.held, 20);
  EXPECT_EQ(refusal.added, 2);
  EXPECT_EQ(refusal.most, 20);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(TakeAll(Of("b", absl::StrCat(i))), i < 2 ? 10 : 0);
}

TEST_F(LedgerTest, HoldingsAreFreedWhenTheyAreMovedOverOrDestroyed) {
  Make(400, 1);
  const Ledger::AccountPtr account = ledger_->Open(Of("a", "1"));
  Holding one(account, Resource::kUnaryResponseBytes);
  ASSERT_FALSE(one.Resize(100).has_value());
  {
    Holding other(account, Resource::kUnaryResponseBytes);
    other.Set(30);
    EXPECT_EQ(all(), 130);
  }
  EXPECT_EQ(all(), 100);
  Holding two(std::move(one));
  EXPECT_EQ(two.amount(), 100);
  EXPECT_EQ(all(), 100);
  two.Set(300);  // without asking
  EXPECT_EQ(account->held(Resource::kUnaryResponseBytes), 300);
  EXPECT_EQ(account->held_by_owner(Resource::kUnaryResponseBytes), 300);
  two = Holding();
  EXPECT_EQ(all(), 0);
  two.Set(0);
}

TEST_F(LedgerTest, NamesOfAnOwnerShareItsSumAndNothingIsKeptOfThoseWhoLeft) {
  Make(100, 1, {{"a", 2.0}});
  Ledger::AccountPtr one = ledger_->Open(Of("a", "1"));
  const Ledger::AccountPtr two = ledger_->Open(Of("a", "2"));
  EXPECT_EQ(ledger_->Open(Of("a", "1")), one);
  EXPECT_EQ(two->weight(), 2.0);
  Holding holding(one, Resource::kStreams);
  holding.Set(5);
  EXPECT_EQ(two->held_by_owner(Resource::kStreams), 5);
  EXPECT_EQ(two->held(Resource::kStreams), 0);
  one.reset();
  EXPECT_EQ(ledger_->Open(Of("a", "1"))->held(Resource::kStreams), 5) << "the holding keeps it";
  holding = Holding();
  EXPECT_EQ(ledger_->Open(Of("a", "1"))->held(Resource::kStreams), 0);
}

TEST(RefusalTest, TheTextNamesWhoHoldsWhatAndWhatMayBeHeld) {
  Refusal refusal = {Resource::kFrames, Full::kName, 3, 1, 3};
  EXPECT_EQ(refusal.text(),
            "this client holds 3 frames that wait; 1 more exceeds its present share of 3");
  EXPECT_EQ(ReasonOf(refusal.status()), ErrorReason::kQuotaExceeded);
  refusal.full = Full::kOwner;
  EXPECT_EQ(refusal.text(),
            "the owner of this client holds 3 frames that wait; 1 more exceeds its present share "
            "of 3");
  EXPECT_EQ(ReasonOf(refusal.status()), ErrorReason::kQuotaExceeded);
  refusal = {Resource::kUnaryResponseBytes, Full::kAll, 90, 20, 100};
  EXPECT_EQ(refusal.text(),
            "all clients together hold 90 bytes of answers that are not sent yet; 20 more exceed "
            "the limit of 100");
  EXPECT_EQ(ReasonOf(refusal.status()), ErrorReason::kQueueFull);
}

// The rule as its sentences say it, over a plain list of holdings.
struct Model {
  struct Entry {
    ClientId client;
    int64_t amount = 0;
  };
  static constexpr int64_t kAll = 997;
  int64_t times_free = 1;
  int64_t for_newcomers = 1;
  std::map<std::string, int64_t> weights;
  std::vector<Entry> entries;

  // Whether entry `i` may grow to `amount`.
  bool Allows(size_t i, int64_t amount) const {
    const ClientId& client = entries[i].client;
    int64_t others = 0;       // of other owners
    int64_t other_names = 0;  // of the owner's
    int64_t rest = 0;         // of the name's other holdings
    for (size_t j = 0; j < entries.size(); ++j) {
      if (j == i) continue;
      const Entry& entry = entries[j];
      (entry.client.owner != client.owner ? others
       : entry.client.name != client.name ? other_names
                                          : rest) += entry.amount;
    }
    if (others + other_names + rest == 0) return true;
    const int64_t free = kAll - others - other_names - rest - amount;
    if (free < 0) return false;
    const int64_t weight = weights.at(client.owner);
    const int64_t of_owner = other_names + rest + amount;
    if (other_names + rest > 0 &&
        of_owner > weight * (rest == 0 ? for_newcomers : times_free) * free) {
      return false;
    }
    const int64_t left_by_owner = weight * times_free * free - of_owner;
    return rest == 0 || rest + amount <= times_free * left_by_owner;
  }
};

TEST(LedgerModelTest, RandomHoldingsAreAllowedAsTheSentencesSay) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int64_t from, int64_t to) {
      return std::uniform_int_distribution<int64_t>(from, to)(random);
    };
    Model model;
    model.times_free = pick(1, 3);
    model.for_newcomers = model.times_free + pick(0, 4);
    model.weights = {{"a", 1}, {"b", pick(2, 4)}, {"c", 1}};
    OwnerWeights weights;
    for (const auto& [owner, weight] : model.weights) {
      weights[owner] = static_cast<double>(weight);
    }
    Ledger ledger(weights);
    for (const Resource resource : {Resource::kFrameBytes, Resource::kTrackBytes}) {
      ledger.Bound(resource,
                   {.all = Model::kAll,
                    .times_free = static_cast<double>(model.times_free),
                    .times_free_for_newcomers = static_cast<double>(model.for_newcomers)});
    }
    // Two resources, neither of which the other touches.
    Model models[] = {model, model};
    const Resource resources[] = {Resource::kFrameBytes, Resource::kTrackBytes};
    std::vector<Holding> holdings[2];
    int refused = 0;
    for (int step = 0; step < 3000; ++step) {
      const size_t r = static_cast<size_t>(pick(0, 1));
      std::vector<Model::Entry>& entries = models[r].entries;
      if (entries.size() < 40 && pick(0, 2) > 0) {
        const ClientId client = Of(std::string(1, "abc"[pick(0, 2)]), absl::StrCat(pick(0, 3)));
        entries.push_back({client, 0});
        holdings[r].emplace_back(ledger.Open(client), resources[r]);
      }
      if (entries.empty()) continue;
      const size_t i = static_cast<size_t>(pick(0, static_cast<int64_t>(entries.size()) - 1));
      if (pick(0, 5) == 0) {
        entries.erase(entries.begin() + static_cast<ptrdiff_t>(i));
        holdings[r].erase(holdings[r].begin() + static_cast<ptrdiff_t>(i));
        continue;
      }
      const int64_t amount = pick(0, pick(1, 300));
      const bool is_allowed = amount <= entries[i].amount || models[r].Allows(i, amount);
      const std::optional<Refusal> refusal = holdings[r][i].Resize(amount);
      ASSERT_EQ(!refusal.has_value(), is_allowed) << "seed " << seed << " step " << step << ": "
                                                  << (refusal.has_value() ? refusal->text() : "");
      if (is_allowed) entries[i].amount = amount;
      refused += is_allowed ? 0 : 1;
      int64_t sum = 0;
      for (const Model::Entry& entry : entries) sum += entry.amount;
      ASSERT_EQ(ledger.held(resources[r]), sum);
    }
    EXPECT_GT(refused, 100);
  }
}

TEST(LedgerThreadsTest, TheBoundIsKeptAndAllIsFreedInTheEnd) {
  Ledger ledger;
  ledger.Bound(Resource::kFrames, {.all = 50, .times_free = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&ledger, t] {
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      for (int i = 0; i < 2000; ++i) {
        const ClientId client = Of(absl::StrCat(random() % 3), absl::StrCat(random() % 2));
        Holding holding(ledger.Open(client), Resource::kFrames);
        const auto amount = static_cast<int64_t>(random() % 30 + 1);
        if (!holding.Resize(amount).has_value()) {
          EXPECT_GE(ledger.held(Resource::kFrames), amount);
          EXPECT_GE(holding.account()->held(Resource::kFrames), amount);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.held(Resource::kFrames), 0);
  const Ledger::AccountPtr account = ledger.Open(Of("0", "0"));
  EXPECT_EQ(account->held_by_owner(Resource::kFrames), 0);
}

}  // namespace
}  // namespace orbserve
