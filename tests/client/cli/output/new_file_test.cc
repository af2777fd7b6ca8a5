// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/new_file.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;

class NewFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "orbserve-new-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  int FilesInFolder() const {
    return static_cast<int>(std::distance(fs::directory_iterator(folder_), {}));
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(NewFileTest, IsSeenWhenItIsWhole) {
  auto file = NewFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append("one ").ok());
  EXPECT_FALSE(fs::exists(Path("a")));
  ASSERT_TRUE((*file)->Append("two").ok());
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Text("a"), "one two");
  EXPECT_EQ(FilesInFolder(), 1);
}

TEST_F(NewFileTest, TakesThePlaceOfAnotherFile) {
  std::ofstream(Path("a")) << "old and longer";
  auto file = NewFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append("new").ok());
  EXPECT_EQ(Text("a"), "old and longer");
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Text("a"), "new");
  EXPECT_EQ(FilesInFolder(), 1);
}

TEST_F(NewFileTest, NothingStaysOfOneThatIsNotPublished) {
  {
    auto file = NewFile::Create(Path("a"));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append("half").ok());
  }
  EXPECT_EQ(FilesInFolder(), 0);
}

TEST_F(NewFileTest, NothingStaysOfOneWhoseProcessIsKilled) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = NewFile::Create(Path("a"));
    if (file.ok() && (*file)->Append("half").ok()) kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(FilesInFolder(), 0);
}

TEST_F(NewFileTest, CreatesItsFolder) {
  auto file = NewFile::Create(Path("b/c/a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append("deep").ok());
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Text("b/c/a"), "deep");
}

TEST_F(NewFileTest, CanBeCutOff) {
  auto file = NewFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Append("whole half").ok());
  ASSERT_TRUE((*file)->Truncate(5).ok());
  ASSERT_TRUE((*file)->Publish().ok());
  EXPECT_EQ(Text("a"), "whole");
}

TEST_F(NewFileTest, AFolderIsNotReplaced) {
  fs::create_directory(Path("a"));
  auto file = NewFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->Publish().ok());
  file->reset();
  EXPECT_TRUE(fs::is_directory(Path("a")));
  EXPECT_EQ(FilesInFolder(), 1);
}

TEST_F(NewFileTest, AFolderThatIsAFileIsNamedInTheError) {
  std::ofstream(Path("b")) << "file";
  const auto file = NewFile::Create(Path("b/a"));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(std::string(file.status().message()).find(Path("b/a")), std::string::npos);
}

}  // namespace
}  // namespace orbserve::cli
