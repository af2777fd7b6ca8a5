// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/reloader.h"

#include <filesystem>
#include <string>

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::Pair;

class ReloaderTest : public ::testing::Test {
 protected:
  std::vector<WatchedFiles> Files() {
    return {{"files", {folder_ / "a", folder_ / "b"}, [this] {
               ++loads_;
               return fails_ ? MakeError(ErrorReason::kBadOptions, "wrong") : absl::OkStatus();
             }}};
  }
  // The second look finds what the first one has seen.
  static void LookTwice(Reloader& reloader) {
    reloader.Look();
    reloader.Look();
  }

  const TemporaryFolder folder_;
  int loads_ = 0;
  int looks_ = 0;
  bool fails_ = false;
};

TEST_F(ReloaderTest, ReadsFilesWhenOneOfThemHasChanged) {
  folder_.Write("a", "1");
  folder_.Write("b", "1");
  Reloader reloader(Files(), [this] { ++looks_; });
  LookTwice(reloader);
  EXPECT_EQ(loads_, 0);
  folder_.Write("b", "22");
  LookTwice(reloader);
  EXPECT_EQ(loads_, 1);
  // A careful program replaces it so: written beside and renamed, of the same size.
  folder_.Write("c", "33");
  std::filesystem::rename(folder_ / "c", folder_ / "b");
  LookTwice(reloader);
  EXPECT_EQ(loads_, 2);
  LookTwice(reloader);
  EXPECT_EQ(loads_, 2);
}

TEST_F(ReloaderTest, FollowsALinkThatPointsElsewhere) {
  folder_.Write("one", "1");
  folder_.Write("two", "2");
  folder_.Write("b", "1");
  std::filesystem::create_symlink(folder_ / "one", folder_ / "a");
  Reloader reloader(Files(), [this] { ++looks_; });
  LookTwice(reloader);
  std::filesystem::create_symlink(folder_ / "two", folder_ / "new");
  std::filesystem::rename(folder_ / "new", folder_ / "a");
  LookTwice(reloader);
  EXPECT_EQ(loads_, 1);
}

TEST_F(ReloaderTest, TriesAFileThatWasWrongOnceAndAgainWhenItChanges) {
  folder_.Write("a", "1");
  folder_.Write("b", "1");
  Reloader reloader(Files(), [this] { ++looks_; });
  fails_ = true;
  folder_.Write("a", "wrong");
  LookTwice(reloader);
  LookTwice(reloader);
  EXPECT_EQ(loads_, 1);
  std::filesystem::remove(folder_ / "b");
  LookTwice(reloader);
  EXPECT_EQ(loads_, 2);
  EXPECT_THAT(reloader.failures(), ElementsAre(Pair("files", true)));
  fails_ = false;
  folder_.Write("b", "1");
  LookTwice(reloader);
  EXPECT_EQ(loads_, 3);
  EXPECT_THAT(reloader.failures(), ElementsAre(Pair("files", false)));
}

TEST_F(ReloaderTest, ReadsAFileThatChangesWhenItChangesNoMore) {
  folder_.Write("a", "1");
  folder_.Write("b", "1");
  Reloader reloader(Files(), [this] { ++looks_; });
  folder_.Write("a", "22");
  reloader.Look();
  EXPECT_EQ(loads_, 0);
  folder_.Write("b", "22");
  reloader.Look();
  EXPECT_EQ(loads_, 0);
  reloader.Look();
  EXPECT_EQ(loads_, 1);
  EXPECT_EQ(looks_, 3);
}

TEST_F(ReloaderTest, ReadsThemOnceWhenAskedTo) {
  folder_.Write("a", "1");
  Reloader reloader(Files(), [this] { ++looks_; });
  reloader.Reload();
  reloader.Look();
  EXPECT_EQ(loads_, 1);
  reloader.Look();
  EXPECT_EQ(loads_, 1);
}

}  // namespace
}  // namespace orbserve
