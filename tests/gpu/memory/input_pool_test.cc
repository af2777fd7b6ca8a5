// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/memory/input_pool.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "features/errors.h"
#include "gtest/gtest.h"
#include "tests/gpu/gpu_test_support.h"

namespace orbserve::gpu {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

using InputPoolTest = GpuTest;  // pinned memory wants a driver

TEST_F(InputPoolTest, IdleMemoryBecomesSlotsOfOtherSizes) {
  // Room for one slab of the first size, 4 MiB.
  const auto pool = std::make_shared<InputPool>(0, 5 * kMiB);
  auto small = pool->Lease(640, 480, false);
  ASSERT_TRUE(small.ok()) << small.status();
  const auto refused = pool->Lease(1920, 1080, false);
  EXPECT_EQ(ReasonOf(refused.status()), ErrorReason::kOutOfMemory) << "all of it is in use";

  const uint8_t* const memory = static_cast<const PinnedSlot&>(**small).memory;
  small->reset();
  std::vector<std::shared_ptr<InputSlot>> slots;
  for (int i = 0; i < 2; ++i) {
    auto slot = pool->Lease(1024, 1024, false);
    ASSERT_TRUE(slot.ok()) << slot.status();
    slots.push_back(*std::move(slot));
  }
  EXPECT_EQ(static_cast<const PinnedSlot&>(*slots[0]).memory, memory) << "the same slab";
  // Slots lie apart from each other, with all their rows.
  for (size_t i = 0; i < slots.size(); ++i) {
    for (int y = 0; y < 1024; ++y) {
      std::memset(slots[i]->image.Row(y), static_cast<int>(i) + 1, 1024);
    }
  }
  EXPECT_EQ(slots[0]->image.Row(1023)[1023], 1);
  EXPECT_EQ(slots[1]->image.Row(0)[0], 2);
  // And back again.
  slots.clear();
  EXPECT_TRUE(pool->Lease(640, 480, true).ok());
}

TEST_F(InputPoolTest, ASlotThatNoSlabCanHoldGetsTheRoomOfIdleOnes) {
  const auto pool = std::make_shared<InputPool>(0, 20 * kMiB);
  ASSERT_TRUE(pool->Lease(640, 480, false).ok());    // 4 MiB, idle again
  EXPECT_TRUE(pool->Lease(4096, 4096, false).ok());  // 16 MiB and its padding: in a slab alone
  EXPECT_EQ(ReasonOf(pool->Lease(8192, 4096, false).status()), ErrorReason::kTooLarge);
  EXPECT_TRUE(pool->Lease(640, 480, false).ok());
}

TEST_F(InputPoolTest, EverNewSizesShareTheIdleMemory) {
  const auto pool = std::make_shared<InputPool>(0, 4096 * kMiB);
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(pool->Lease(64 + 64 * i % 2048, 64 + i, false).ok());
  EXPECT_LE(pool->used_bytes(), 200 * kMiB);
  // What is in use counts no more than before: slots of one size can still take all they need.
  std::vector<std::shared_ptr<InputSlot>> slots;
  for (int i = 0; i < 300; ++i) {
    auto slot = pool->Lease(1024, 1024, false);
    ASSERT_TRUE(slot.ok()) << slot.status();
    slots.push_back(*std::move(slot));
  }
}

TEST_F(InputPoolTest, ThreadsThatWantDifferentSizesAllGetThem) {
  const auto pool = std::make_shared<InputPool>(0, 24 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 300; ++i) {
        const int side = 64 << ((i + t) % 5);
        auto slot = pool->Lease(side, side, i % 3 == 0);
        ASSERT_TRUE(slot.ok()) << slot.status();
        const auto value = static_cast<uint8_t>(16 * t + i % 16);
        for (int y = 0; y < side; ++y) {
          std::memset((*slot)->image.Row(y), value, static_cast<size_t>(side));
        }
        for (int y = 0; y < side; ++y) ASSERT_EQ((*slot)->image.Row(y)[side - 1], value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace orbserve::gpu
