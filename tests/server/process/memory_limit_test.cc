// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/limits.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;

// A tree of /proc and /sys that a test writes.
class MemoryLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "memory_limit_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    Write("/proc/meminfo",
          "MemTotal:        8388608 kB\nMemFree:  1 kB\nMemAvailable:    4194304 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  std::string root_;
};

TEST_F(MemoryLimitTest, WithoutAnyLimitItIsTheMemoryOfTheMachine) {
  EXPECT_EQ(FindMemoryLimit(root_), 8 * kGibibyte);
}

TEST_F(MemoryLimitTest, ACgroupOfVersion2AndItsParentsCount) {
  Write("/proc/self/cgroup", "0::/robots/orbserve.service\n");
  Write("/sys/fs/cgroup/robots/orbserve.service/memory.max", "max\n");
  EXPECT_EQ(FindMemoryLimit(root_), 8 * kGibibyte);
  Write("/sys/fs/cgroup/robots/memory.max", "2147483648\n");
  EXPECT_EQ(FindMemoryLimit(root_), 2 * kGibibyte);
  Write("/sys/fs/cgroup/robots/orbserve.service/memory.max", "1073741824\n");
  EXPECT_EQ(FindMemoryLimit(root_), kGibibyte);
}

TEST_F(MemoryLimitTest, AContainerSeesItsCgroupAsTheMount) {
  Write("/proc/self/cgroup", "0::/docker/0123456789\n");
  Write("/sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(FindMemoryLimit(root_), kGibibyte / 2);
}

TEST_F(MemoryLimitTest, ACgroupOfVersion1Counts) {
  Write("/proc/self/cgroup", "11:cpu,cpuacct:/\n4:hugetlb,memory:/box\n0::/\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(FindMemoryLimit(root_), kGibibyte / 4);
}

TEST_F(MemoryLimitTest, NonsenseIsNoLimitAndATinyOneIsRaised) {
  Write("/proc/self/cgroup", "nonsense\n0::/\n");
  Write("/sys/fs/cgroup/memory.max", "much\n");
  EXPECT_EQ(FindMemoryLimit(root_), 8 * kGibibyte);
  Write("/sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(FindMemoryLimit(root_), kLeastMemoryBytes);
}

TEST_F(MemoryLimitTest, TheStateIsReadAndWhatIsMissingIsNegative) {
  Write("/proc/self/statm", "1000 300 200 1 0 500 0\n");
  const MemoryState state = ReadMemoryState(root_);
  const int64_t page = sysconf(_SC_PAGE_SIZE);
  EXPECT_EQ(state.address_bytes, 1000 * page);
  EXPECT_EQ(state.resident_bytes, 300 * page);
  EXPECT_EQ(state.available_bytes, 4 * kGibibyte);
  const MemoryState none = ReadMemoryState(root_ + "/nothing");
  EXPECT_EQ(none.resident_bytes, -1);
  EXPECT_EQ(none.address_bytes, -1);
  EXPECT_EQ(none.available_bytes, -1);
}

TEST(MemoryStateTest, ThisProcessHasMemory) {
  EXPECT_GT(ReadMemoryState().resident_bytes, 0);
  EXPECT_GT(FindMemoryLimit(), ReadMemoryState().resident_bytes);
}

}  // namespace
}  // namespace orbserve
