// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/tuning.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

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
  if (TrimMemory()) GTEST_FAIL() << "there is nothing to give back yet";
  constexpr size_t kBlocks = 400;
  constexpr size_t kBlockBytes = 1 << 20;
  std::vector<std::vector<char>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.emplace_back(kBlockBytes, '\1');
  const std::vector<char> last(kBlockBytes, '\1');  // keeps the heap from shrinking by itself
  blocks.clear();
  const int64_t before = ResidentBytes();
  if (before < int64_t{300} << 20) GTEST_SKIP() << "this malloc gives memory back by itself";
  EXPECT_TRUE(TrimMemory());
  EXPECT_LT(ResidentBytes(), before - (int64_t{300} << 20));
}

}  // namespace
}  // namespace orbserve
