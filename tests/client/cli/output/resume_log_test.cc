// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/resume_log.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using orbserve::testing::TemporaryFolder;

class ResumeLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<ResumeLog> Open(const Shard& shard = {}, const std::string& options = "orb") {
    auto log = ResumeLog::Open(folder_ / "out", shard, OptionsFingerprint(options));
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  TemporaryFolder folder_;
  const std::string input_ = folder_.Write("in/a b.png", "pixels");
};

TEST_F(ResumeLogTest, WhatIsMarkedIsDoneInTheNextRun) {
  folder_.Write("out/a b.png.npz", "x");
  auto log = Open();
  EXPECT_FALSE(log->IsDone({input_}, "a b.png.npz"));
  ASSERT_TRUE(log->MarkDone({input_}, "a b.png.npz", 1).ok());
  ASSERT_TRUE(log->Close().ok());
  EXPECT_TRUE(Open()->IsDone({input_}, "a b.png.npz"));
}

TEST_F(ResumeLogTest, NamesOfSeveralLinesAreKnownAgain) {
  for (const std::string name : {"two\nlines.npz", "two\\nlines.npz"}) {
    folder_.Write("out/" + name, "x");
    EXPECT_FALSE(Open()->IsDone({input_}, name));
    ASSERT_TRUE(Open()->MarkDone({input_}, name, 1).ok());
    EXPECT_TRUE(Open()->IsDone({input_}, name));
  }
}

TEST_F(ResumeLogTest, OtherOptionsChangedInputOrMissingOutputAreNotDone) {
  const std::string output = folder_.Write("out/a.npz", "x");
  ASSERT_TRUE(Open()->MarkDone({input_}, "a.npz", 1).ok());
  EXPECT_TRUE(Open()->IsDone({input_}, "a.npz"));
  EXPECT_FALSE(Open({}, "orb with 1000 features")->IsDone({input_}, "a.npz"));
  EXPECT_FALSE(Open()->IsDone({input_}, "b.npz"));
  std::filesystem::remove(output);
  EXPECT_FALSE(Open()->IsDone({input_}, "a.npz"));
  folder_.Write("out/a.npz", "x");
  folder_.Write("in/a b.png", "other pixels");
  EXPECT_FALSE(Open()->IsDone({input_}, "a.npz"));
}

// A power failure or a full disk leaves such files.
TEST_F(ResumeLogTest, AnOutputThatIsNotAsLongAsItWasIsNotDone) {
  folder_.Write("out/a.npz", "features");
  ASSERT_TRUE(Open()->MarkDone({input_}, "a.npz", 8).ok());
  EXPECT_TRUE(Open()->IsDone({input_}, "a.npz"));
  for (const char* left : {"", "feat", "features and more"}) {
    folder_.Write("out/a.npz", left);
    EXPECT_FALSE(Open()->IsDone({input_}, "a.npz")) << left;
  }
}

TEST_F(ResumeLogTest, ALineWithoutTheLengthOfTheOutputDoesNotCount) {
  folder_.Write("out/a.npz", "x");
  ASSERT_TRUE(Open()->MarkDone({input_}, "a.npz", 1).ok());
  const std::string path = folder_ / "out/.orbserve-done.0-of-1";
  std::string line = TemporaryFolder::Read(path);
  const size_t length = line.find(" 1 a.npz");
  ASSERT_NE(length, std::string::npos);
  folder_.Write("out/.orbserve-done.0-of-1", line.replace(length, 2, ""));
  EXPECT_FALSE(Open()->IsDone({input_}, "a.npz"));
}

TEST_F(ResumeLogTest, AnOutputOfTwoInputsIsDoneWhileBothAreTheSame) {
  const std::string other = folder_.Write("in/b.png", "pixels too");
  folder_.Write("out/m.npz", "x");
  const std::vector<std::string> pair = {input_, other};
  ASSERT_TRUE(Open()->MarkDone(pair, "m.npz", 1).ok());
  EXPECT_TRUE(Open()->IsDone(pair, "m.npz"));
  EXPECT_TRUE(Open()->WasDone(pair, "m.npz"));
  EXPECT_FALSE(Open()->IsDone({input_}, "m.npz"));
  EXPECT_FALSE(Open()->IsDone(std::vector<std::string>{other, input_}, "m.npz"));
  folder_.Write("in/b.png", "other pixels");
  EXPECT_FALSE(Open()->IsDone(pair, "m.npz"));
  EXPECT_FALSE(Open()->WasDone(pair, "m.npz"));
}

TEST_F(ResumeLogTest, ShardsReadEachOther) {
  folder_.Write("out/a.npz", "x");
  ASSERT_TRUE(Open({0, 2})->MarkDone({input_}, "a.npz", 1).ok());
  EXPECT_TRUE(Open({1, 2})->IsDone({input_}, "a.npz"));
  EXPECT_TRUE(Open()->IsDone({input_}, "a.npz"));
}

TEST_F(ResumeLogTest, LineThatWasCutOffDoesNotCountAndHarmsNoOther) {
  folder_.Write("out/a.npz", "x");
  ASSERT_TRUE(Open()->MarkDone({input_}, "a.npz", 1).ok());
  const std::string path = folder_ / "out/.orbserve-done.0-of-1";
  const std::string line = TemporaryFolder::Read(path);
  // A kill interrupted the record of b.npz.
  folder_.Write("out/.orbserve-done.0-of-1", line + line.substr(0, line.size() / 2));
  auto log = Open();
  EXPECT_TRUE(log->IsDone({input_}, "a.npz"));
  folder_.Write("out/c.npz", "x");
  ASSERT_TRUE(log->MarkDone({input_}, "c.npz", 1).ok());
  // A second kill prevents Close: the next run reads the log as it is now.
  EXPECT_TRUE(Open()->IsDone({input_}, "c.npz"));
  EXPECT_TRUE(Open()->IsDone({input_}, "a.npz"));
}

TEST_F(ResumeLogTest, OrderOfTheWorkLeavesNoTrace) {
  const std::string other = folder_.Write("in/b.png", "pixels");
  auto log = Open();
  ASSERT_TRUE(log->MarkDone({input_}, "a.npz", 1).ok());
  ASSERT_TRUE(log->MarkDone({other}, "b.npz", 1).ok());
  ASSERT_TRUE(log->Close().ok());
  const std::string first = TemporaryFolder::Read(folder_ / "out/.orbserve-done.0-of-1");
  log = Open();
  ASSERT_TRUE(log->MarkDone({other}, "b.npz", 1).ok());
  ASSERT_TRUE(log->MarkDone({input_}, "a.npz", 1).ok());
  ASSERT_TRUE(log->Close().ok());
  EXPECT_EQ(TemporaryFolder::Read(folder_ / "out/.orbserve-done.0-of-1"), first);
  EXPECT_FALSE(first.empty());
}

}  // namespace
}  // namespace orbserve::cli
