// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What a plan takes of an arena. Needs no device.

#include "gpu/plan.h"

#include <cstddef>
#include <vector>

#include "features/errors.h"
#include "gtest/gtest.h"

namespace orbserve::gpu {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr int kMostFrames = 32;

// Tables on no device: the arithmetic alone.
absl::StatusOr<std::shared_ptr<GpuPlan>> MakePlan(const PlanSpec& spec, size_t arena_bytes) {
  GpuPlan::Limits limits;
  limits.max_batch_frames = kMostFrames;
  limits.arena_bytes = arena_bytes;
  return GpuPlan::Create(spec, limits);
}

size_t BytesOf(const GpuPlan& plan, int frames, bool masks) {
  return plan.Layout({ClassOfFrames(frames), masks}).total;
}

const std::vector<PlanSpec>& Specs() {
  static const std::vector<PlanSpec> specs = [] {
    std::vector<PlanSpec> list = {{640, 480, {}}, {1920, 1080, {}}, {64, 48, {}}};
    list.push_back({1280, 960, {}});
    list.back().pipeline.pyramid.levels = 1;
    return list;
  }();
  return specs;
}

TEST(PlanTest, TheLargestBatchFitsWithAllItsMasks) {
  for (const PlanSpec& spec : Specs()) {
    for (size_t arena_bytes = 8 * kMiB; arena_bytes < 2048 * kMiB; arena_bytes += 13 * kMiB) {
      const auto plan = MakePlan(spec, arena_bytes);
      if (!plan.ok()) continue;
      const int frames = (*plan)->max_batch_frames();
      EXPECT_LE(BytesOf(**plan, frames, true), arena_bytes) << spec.width_px << " " << arena_bytes;
      EXPECT_LE(BytesOf(**plan, frames, false), BytesOf(**plan, frames, true));
      // No smaller than it has to be.
      if (frames < kMostFrames) {
        EXPECT_GT(BytesOf(**plan, 2 * frames, true), arena_bytes);
      }
    }
  }
}

TEST(PlanTest, AFrameThatFitsIsNotRefused) {
  for (const PlanSpec& spec : Specs()) {
    const auto large = MakePlan(spec, size_t{1} << 40);
    ASSERT_TRUE(large.ok()) << large.status();
    EXPECT_EQ((*large)->max_batch_frames(), kMostFrames);
    const size_t one = BytesOf(**large, 1, true);
    const auto just = MakePlan(spec, one);
    ASSERT_TRUE(just.ok()) << just.status();
    EXPECT_EQ((*just)->max_batch_frames(), 1);
    EXPECT_EQ(ReasonOf(MakePlan(spec, one - 1).status()), ErrorReason::kOutOfMemory);
  }
}

TEST(PlanTest, ArenasAreRoundedUpWithinTheirLimit) {
  EXPECT_EQ(ArenaBytes(1, 1024 * kMiB), 16 * kMiB);
  EXPECT_EQ(ArenaBytes(16 * kMiB, 1024 * kMiB), 16 * kMiB);
  EXPECT_EQ(ArenaBytes(16 * kMiB + 1, 1024 * kMiB), 32 * kMiB);
  // A lane that may have 43 MiB is not given 48 for the 36 that it needs.
  EXPECT_EQ(ArenaBytes(36 * kMiB, 43 * kMiB), 43 * kMiB);
  EXPECT_EQ(ArenaBytes(43 * kMiB, 43 * kMiB), 43 * kMiB);
}

}  // namespace
}  // namespace orbserve::gpu
