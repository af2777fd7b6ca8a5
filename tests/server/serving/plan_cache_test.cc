// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/plan_cache.h"

#include <deque>

#include "gtest/gtest.h"
#include "server/serving/batcher.h"
#include "tests/server/serving/fake_clock.h"
#include "tests/server/serving/hand_backend.h"
#include "tests/server/serving/named_client.h"

namespace orbserve {
namespace {

class HandExecutor final : public Executor {
 public:
  void Run(const ClientId&, const TaskNeeds&, Task task) override {
    tasks.push_back(std::move(task));
  }
  void RunAll() {
    while (!tasks.empty()) {
      auto task = std::move(tasks.front());
      tasks.pop_front();
      std::move(task)();
    }
  }
  std::deque<absl::AnyInvocable<void() &&>> tasks;
};

class PlanCacheTest : public ::testing::Test {
 protected:
  // Asks for the plan of a frame `width_px` wide; null until it is there, or when it failed.
  std::shared_ptr<std::shared_ptr<FeaturePlan>> Get(PlanCache& cache, int width_px) {
    auto plan = std::make_shared<std::shared_ptr<FeaturePlan>>();
    cache.Get({width_px, 480, {}}, Named("a"), [this, plan](PlanCache::PlanOr made) {
      ++answers_;
      if (made.ok()) *plan = *made;
    });
    return plan;
  }

