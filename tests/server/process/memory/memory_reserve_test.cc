// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_reserve.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

TEST(MemoryReserveTest, BlocksAreApartAlignedAndUsedAgain) {
  const auto reserve = std::make_unique<MemoryReserve>();
  EXPECT_EQ(reserve->Take(1), nullptr);  // not mapped yet
  ASSERT_TRUE(reserve->Map(kBytes));
  std::vector<void*> blocks;
  for (const size_t bytes : {0, 1, 16, 17, 100, 1000, 16 << 10}) {
    void* const block = reserve->Take(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_TRUE(reserve->Owns(block));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignof(std::max_align_t), 0u);
    std::memset(block, static_cast<int>(blocks.size()), bytes);
    blocks.push_back(block);
  }
  EXPECT_EQ(*static_cast<char*>(blocks[5]), 5);
  EXPECT_EQ(reserve->blocks(), 7);
  int outside = 0;
  EXPECT_FALSE(reserve->Owns(&outside));
  EXPECT_FALSE(reserve->Owns(nullptr));
  reserve->GiveBack(blocks[4]);
  EXPECT_EQ(reserve->Take(100), blocks[4]);
}

TEST(MemoryReserveTest, LargeBlocksAndWhatDoesNotFitAreRefused) {
  const auto reserve = std::make_unique<MemoryReserve>();
  ASSERT_TRUE(reserve->Map(kBytes));
  EXPECT_EQ(reserve->Take(MemoryReserve::kLargestBlockBytes + 1), nullptr);
  int blocks = 0;
  while (reserve->Take(1000) != nullptr) ++blocks;
  EXPECT_EQ(blocks, static_cast<int>(kBytes / 1024));
}

TEST(MemoryReserveTest, TheHeapIsExhaustedForASecondAfterABlockAndWhileTheReserveIsLow) {
  const auto reserve = std::make_unique<MemoryReserve>();
  ASSERT_TRUE(reserve->Map(kBytes));
  HeapExhaustion exhaustion(*reserve);
  std::chrono::steady_clock::time_point now{};
  EXPECT_FALSE(exhaustion.Look(now));
  void* const kept = reserve->Take(100);  // and never given back
  ASSERT_NE(kept, nullptr);
  EXPECT_TRUE(exhaustion.Look(now));
  EXPECT_TRUE(exhaustion.Look(now + std::chrono::milliseconds(999)));
  now += HeapExhaustion::kTime;
  EXPECT_FALSE(exhaustion.Look(now));
  std::vector<void*> blocks;
  while (!reserve->is_low()) blocks.push_back(reserve->Take(1000));
  now += 2 * HeapExhaustion::kTime;
  EXPECT_TRUE(exhaustion.Look(now));
  now += 2 * HeapExhaustion::kTime;
  EXPECT_TRUE(exhaustion.Look(now));  // nothing was taken, but little is left
  for (void* const block : blocks) reserve->GiveBack(block);
  EXPECT_FALSE(exhaustion.Look(now));
}

TEST(MemoryReserveTest, ThreadsShareIt) {
  const auto reserve = std::make_unique<MemoryReserve>();
  ASSERT_TRUE(reserve->Map(kBytes));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&reserve, thread] {
      for (size_t i = 0; i < 20'000; ++i) {
        const size_t bytes = 1 + i % 500;
        auto* const block = static_cast<unsigned char*>(reserve->Take(bytes));
        ASSERT_NE(block, nullptr);
        std::memset(block, thread, bytes);
        EXPECT_EQ(block[bytes - 1], thread);
        reserve->GiveBack(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reserve->blocks(), 0);
}

bool Always(size_t) { return true; }

TEST(OperatorNewTest, SmallAllocationsComeFromTheReserveAndLargeOnesFail) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the operators are the sanitizer's own";
#endif
  ASSERT_TRUE(ProcessReserve().Map(kBytes));
  SetAllocationFault(&Always);
  void* const small = ::operator new(100);
  bool has_thrown = false;
  try {
    ::operator delete(::operator new(100'000));
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  void* const none = ::operator new(100'000, std::nothrow);
  SetAllocationFault(nullptr);
  EXPECT_TRUE(has_thrown);
  EXPECT_EQ(none, nullptr);
  EXPECT_TRUE(ProcessReserve().Owns(small));
  EXPECT_GE(ProcessReserve().blocks(), 1);
  ::operator delete(small);
  EXPECT_EQ(ProcessReserve().blocks(), 0);
}

}  // namespace
}  // namespace orbserve
