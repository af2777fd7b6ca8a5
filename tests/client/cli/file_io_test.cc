// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/file_io.h"

#include <atomic>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;

TEST(ReadFileTest, MissingEmptyAndFolderAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(ReadFile(folder / "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadFile(folder.Write("e", "")).status().message()), HasSubstr("empty"));
  EXPECT_THAT(std::string(ReadFile(folder.path()).status().message()), HasSubstr("folder"));
  const auto bytes = ReadFile(folder.Write("f", std::string("a\0b", 3)));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, std::string("a\0b", 3));
}

TEST(WriteFileTest, CreatesFoldersReplacesAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  const std::string path = folder / "a/b/c.txt";
  ASSERT_TRUE(WriteFile(path, "one").ok());
  ASSERT_TRUE(WriteFile(path, "two").ok());
  EXPECT_EQ(TemporaryFolder::Read(path), "two");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "a/b")) {
    entries += entry.exists() ? 1 : 0;
  }
  EXPECT_EQ(entries, 1);
  EXPECT_FALSE(WriteFile(folder / "a/b/c.txt/d", "x").ok());
}

}  // namespace
}  // namespace orbserve::cli
