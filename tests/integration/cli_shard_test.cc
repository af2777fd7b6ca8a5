// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A folder of images over many processes, as a cluster's job array has it.

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::testing::SizeIs;

TEST_F(CliTest, EightShardsOfWhichTwoAreKilledAndResumedGiveTheFilesOfOneRun) {
  constexpr int kShards = 8;
  constexpr int kImages = 96;
  for (int i = 0; i < kImages; ++i) {
    folder_.Write(absl::StrCat("in/camera", i % 3, "/", i, ".pgm"), Scene(i, 640, 480));
  }
  const std::string in = folder_ / "in";
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "whole", in})));

  const std::string out = folder_ / "parts";
  const auto extract = [&](int shard) {
    // The reference loops are slow enough to be killed in the middle.
    return Start({"extract", "--backend", "cpu-reference", "--threads", "1", "--resume", "--shard",
                  absl::StrCat(shard, "/", kShards), "--out", out, in});
  };
  const auto done = [&](int shard) {  // lines of the shard's record
    const std::string log = testing::TemporaryFolder::Read(
        fs::path(out) / absl::StrCat(".orbserve-done.", shard, "-of-", kShards));
    return std::count(log.begin(), log.end(), '\n');
  };
  std::vector<pid_t> processes;
  for (int shard = 0; shard < kShards; ++shard) processes.push_back(extract(shard));
  for (const int victim : {2, 5}) {
    EXPECT_TRUE(HappensSoon([&] { return done(victim) >= 3; }));
    kill(processes[victim], SIGKILL);
    EXPECT_EQ(Wait(processes[victim]).code, -SIGKILL);
    EXPECT_LT(done(victim), kImages / kShards) << "it was through before it was killed";
  }
  for (int shard = 0; shard < kShards; ++shard) {
    if (shard == 2 || shard == 5) continue;
    EXPECT_TRUE(Succeeded(Wait(processes[shard])));
  }
  for (const int victim : {2, 5}) {
    const auto kept = done(victim);
    EXPECT_TRUE(Succeeded(Wait(extract(victim))));
    EXPECT_GE(done(victim), kept);
  }

  auto whole = Files(folder_ / "whole");
  auto parts = Files(out);
  for (auto* files : {&whole, &parts}) {
    std::erase_if(*files, [](const auto& file) { return absl::StartsWith(file.first, "."); });
  }
  EXPECT_THAT(whole, SizeIs(kImages));
  EXPECT_TRUE(whole == parts);
}

}  // namespace
}  // namespace orbserve
