// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve {
namespace {

using ::orbserve::testing::TemporaryFolder;

void ExpectRefused(const std::string& path, const std::string& why, size_t max_bytes = 100) {
  const auto text = ReadTextFile(path, max_bytes);
  ASSERT_FALSE(text.ok()) << path;
  EXPECT_EQ(ReasonOf(text.status()), ErrorReason::kBadOptions);
  EXPECT_EQ(std::string(text.status().message()), absl::StrCat(path, ": cannot be read: ", why));
}

TEST(ReadTextFileTest, GivesAllBytesAlsoOfAnEmptyFile) {
  const TemporaryFolder folder;
  const std::string large(100'000, 'x');
  for (const std::string& text : {std::string(), std::string("a\0b\r\n", 5), large}) {
    const auto read = ReadTextFile(folder.Write("file", text));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, text);
  }
}

TEST(ReadTextFileTest, FollowsLinks) {
  const TemporaryFolder folder;
  ASSERT_EQ(symlink(folder.Write("file", "text").c_str(), (folder / "link").c_str()), 0);
  EXPECT_EQ(*ReadTextFile(folder / "link"), "text");
}

TEST(ReadTextFileTest, WhatIsNotThereIsRefused) {
  const TemporaryFolder folder;
  ExpectRefused(folder / "none", "No such file or directory");
  ExpectRefused("", "No such file or directory");
  ExpectRefused(folder.Write("file", "") + "/none", "Not a directory");
}

TEST(ReadTextFileTest, WhatMayNotBeReadIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", "text");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  // The superuser may read everything.
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(seteuid(65534), 0);
  }
  ExpectRefused(path, "Permission denied");
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

TEST(ReadTextFileTest, FoldersPipesAndDevicesAreRefusedWithoutWaiting) {
  const TemporaryFolder folder;
  ExpectRefused(folder.path(), "Is a directory");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  ExpectRefused(folder / "fifo", "Not a regular file");
  ExpectRefused("/dev/zero", "Not a regular file");
}

TEST(ReadTextFileTest, TheSizeIsBounded) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("file", std::string(100, 'x'));
  EXPECT_TRUE(ReadTextFile(path, 100).ok());
  ExpectRefused(path, "it has more than 99 bytes", 99);
  ExpectRefused("/proc/self/maps", "it has more than 100 bytes");  // whose size says 0
}

}  // namespace
}  // namespace orbserve
