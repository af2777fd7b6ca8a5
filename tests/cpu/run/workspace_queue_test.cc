// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/workspace_queue.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/memory/memory_count.h"
#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

int64_t FrameBytes(int side_px) {
  return static_cast<int64_t>(
      *CpuPlan::FrameBytesOf({side_px, side_px, {}}, FastestTarget(), /*threads=*/1));
}

class WorkspaceQueueTest : public ::testing::Test {
 protected:
  // There is room for one workspace of the large plan and not for one of the small plan beside it.
  void SetUp() override {
    memory_.workspaces =
        std::make_shared<MemoryCount>(nullptr, FrameBytes(400) + FrameBytes(200) / 2);
    large_ = MakePlan(400);
    small_ = MakePlan(200);
  }

  std::shared_ptr<CpuPlan> MakePlan(int side_px) {
    auto plan = *CpuPlan::Create({side_px, side_px, {}}, FastestTarget(), /*threads=*/1, memory_);
    queue_.Add(plan);
    return plan;
  }

  // A frame that keeps the workspace that it gets.
  void Ask(const CpuPlan& plan, const std::string& name) {
    WorkspaceQueue::WorkspaceOr found = queue_.Ask(
        plan, /*has_mask=*/false, [=, this](auto later) { Keep(name, std::move(later)); });
    if (!found.ok() || *found != nullptr) Keep(name, std::move(found));
  }
  void Keep(const std::string& name, WorkspaceQueue::WorkspaceOr found) {
    ASSERT_TRUE(found.ok()) << found.status();
    started_.push_back(name);
    kept_.push_back(*std::move(found));
  }
  void EndAll() {
    const size_t count = kept_.size();
    kept_.clear();
    for (size_t i = 0; i < count; ++i) queue_.End();
  }

  PlanMemory memory_;
  WorkspaceQueue queue_;
  std::shared_ptr<CpuPlan> large_, small_;
  std::vector<std::string> started_;
  std::vector<std::shared_ptr<Workspace>> kept_;
};

TEST_F(WorkspaceQueueTest, AFrameWaitsUntilAnotherHasEnded) {
  Ask(*large_, "a");
  Ask(*large_, "b");
  EXPECT_THAT(started_, ElementsAre("a"));
  EndAll();
  EXPECT_THAT(started_, ElementsAre("a", "b"));
}

TEST_F(WorkspaceQueueTest, NoFrameIsPassed) {
  Ask(*small_, "a");
  Ask(*large_, "b");
  Ask(*small_, "c");  // has room beside a
  EXPECT_THAT(started_, ElementsAre("a"));
  EndAll();
  EXPECT_THAT(started_, ElementsAre("a", "b"));
  EndAll();
  EXPECT_THAT(started_, ElementsAre("a", "b", "c"));
}

TEST_F(WorkspaceQueueTest, AllFramesThatFitAreStarted) {
  Ask(*large_, "a");
  for (const char* name : {"b", "c"}) Ask(*small_, name);
  EndAll();
  EXPECT_THAT(started_, ElementsAre("a", "b", "c"));
}

TEST_F(WorkspaceQueueTest, WorkspacesThatNoFrameUsesMakeRoom) {
  for (const char* name : {"a", "b"}) Ask(*small_, name);
  EndAll();
  EXPECT_GT(memory_.workspaces->bytes(), FrameBytes(200));
  Ask(*large_, "c");
  EXPECT_THAT(started_, ElementsAre("a", "b", "c"));
}

TEST_F(WorkspaceQueueTest, AFrameBesideNoOtherIsRefusedWhereThereIsNoMemory) {
  memory_.workspaces->Add(FrameBytes(400));  // of nobody who will end
  const auto ask = [&] { return queue_.Ask(*large_, /*has_mask=*/false, [](auto) {}); };
  EXPECT_EQ(ReasonOf(ask().status()), ErrorReason::kOutOfMemory);
  memory_.workspaces->Add(-FrameBytes(400));
  EXPECT_TRUE(ask().ok());
}

TEST_F(WorkspaceQueueTest, AFrameThatNeverFitsIsRefusedWithWhatItNeeds) {
  memory_.max_frame_bytes = FrameBytes(400);
  const auto plan = MakePlan(400);
  EXPECT_TRUE(queue_.Ask(*plan, /*has_mask=*/false, [](auto) {}).ok());
  const absl::Status status = queue_.Ask(*plan, /*has_mask=*/true, [](auto) {}).status();
  EXPECT_EQ(ReasonOf(status), ErrorReason::kTooLarge);
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(plan->frame_bytes(true))));
  memory_.max_frame_bytes -= 1;
  const absl::Status refused =
      CpuPlan::Create({400, 400, {}}, FastestTarget(), /*threads=*/1, memory_).status();
  EXPECT_EQ(ReasonOf(refused), ErrorReason::kTooLarge);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(std::to_string(FrameBytes(400))));
}

TEST_F(WorkspaceQueueTest, MemoryOfAPlanThatIsGoneMakesRoom) {
  Ask(*large_, "a");
  EndAll();
  large_.reset();
  Ask(*small_, "b");
  EXPECT_THAT(started_, ElementsAre("a", "b"));
}

// Giving the memory of several workspaces back takes milliseconds. A frame that finds no room
// meanwhile is not refused.
TEST(WorkspaceQueueStressTest, NoFrameIsRefusedWhileAPlanEnds) {
  constexpr int kSmall = 8;
  const PlanMemory memory = {
      .workspaces = std::make_shared<MemoryCount>(nullptr, (kSmall + 1) * FrameBytes(500))};
  WorkspaceQueue queue;
  const auto make_plan = [&](int side_px) {
    auto plan = *CpuPlan::Create({side_px, side_px, {}}, FastestTarget(), /*threads=*/1, memory);
    queue.Add(plan);
    return plan;
  };
  const auto ask = [&](const CpuPlan& plan) {
    return queue.Ask(plan, /*has_mask=*/false, [](auto) { FAIL() << "nothing runs beside it"; });
  };
  const auto large = make_plan(1200);
  for (int round = 0; round < 20; ++round) {
    auto small = make_plan(500);
    std::vector<std::shared_ptr<Workspace>> held;
    for (int i = 0; i < kSmall; ++i) {
      const auto found = ask(*small);
      ASSERT_TRUE(found.ok() && *found != nullptr) << found.status();
      std::memset((*found)->memory.data(), 1, (*found)->memory.size());
      held.push_back(*found);
    }
    held.clear();
    for (int i = 0; i < kSmall; ++i) queue.End();
    const std::weak_ptr<CpuPlan> plan = small;
    std::thread ending([last = std::move(small)]() mutable { last.reset(); });
    while (!plan.expired()) {
    }
    const auto found = ask(*large);
    ending.join();
    ASSERT_TRUE(found.ok()) << found.status();
    queue.End();
  }
}

}  // namespace
}  // namespace orbserve::cpu
