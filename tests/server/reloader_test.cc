// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/reloader.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "features/errors.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve {
namespace {

using ::orbserve::testing::TemporaryFolder;
using std::chrono::milliseconds;

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

class ReloaderTest : public ::testing::Test {
 protected:
  ReloaderOptions Options() {
    return {.files = {{"files",
                       {folder_ / "a", folder_ / "b"},
                       [this] {
                         ++loads_;
                         return fails_ ? MakeError(ErrorReason::kBadOptions, "wrong")
                                       : absl::OkStatus();
                       }}},
            .period = milliseconds(5),
            .on_look = [this] { ++looks_; }};
  }
  // Two looks more, the second of which began after this.
  void Look() {
    const int before = looks_;
    ASSERT_TRUE(Eventually([&] { return looks_ >= before + 4; }));
  }

  const TemporaryFolder folder_;
  std::atomic<int> loads_{0};
  std::atomic<int> looks_{0};
  std::atomic<bool> fails_{false};
};

TEST_F(ReloaderTest, ReadsFilesWhenOneOfThemHasChanged) {
  folder_.Write("a", "1");
  folder_.Write("b", "1");
  Reloader reloader(Options());
  Look();
  EXPECT_EQ(loads_, 0);
  folder_.Write("b", "22");
  Look();
  EXPECT_EQ(loads_, 1);
  // A careful program replaces it so: written beside and renamed, of the same size.
  folder_.Write("c", "33");
  std::filesystem::rename(folder_ / "c", folder_ / "b");
  Look();
  EXPECT_EQ(loads_, 2);
  Look();
  EXPECT_EQ(loads_, 2);
}

TEST_F(ReloaderTest, FollowsALinkThatPointsElsewhere) {
  folder_.Write("one", "1");
  folder_.Write("two", "2");
  folder_.Write("b", "1");
  std::filesystem::create_symlink(folder_ / "one", folder_ / "a");
  Reloader reloader(Options());
  Look();
  std::filesystem::create_symlink(folder_ / "two", folder_ / "new");
  std::filesystem::rename(folder_ / "new", folder_ / "a");
  Look();
  EXPECT_EQ(loads_, 1);
}

TEST_F(ReloaderTest, TriesAFileThatWasWrongOnceAndAgainWhenItChanges) {
  folder_.Write("a", "1");
  folder_.Write("b", "1");
  Reloader reloader(Options());
  fails_ = true;
  folder_.Write("a", "wrong");
  Look();
  Look();
  EXPECT_EQ(loads_, 1);
  std::filesystem::remove(folder_ / "b");
  Look();
  EXPECT_EQ(loads_, 2);
  fails_ = false;
  folder_.Write("b", "1");
  Look();
  EXPECT_EQ(loads_, 3);
}

TEST_F(ReloaderTest, ReadsThemWhenAskedTo) {
  folder_.Write("a", "1");
  ReloaderOptions options = Options();
  options.period = std::chrono::hours(1);
  Reloader reloader(std::move(options));
  reloader.Reload();
  EXPECT_TRUE(Eventually([&] { return loads_ == 1; }));
  reloader.Reload();
  EXPECT_TRUE(Eventually([&] { return loads_ == 2; }));
}

}  // namespace
}  // namespace orbserve