  HandBackend backend_;
  HandExecutor executor_;
  int answers_ = 0;
};

TEST_F(PlanCacheTest, APlanIsBuiltByTheExecutorAndOnceForAllWhoAsk) {
  PlanCache cache(&backend_, &executor_, {});
  const auto first = Get(cache, 640);
  const auto second = Get(cache, 640);
  EXPECT_EQ(backend_.plans_made, 0);
  EXPECT_EQ(executor_.tasks.size(), 1u);
  executor_.RunAll();
  EXPECT_EQ(backend_.plans_made, 1);
  EXPECT_EQ(answers_, 2);
  EXPECT_EQ(*first, *second);
  const auto third = Get(cache, 640);  // inside the call
  EXPECT_EQ(*third, *first);
  EXPECT_EQ(cache.use().builds, 1);
  EXPECT_EQ(cache.use().failed_builds, 0);
  EXPECT_GT(cache.use().build_time, std::chrono::nanoseconds(0));
}

TEST_F(PlanCacheTest, APlanThatNobodyAsksForIsDropped) {
  PlanCache cache(&backend_, &executor_, {});
  Get(cache, 640);
  Get(cache, 320);
  executor_.RunAll();
  for (int i = 0; i < PlanCache::kIdlePeriods; ++i) {
    cache.FreeIdle();
    EXPECT_NE(cache.Find({640, 480, {}}), nullptr);
  }
  EXPECT_EQ(cache.use().plans, 2);
  cache.FreeIdle();
  EXPECT_EQ(cache.use().plans, 1);
  EXPECT_EQ(cache.Find({320, 480, {}}), nullptr);
  EXPECT_NE(cache.Find({640, 480, {}}), nullptr);
}

PlanSpec SpecWithTest(CandidateTest test) {
  PlanSpec spec{640, 480, {}};
  spec.pipeline.detect.candidate_test = test;
  return spec;
}

TEST_F(PlanCacheTest, ClientsWithDifferentCandidateTestsShareAPlan) {
  PlanCache cache(&backend_, &executor_, {});
  std::vector<std::shared_ptr<FeaturePlan>> plans;
  for (const CandidateTest test :
       {CandidateTest::kBitTable, CandidateTest::kAutomatic, CandidateTest::kBinaryEncoding}) {
    cache.Get(SpecWithTest(test), Named("a"), [&plans](PlanCache::PlanOr plan) {
      ASSERT_TRUE(plan.ok());
      plans.push_back(*plan);
    });
  }
  executor_.RunAll();
  EXPECT_EQ(backend_.plans_made, 1);
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(plans[1], plans[0]);
  EXPECT_EQ(plans[2], plans[0]);
  EXPECT_EQ(plans[0]->spec().pipeline.detect.candidate_test, CandidateTest::kBitTable)
      << "the plan has the test of the request that made it";
  EXPECT_EQ(cache.Find(SpecWithTest(CandidateTest::kBinaryEncoding)), plans[0]);
}

TEST_F(PlanCacheTest, AnyOtherOptionPartsPlans) {
  const PlanSpec spec{640, 480, {}};
  PlanSpec other = spec;
  other.pipeline.detect.fast_arc_length = 12;
  EXPECT_FALSE(spec == other);
  other = spec;
  other.pipeline.select.capacity = 7;
  EXPECT_FALSE(spec == other);
  other = spec;
  other.height_px = 481;
  EXPECT_FALSE(spec == other);
}

TEST_F(PlanCacheTest, FramesOfClientsWithDifferentCandidateTestsShareABatch) {
  PlanCache cache(&backend_, &executor_, {});
  FakeClock clock;
  ServingObserver observer;
  Batcher batcher(&backend_, &clock, &observer, {.max_batches_in_flight = 1});
  int answered = 0;
  const auto send = [&](const std::string& client, CandidateTest test) {
    const auto frame = std::make_shared<FrameRecord>();
    frame->client = Named(client);
    frame->done = [&answered](FrameRecord& done) {
      EXPECT_TRUE(done.outcome.status.ok()) << done.outcome.status;
      ++answered;
    };
    ASSERT_TRUE(batcher.Admit(frame));
    const Batcher::Ticket ticket = frame->ticket;
    cache.Get(SpecWithTest(test), Named(client), [&batcher, ticket](PlanCache::PlanOr plan) {
      batcher.Ready(ticket, *std::move(plan), FrameJob());
    });
    executor_.RunAll();
  };
  send("a", CandidateTest::kBitTable);  // goes at once; the others wait for its end
  send("a", CandidateTest::kAutomatic);
  send("b", CandidateTest::kBinaryEncoding);
  ASSERT_EQ(backend_.batches.size(), 1u);
  backend_.FinishBatch();
  ASSERT_EQ(backend_.batches.size(), 1u);
  EXPECT_EQ(backend_.batches[0].jobs.size(), 2u);
  backend_.FinishBatch();
  EXPECT_EQ(answered, 3);
}

TEST_F(PlanCacheTest, TheLeastRecentlyUsedPlanGoesFirst) {
  PlanCache cache(&backend_, &executor_, {.max_plans = 2});
  const auto a = Get(cache, 1);
  const auto b = Get(cache, 2);
  executor_.RunAll();
  Get(cache, 1);
  Get(cache, 3);
  executor_.RunAll();
  EXPECT_EQ(cache.use().plans, 2);
  EXPECT_EQ(*Get(cache, 1), *a);
  Get(cache, 2);
  EXPECT_EQ(executor_.tasks.size(), 1u) << "plan 2 should have been forgotten";
  executor_.RunAll();
}

TEST_F(PlanCacheTest, FindingAPlanIsAUseOfItAndBuildsNone) {
  PlanCache cache(&backend_, &executor_, {.max_plans = 2});
  EXPECT_EQ(cache.Find({1, 480, {}}), nullptr);
  EXPECT_TRUE(executor_.tasks.empty());
  const auto a = Get(cache, 1);
  EXPECT_EQ(cache.Find({1, 480, {}}), nullptr) << "is not built yet";
  Get(cache, 2);
  executor_.RunAll();
  EXPECT_EQ(cache.Find({1, 480, {}}), *a);
  Get(cache, 3);
  executor_.RunAll();
  EXPECT_EQ(cache.Find({1, 480, {}}), *a);
  EXPECT_EQ(cache.Find({2, 480, {}}), nullptr) << "plan 2 should have been forgotten";
}

TEST_F(PlanCacheTest, BytesBoundTheCacheAndTheLatestPlanStays) {
  PlanCache cache(&backend_, &executor_, {.max_bytes = 500});  // a plan has 1000
  Get(cache, 1);
  executor_.RunAll();
  EXPECT_EQ(cache.use().plans, 1);
  Get(cache, 2);
  executor_.RunAll();
  EXPECT_EQ(cache.use().plans, 1);
  Get(cache, 2);
  EXPECT_TRUE(executor_.tasks.empty());
}

TEST_F(PlanCacheTest, APlanThatGrowsPushesOutOthersAtItsNextUse) {
  PlanCache cache(&backend_, &executor_, {.max_bytes = 3000});  // three new plans
  for (const int width_px : {1, 2, 3}) Get(cache, width_px);
  executor_.RunAll();
  EXPECT_EQ(cache.use().plans, 3);
  const auto grown = cache.Find({1, 480, {}});
  static_cast<HandPlan&>(*grown).bytes = 1500;
  EXPECT_EQ(cache.use().bytes, 3500);
  EXPECT_EQ(cache.use().plans, 3) << "nobody has used a plan since";
  EXPECT_EQ(cache.Find({1, 480, {}}), grown);
  EXPECT_EQ(cache.use().plans, 2);
  EXPECT_EQ(cache.use().bytes, 2500);
  EXPECT_EQ(cache.use().evictions, 1);
  EXPECT_EQ(executor_.tasks.size(), 1u) << "the executor should free the plan";
  executor_.RunAll();
  EXPECT_EQ(cache.Find({2, 480, {}}), nullptr) << "plan 2 was used least recently";
  // A plan that alone exceeds the bound stays while it is the latest. Get() checks, too.
  static_cast<HandPlan&>(*grown).bytes = 9000;
  EXPECT_EQ(*Get(cache, 1), grown);
  EXPECT_EQ(cache.use().plans, 1);
  EXPECT_EQ(cache.use().bytes, 9000);
  executor_.RunAll();
  // One that shrinks makes room again.
  static_cast<HandPlan&>(*grown).bytes = 1000;
  Get(cache, 2);
  executor_.RunAll();
  EXPECT_EQ(cache.use().plans, 2);
}

TEST_F(PlanCacheTest, GrowthAfterThePlansLastUseIsFoundByTheHitsOfOthers) {
  PlanCache cache(&backend_, &executor_, {.max_bytes = 2000});
  const auto first = Get(cache, 1);
  Get(cache, 2);
  executor_.RunAll();
  static_cast<HandPlan&>(**first).bytes = 1001;
  for (int i = 0; i < PlanCache::kHitsPerSizeCheck; ++i) {
    EXPECT_NE(cache.Find({2, 480, {}}), nullptr);
  }
  EXPECT_EQ(cache.use().plans, 1);
  EXPECT_EQ(cache.use().bytes, 1000);
  executor_.RunAll();
}

TEST_F(PlanCacheTest, GrowthIsFoundByTheNextBuild) {
  PlanCache cache(&backend_, &executor_, {.max_bytes = 3000});
  const auto first = Get(cache, 1);
  Get(cache, 2);
  executor_.RunAll();
  static_cast<HandPlan&>(**first).bytes = 1001;
  Get(cache, 3);
  executor_.RunAll();
  EXPECT_EQ(cache.use().plans, 2);
  EXPECT_EQ(cache.Find({1, 480, {}}), nullptr);
}

TEST_F(PlanCacheTest, AnEvictedPlanIsFreedByTheExecutor) {
  PlanCache cache(&backend_, &executor_, {.max_bytes = 2000});
  Get(cache, 1);
  Get(cache, 2);
  executor_.RunAll();
  std::weak_ptr<FeaturePlan> evicted = cache.Find({1, 480, {}});
  static_cast<HandPlan&>(*cache.Find({2, 480, {}})).bytes = 1001;
  cache.Find({2, 480, {}});
  EXPECT_EQ(cache.use().plans, 1);
  EXPECT_FALSE(evicted.expired()) << "freed by the caller";
  executor_.RunAll();
  EXPECT_TRUE(evicted.expired());
}

TEST_F(PlanCacheTest, ItsUseIsKnownAtEveryMoment) {
  PlanCache cache(&backend_, &executor_, {.max_plans = 2, .max_bytes = 10'000});
  EXPECT_EQ(cache.use().max_plans, 2);
  EXPECT_EQ(cache.use().max_bytes, 10'000);
  EXPECT_EQ(cache.Find({1, 480, {}}), nullptr);
  EXPECT_EQ(cache.use().misses, 0) << "the frame goes on to Get()";
  Get(cache, 1);
  Get(cache, 1);
  Get(cache, 2);
  EXPECT_EQ(cache.use().misses, 3);
  EXPECT_EQ(cache.use().building, 2);
  EXPECT_EQ(cache.use().plans, 0);
  executor_.RunAll();
  Get(cache, 1);
  cache.Find({2, 480, {}});
  Get(cache, 3);
  executor_.RunAll();
  const PlanCacheUse use = cache.use();
  EXPECT_EQ(use.plans, 2);
  EXPECT_EQ(use.bytes, 2000);
  EXPECT_EQ(use.hits, 2);
  EXPECT_EQ(use.misses, 4);
  EXPECT_EQ(use.evictions, 1);
  EXPECT_EQ(use.building, 0);
}

TEST_F(PlanCacheTest, AFailureIsToldToAllAndNotKept) {
  PlanCache cache(&backend_, &executor_, {});
  backend_.plan_status = MakeError(ErrorReason::kOutOfMemory, "no room");
  const auto first = Get(cache, 640);
  const auto second = Get(cache, 640);
  executor_.RunAll();
  EXPECT_EQ(answers_, 2);
  EXPECT_EQ(*first, nullptr);
  EXPECT_EQ(*second, nullptr);
  EXPECT_EQ(cache.use().failed_builds, 1);
  EXPECT_EQ(cache.use().builds, 0);
  backend_.plan_status = absl::OkStatus();
  const auto third = Get(cache, 640);
  executor_.RunAll();
  EXPECT_NE(*third, nullptr);
}

}  // namespace
}  // namespace orbserve
