// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/output_names.h"

#include <filesystem>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;

TEST(CheckOneOutputEachTest, TwoInputsOfOneOutputAreAnError) {
  const InputFile first{.path = "/x/1.jpg", .relative = "1.jpg"};
  const InputFile second{.path = "/y/1.jpg", .relative = "1.jpg"};
  const InputFile below{.path = "y/1.jpg", .relative = "y/1.jpg"};
  const absl::Status status = CheckOneOutputEach({first, second});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/x/1.jpg and /y/1.jpg"));
  EXPECT_TRUE(CheckOneOutputEach({first, below}).ok());
}

TEST(CheckOneOutputEachTest, InputsWithAProblemWriteNothing) {
  const InputFile empty{
      .path = "/x", .relative = "x", .problem = absl::InvalidArgumentError("no image")};
  EXPECT_TRUE(CheckOneOutputEach({empty, empty}).ok());
}

TEST(CheckNoInputReplacedTest, KnowsAFileByEveryName) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("in/a.png", "x");
  const std::string other = folder.Write("in/b.png", "x");
  const std::string link = folder / "in/link.png";
  fs::create_symlink("a.png", link);
  fs::create_directory_symlink("in", folder / "again");
  const auto replaced = [](const std::string& input, const std::string& output) {
    return !CheckNoInputReplaced({"", "/not/there.png", input}, {"/not/there", output}).ok();
  };
  EXPECT_TRUE(replaced(file, file));
  EXPECT_TRUE(replaced(file, folder / "in/../again/a.png"));
  EXPECT_TRUE(replaced(link, file));
  EXPECT_TRUE(replaced(link, link));
  EXPECT_FALSE(replaced(file, link));  // only the link would be replaced
  EXPECT_FALSE(replaced(file, other));
  EXPECT_FALSE(replaced(file, folder / "in/c.png"));
}

TEST(CheckNoInputDrawnOverTest, PictureInPlaceOfAnInputIsAnError) {
  const TemporaryFolder folder;
  const InputFile image{.path = folder.Write("a.png", "x"), .relative = "a.png"};
  const InputFile other{.path = folder.Write("a.png.png", "x"), .relative = "a.png.png"};
  EXPECT_TRUE(CheckNoInputDrawnOver({image}, {}, folder.path()).ok());
  const absl::Status status = CheckNoInputDrawnOver({image, other}, {}, folder.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(other.path));
  EXPECT_FALSE(CheckNoInputDrawnOver({image}, {other.path}, folder.path()).ok());
}

// A photograph, a video or a mask may be the picture of a frame of an earlier run.
TEST(CheckNoInputDrawnOverTest, PictureOfAFrameInPlaceOfAnInputIsAnError) {
  const TemporaryFolder folder;
  const std::string frame = folder.Write("000012.png", "x");
  const absl::Status status = CheckNoInputDrawnOver({}, {frame}, folder.path());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(frame));
  EXPECT_TRUE(CheckNoInputDrawnOver({}, {frame}, folder / "other").ok());
  EXPECT_TRUE(CheckNoInputDrawnOver({}, {folder.Write("a.png", "x")}, folder.path()).ok());
}

TEST(NameOnOneLineTest, DifferentNamesGiveDifferentText) {
  EXPECT_EQ(NameOnOneLine("a b/\xC3\xBC'\".png"), "a b/\xC3\xBC'\".png");
  EXPECT_EQ(NameOnOneLine("a\nb\\n\x1b[1m\x7f"), "a\\nb\\\\n\\x1b[1m\\x7f");
}

}  // namespace
}  // namespace orbserve::cli
