// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/limits.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

// A tree of /proc and /sys that a test writes. Its quotas are less than one processor, which every
// machine has.
class ProcessorLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "processor_limit_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    all_ = FindProcessorLimit(root_);
    EXPECT_GE(all_, 1);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  std::string root_;
  double all_ = 0;  // processors without a quota
};

TEST_F(ProcessorLimitTest, AQuotaOfVersion2AndThoseOfItsParentsCount) {
  Write("/proc/self/cgroup", "0::/robots/orbserve.service\n");
  Write("/sys/fs/cgroup/robots/orbserve.service/cpu.max", "max 100000\n");
  EXPECT_EQ(FindProcessorLimit(root_), all_);
  Write("/sys/fs/cgroup/robots/cpu.max", "75000 100000\n");
  EXPECT_DOUBLE_EQ(FindProcessorLimit(root_), 0.75);
  Write("/sys/fs/cgroup/robots/orbserve.service/cpu.max", "25000 50000\n");
  EXPECT_DOUBLE_EQ(FindProcessorLimit(root_), 0.5);
}

TEST_F(ProcessorLimitTest, AQuotaOfVersion1Counts) {
  Write("/proc/self/cgroup", "11:cpu,cpuacct:/box\n4:memory:/\n");
  Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(FindProcessorLimit(root_), all_);
  Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "30000\n");
  EXPECT_DOUBLE_EQ(FindProcessorLimit(root_), 0.3);
}

TEST_F(ProcessorLimitTest, NonsenseIsNoQuota) {
  Write("/proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "much\n", "0 100000\n", "50000\n", "50000 0\n"}) {
    Write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(FindProcessorLimit(root_), all_) << text;
  }
}

}  // namespace
}  // namespace orbserve
