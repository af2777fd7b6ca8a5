// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/limits.h"

#include <unistd.h>

#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve {
namespace {

using ::orbserve::testing::TemporaryFolder;

constexpr int64_t kGibibyte = int64_t{1} << 30;

// A tree of /proc and /sys.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    root_.Write("proc/meminfo",
                "MemTotal:        8388608 kB\nMemFree:  1 kB\nMemAvailable:    4194304 kB\n");
  }

  const TemporaryFolder root_;
};

TEST_F(MemoryLimitTest, WithoutAnyLimitItIsTheMemoryOfTheMachine) {
  EXPECT_EQ(FindMemoryLimit(root_.path()), 8 * kGibibyte);
}

TEST_F(MemoryLimitTest, ACgroupOfVersion2AndItsParentsCount) {
  root_.Write("proc/self/cgroup", "0::/robots/orbserve.service\n");
  root_.Write("sys/fs/cgroup/robots/orbserve.service/memory.max", "max\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), 8 * kGibibyte);
  root_.Write("sys/fs/cgroup/robots/memory.max", "2147483648\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), 2 * kGibibyte);
  root_.Write("sys/fs/cgroup/robots/orbserve.service/memory.max", "1073741824\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), kGibibyte);
}

TEST_F(MemoryLimitTest, AContainerSeesItsCgroupAsTheMount) {
  root_.Write("proc/self/cgroup", "0::/docker/0123456789\n");
  root_.Write("sys/fs/cgroup/memory.max", "536870912\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), kGibibyte / 2);
}

TEST_F(MemoryLimitTest, ACgroupOfVersion1Counts) {
  root_.Write("proc/self/cgroup", "11:cpu,cpuacct:/\n4:hugetlb,memory:/box\n0::/\n");
  root_.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root_.Write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), kGibibyte / 4);
}

TEST_F(MemoryLimitTest, NonsenseIsNoLimitAndATinyOneIsRaised) {
  root_.Write("proc/self/cgroup", "nonsense\n0::/\n");
  root_.Write("sys/fs/cgroup/memory.max", "much\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), 8 * kGibibyte);
  root_.Write("sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(FindMemoryLimit(root_.path()), kLeastMemoryBytes);
}

TEST_F(MemoryLimitTest, TheStateIsReadAndWhatIsMissingIsNegative) {
  root_.Write("proc/self/statm", "1000 300 200 1 0 500 0\n");
  const MemoryState state = ReadMemoryState(root_.path());
  const int64_t page = sysconf(_SC_PAGE_SIZE);
  EXPECT_EQ(state.address_bytes, 1000 * page);
  EXPECT_EQ(state.resident_bytes, 300 * page);
  EXPECT_EQ(state.available_bytes, 4 * kGibibyte);
  const MemoryState none = ReadMemoryState(root_ / "nothing");
  EXPECT_EQ(none.resident_bytes, -1);
  EXPECT_EQ(none.address_bytes, -1);
  EXPECT_EQ(none.available_bytes, -1);
}

TEST(MemoryStateTest, ThisProcessHasMemory) {
  EXPECT_GT(ReadMemoryState().resident_bytes, 0);
  EXPECT_GT(FindMemoryLimit(), ReadMemoryState().resident_bytes);
}

// Another tree. Its quotas are less than one processor, which every machine has.
class ProcessorLimitTest : public ::testing::Test {
 protected:
  ProcessorLimitTest() { EXPECT_GE(all_, 1); }

  const TemporaryFolder root_;
  const double all_ = FindProcessorLimit(root_.path());  // processors without a quota
};

TEST_F(ProcessorLimitTest, AQuotaOfVersion2AndThoseOfItsParentsCount) {
  root_.Write("proc/self/cgroup", "0::/robots/orbserve.service\n");
  root_.Write("sys/fs/cgroup/robots/orbserve.service/cpu.max", "max 100000\n");
  EXPECT_EQ(FindProcessorLimit(root_.path()), all_);
  root_.Write("sys/fs/cgroup/robots/cpu.max", "75000 100000\n");
  EXPECT_DOUBLE_EQ(FindProcessorLimit(root_.path()), 0.75);
  root_.Write("sys/fs/cgroup/robots/orbserve.service/cpu.max", "25000 50000\n");
  EXPECT_DOUBLE_EQ(FindProcessorLimit(root_.path()), 0.5);
}

TEST_F(ProcessorLimitTest, AQuotaOfVersion1Counts) {
  root_.Write("proc/self/cgroup", "11:cpu,cpuacct:/box\n4:memory:/\n");
  root_.Write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  root_.Write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(FindProcessorLimit(root_.path()), all_);
  root_.Write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "30000\n");
  EXPECT_DOUBLE_EQ(FindProcessorLimit(root_.path()), 0.3);
}

TEST_F(ProcessorLimitTest, NonsenseIsNoQuota) {
  root_.Write("proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "much\n", "0 100000\n", "50000\n", "50000 0\n"}) {
    root_.Write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(FindProcessorLimit(root_.path()), all_) << text;
  }
}

}  // namespace
}  // namespace orbserve
