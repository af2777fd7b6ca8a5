// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/recycling_pool.h"

#include <cstddef>
#include <memory>
#include <vector>

#include "features/types.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

struct Sized {
  size_t bytes = 0;
  size_t HeldBytes() const { return bytes; }
};

std::shared_ptr<Sized> Lease(RecyclingPool<Sized>& pool, size_t bytes) {
  std::shared_ptr<Sized> object = pool.Lease([] { return std::make_unique<Sized>(); });
  object->bytes = bytes;
  return object;
}

TEST(RecyclingPoolTest, AnIdleObjectIsGivenOutAgain) {
  const auto pool = std::make_shared<RecyclingPool<Sized>>(size_t{100});
  const Sized* const first = Lease(*pool, 60).get();
  EXPECT_EQ(Lease(*pool, 60).get(), first);
  EXPECT_EQ(pool->made(), 1u);
}

TEST(RecyclingPoolTest, ABurstOfLargeObjectsIsNotKept) {
  const auto pool = std::make_shared<RecyclingPool<Sized>>(size_t{100});
  std::vector<std::shared_ptr<Sized>> burst;
  for (int i = 0; i < 50; ++i) burst.push_back(Lease(*pool, 30));
  EXPECT_EQ(pool->made(), 50u);
  burst.clear();
  EXPECT_EQ(pool->made(), 3u);
  // What is leased is not idle: the room is there again.
  const auto one = Lease(*pool, 30);
  Lease(*pool, 40).reset();
  EXPECT_EQ(pool->made(), 3u);
}

TEST(RecyclingPoolTest, AnObjectAboveTheLimitIsNotKept) {
  const auto pool = std::make_shared<RecyclingPool<Sized>>(size_t{100});
  Lease(*pool, 101).reset();
  EXPECT_EQ(pool->made(), 0u);
  Lease(*pool, 100).reset();
  EXPECT_EQ(pool->made(), 1u);
}

TEST(RecyclingPoolTest, ObjectsThatNobodyNeededForAPeriodAreFreed) {
  const auto pool = std::make_shared<RecyclingPool<Sized>>(size_t{1000});
  std::vector<std::shared_ptr<Sized>> burst;
  for (int i = 0; i < 10; ++i) burst.push_back(Lease(*pool, 50));
  burst.clear();
  pool->FreeIdle();  // they may be needed again
  EXPECT_EQ(pool->made(), 10u);
  Lease(*pool, 50).reset();  // one is
  pool->FreeIdle();
  EXPECT_EQ(pool->made(), 1u);
  const auto held = Lease(*pool, 50);
  pool->FreeIdle();
  pool->FreeIdle();
  EXPECT_EQ(pool->made(), 1u);  // in use
  for (int i = 0; i < 20; ++i) burst.push_back(Lease(*pool, 50));
  burst.clear();
  EXPECT_EQ(pool->made(), 21u);  // the room of the freed ones is there again
}

TEST(RecyclingPoolTest, FeaturesHoldWhatTheirColumnsHaveGrownTo) {
  Features features;
  EXPECT_EQ(features.HeldBytes(), 0u);
  features.descriptor_bytes = 32;
  features.Resize(1000);
  features.Resize(1);
  constexpr size_t kRowBytes = 5 * sizeof(float) + sizeof(int32_t) + 32;
  EXPECT_GE(features.HeldBytes(), 1000 * kRowBytes);
  const size_t without = features.HeldBytes();
  features.source_index.reserve(10);
  EXPECT_GE(features.HeldBytes(), without + 10 * sizeof(uint32_t));
}

}  // namespace
}  // namespace orbserve
