// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/heap_trimmer.h"

#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size_pages = 0;
  int64_t resident_pages = 0;
  file >> size_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

TEST(TuningTest, MemoryThatIsFreeInTheMiddleOfAHeapGoesBackToTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "memory is the sanitizer's own";
#endif
  TuneProcess();
  HeapTrimmer trimmer;
  for (int i = 0; i < HeapTrimmer::kLooks; ++i) trimmer.Look();
  ASSERT_EQ(trimmer.trims(), 0) << "there is nothing to give back yet";
  constexpr size_t kBlocks = 400;
  constexpr size_t kBlockBytes = 1 << 20;
  std::vector<std::vector<char>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.emplace_back(kBlockBytes, '\1');
  const std::vector<char> last(kBlockBytes, '\1');  // keeps the heap from shrinking by itself
  blocks.clear();
  const int64_t before = ResidentBytes();
  if (before < int64_t{300} << 20) GTEST_SKIP() << "this malloc gives memory back by itself";
  for (int i = 1; i < HeapTrimmer::kLooks; ++i) trimmer.Look();
  EXPECT_EQ(trimmer.trims(), 0) << "it may be needed again";
  trimmer.Look();
  EXPECT_EQ(trimmer.trims(), 1);
  EXPECT_LT(ResidentBytes(), before - (int64_t{300} << 20));
  for (int i = 0; i < 3 * HeapTrimmer::kLooks; ++i) trimmer.Look();
  EXPECT_EQ(trimmer.trims(), 1) << "nothing more is free";
}

TEST(TuningTest, ALittleThatIsFreeForLongGoesBackToo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "memory is the sanitizer's own";
#endif
  TuneProcess();
  HeapTrimmer trimmer;
  for (int i = 0; i < HeapTrimmer::kManyLooks; ++i) trimmer.Look();
  const int trims = trimmer.trims();
  constexpr size_t kBlocks = 8;
  constexpr size_t kBlockBytes = 1 << 20;
  std::vector<std::vector<char>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.emplace_back(kBlockBytes, '\1');
  trimmer.Look();
  blocks.clear();
  const int64_t before = ResidentBytes();
  for (int i = 2; i <= HeapTrimmer::kManyLooks; ++i) trimmer.Look();
  EXPECT_EQ(trimmer.trims(), trims) << "it was not free at each look";
  trimmer.Look();
  if (trimmer.trims() == trims) GTEST_SKIP() << "this malloc gives memory back by itself";
  EXPECT_EQ(trimmer.trims(), trims + 1);
  EXPECT_LT(ResidentBytes(), before - (int64_t{4} << 20));
}

TEST(TuningTest, ThreadsHaveSmallStacks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more";
#endif
  TuneProcess();
  size_t bytes = 0;
  std::thread thread([&bytes] {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    EXPECT_EQ(pthread_attr_getstacksize(&attributes, &bytes), 0);
    pthread_attr_destroy(&attributes);
  });
  thread.join();
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, size_t{2} << 20);
}

// glibc's threads have heaps of their own, whose ends malloc_trim() leaves alone.
TEST(TuningTest, TheEndOfTheHeapOfAnotherThreadGoesBackToo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "memory is the sanitizer's own";
#endif
  TuneProcess();
  HeapTrimmer trimmer;
  constexpr size_t kBlocks = 12;
  constexpr size_t kBlockBytes = 1 << 20;
  absl::Notification filled;
  absl::Notification end;
  std::thread other([&] {
    std::vector<std::vector<char>> blocks;
    for (size_t i = 0; i < kBlocks; ++i) blocks.emplace_back(kBlockBytes, '\1');
    blocks.clear();
    filled.Notify();
    end.WaitForNotification();
  });
  filled.WaitForNotification();
  const int64_t before = ResidentBytes();
  for (int i = 0; i < HeapTrimmer::kManyLooks; ++i) trimmer.Look();
  const int64_t after = ResidentBytes();
  end.Notify();
  other.join();
  if (trimmer.trims() == 0) GTEST_SKIP() << "this malloc gives memory back by itself";
  EXPECT_LT(after, before - (int64_t{8} << 20));
  EXPECT_EQ(trimmer.trims(), 1);
}

}  // namespace
}  // namespace orbserve
