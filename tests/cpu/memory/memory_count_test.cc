// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/memory/memory_count.h"

#include <gtest/gtest.h>

#include <memory>

namespace orbserve::cpu {
namespace {

TEST(MemoryCountTest, CountsInItsParentToo) {
  const auto all = std::make_shared<MemoryCount>();
  MemoryCount first(all);
  MemoryCount second(all);
  first.Add(100);
  second.Add(7);
  first.Add(-40);
  EXPECT_EQ(first.bytes(), 60);
  EXPECT_EQ(second.bytes(), 7);
  EXPECT_EQ(all->bytes(), 67);
}

TEST(CountedBytesTest, AShareIsReplacedAndEndsWithItsObject) {
  const auto count = std::make_shared<MemoryCount>();
  {
    CountedBytes one(count);
    CountedBytes other(count);
    one.Set(10);
    other.Set(5);
    EXPECT_EQ(count->bytes(), 15);
    one.Set(3);
    EXPECT_EQ(count->bytes(), 8);
    one.Set(3);
    EXPECT_EQ(count->bytes(), 8);
  }
  EXPECT_EQ(count->bytes(), 0);
}

}  // namespace
}  // namespace orbserve::cpu
