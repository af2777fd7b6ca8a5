// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/shard.h"

#include <algorithm>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

std::vector<std::string> PathsOf(const std::vector<InputFile>& files) {
  std::vector<std::string> names;
  for (const InputFile& file : files) names.push_back(file.relative);
  return names;
}

TEST(ParseShardTest, TakesOnlyIndexBelowCount) {
  const auto shard = ParseShard("2/7");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->index, 2);
  EXPECT_EQ(shard->count, 7);
  for (const char* bad : {"", "/", "1", "7/7", "-1/3", "0/0", "1/-2", "a/b", "1/2/3", "1/"}) {
    EXPECT_FALSE(ParseShard(bad).ok()) << bad;
  }
}

TEST(TakeShardTest, ShardsDivideTheFilesEvenlyByByteSortedPath) {
  std::vector<InputFile> files;
  for (int i = 0; i < 103; ++i) {
    files.push_back({"/in/" + std::to_string(i) + ".png", std::to_string(i) + ".png"});
  }
  std::vector<std::string> sorted = PathsOf(files);
  std::sort(sorted.begin(), sorted.end());
  for (const int64_t count : {1, 2, 7, 103, 200}) {
    std::set<std::string> seen;
    for (int64_t index = 0; index < count; ++index) {
      std::vector<std::string> part = PathsOf(TakeShard(files, {index, count}));
      EXPECT_LE(part.size(), 103u / static_cast<size_t>(count) + 1);
      if (!part.empty()) {
        std::sort(part.begin(), part.end());
        EXPECT_EQ(part[0], sorted[static_cast<size_t>(index)]);
      }
      for (const std::string& name : part) EXPECT_TRUE(seen.insert(name).second) << name;
    }
    EXPECT_EQ(seen.size(), 103u) << count;
  }
}

TEST(TakeShardTest, ShardDoesNotDependOnTheOrderOfTheInputs) {
  std::vector<InputFile> files;
  for (int i = 0; i < 20; ++i) files.push_back({"", std::to_string(i)});
  std::vector<InputFile> reversed(files.rbegin(), files.rend());
  std::vector<std::string> a = PathsOf(TakeShard(files, {1, 3}));
  std::vector<std::string> b = PathsOf(TakeShard(reversed, {1, 3}));
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace orbserve::cli
