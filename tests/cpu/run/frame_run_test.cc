// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/run/frame_run.h"

#include <atomic>
#include <cstdint>
#include <memory>

#include "cpu/cpu_backend.h"
#include "cpu/memory/memory_count.h"
#include "features/errors.h"
#include "gtest/gtest.h"
#include "oneapi/tbb/task_arena.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

using testing::MakeJob;
using testing::SceneImage;
using testing::TestImage;

// Time that all threads spent on all steps of the frame.
int64_t StepTime(const Workspace& workspace) {
  int64_t sum_ns = 0;
  for (const Workspace::ThreadTimes& thread : workspace.times) {
    for (const int64_t step_ns : thread.step_ns) sum_ns += step_ns;
  }
  return sum_ns;
}

// A frame may be cancelled when its batch has begun: then no further step begins.
TEST(FrameRunTest, NoStepBeginsForAFrameThatIsCancelled) {
  const TestImage image = SceneImage(320, 240, 5);
  const auto backend = CreateCpuBackend({.threads = 1});
  ASSERT_TRUE(backend.ok());
  auto given = std::make_shared<GivenKeypoints>();
  given->x = {100.0f, 150.0f};
  given->y = {100.0f, 120.0f};
  given->angle_deg = {0.0f, 10.0f};
  given->octave = {0, 1};
  given->size = {31.0f, 37.0f};
  given->response = {1.0f, 2.0f};
  for (const int threads : {1, 4}) {
    for (const bool is_given : {false, true}) {
      const auto plan = CpuPlan::Create({320, 240, {}}, FastestTarget(), threads, /*memory=*/{});
      ASSERT_TRUE(plan.ok()) << plan.status();
      const std::shared_ptr<Workspace> workspace = (*plan)->LeaseWorkspace(/*has_mask=*/false);
      ASSERT_NE(workspace, nullptr);
      FrameJob job = *MakeJob(**backend, {.image = image.view()});
      if (is_given) job.given_keypoints = given;
      const auto cancelled = std::make_shared<std::atomic<bool>>(false);
      job.cancelled = cancelled;
      Features features;
      StageTimes times;
      absl::Status status;
      tbb::task_arena arena(threads);
      const auto run = [&] {
        status = FrameRun(**plan, *workspace, job, nullptr).Run(&features, &times);
      };
      arena.execute(run);
      EXPECT_TRUE(status.ok()) << status;
      const size_t count = features.count();
      EXPECT_GT(count, 0u);
      EXPECT_GT(StepTime(*workspace), 0);
      EXPECT_FALSE(times.entries().empty());

      *cancelled = true;
      times = {};
      arena.execute(run);
      EXPECT_EQ(ReasonOf(status), ErrorReason::kCancelled) << status;
      EXPECT_EQ(StepTime(*workspace), 0);
      EXPECT_TRUE(times.entries().empty());

      *cancelled = false;  // the workspace is as good as before
      arena.execute(run);
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(features.count(), count);
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
