// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/y4m_writer.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;

Picture Pixels(int channels, const std::string& pixels) {
  return {.width_px = 2, .height_px = 1, .channels = channels, .pixels = pixels};
}

TEST(Y4mWriterTest, WritesPlanesOfBt601) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "new/v.y4m";
  {
    Y4mWriter writer(path, 29.97);
    // Red and white; black and grey.
    ASSERT_TRUE(writer.Add(Pixels(3, std::string("\xFF\0\0\xFF\xFF\xFF", 6))).ok());
    ASSERT_TRUE(writer.Add(Pixels(1, std::string("\0\x80", 2))).ok());
    EXPECT_FALSE(std::filesystem::exists(path)) << "half a file is visible";
    ASSERT_TRUE(writer.Finish().ok());
  }
  // Values of BT.601 for a range of 16 to 235 (luma) and 16 to 240 (chroma).
  EXPECT_EQ(testing::TemporaryFolder::Read(path),
            "YUV4MPEG2 W2 H1 F29970:1000 Ip A1:1 C444\n"
            "FRAME\n\x51\xEB\x5A\x80\xF0\x80"
            "FRAME\n\x10\x7E\x80\x80\x80\x80");
}

TEST(Y4mWriterTest, APictureOfAnotherSizeIsRefusedAndTheRestGoesOn) {
  const testing::TemporaryFolder folder;
  Y4mWriter writer(folder / "v.y4m", 0);
  ASSERT_TRUE(writer.Add(Pixels(1, "ab")).ok());
  const absl::Status refused =
      writer.Add({.width_px = 1, .height_px = 1, .channels = 1, .pixels = "a"});
  EXPECT_THAT(std::string(refused.message()), HasSubstr("a frame of 1x1 cannot go into "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("which began with 2x1"));
  EXPECT_TRUE(writer.Add(Pixels(1, "ab")).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_THAT(testing::TemporaryFolder::Read(folder / "v.y4m"), HasSubstr("F30000:1000"));
}

TEST(Y4mWriterTest, AnUnfinishedVideoLeavesNothing) {
  const testing::TemporaryFolder folder;
  {
    Y4mWriter writer(folder / "v.y4m", 30);
    ASSERT_TRUE(writer.Add(Pixels(1, "ab")).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_TRUE(Y4mWriter(folder / "w.y4m", 30).Finish().ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Y4mWriterTest, AFolderThatCannotBeIsNamed) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.Write("file", "x");
  Y4mWriter writer(file + "/v.y4m", 30);
  EXPECT_THAT(std::string(writer.Add(Pixels(1, "ab")).message()),
              HasSubstr("its folder cannot be created"));
}

// A full disk that has room again later must not leave half a picture inside the video.
TEST(Y4mWriterTest, NothingIsWrittenBehindAPictureThatDoesNotFit) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "v.y4m";
  const Picture picture{
      .width_px = 100, .height_px = 100, .channels = 1, .pixels = std::string(10'000, 'p')};
  const std::string header = "YUV4MPEG2 W100 H100 F30000:1000 Ip A1:1 C444\n";
  constexpr size_t kFrameBytes = 6 + 3 * 10'000;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  Y4mWriter writer(path, 0);
  const rlimit full = {.rlim_cur = header.size() + 2 * kFrameBytes + 5'000,
                       .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_TRUE(writer.Add(picture).ok());
  EXPECT_TRUE(writer.Add(picture).ok());
  const absl::Status refused = writer.Add(picture);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(writer.Add(picture), refused);
  EXPECT_TRUE(writer.Finish().ok());
  const std::string video = testing::TemporaryFolder::Read(path);
  ASSERT_EQ(video.size(), header.size() + 2 * kFrameBytes);
  EXPECT_EQ(video.substr(header.size() + kFrameBytes, 6), "FRAME\n");
}

TEST(Y4mWriterTest, ASlowVideoHasARate) {
  const testing::TemporaryFolder folder;
  Y4mWriter writer(folder / "v.y4m", 1e-9);
  ASSERT_TRUE(writer.Add(Pixels(1, "ab")).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_THAT(testing::TemporaryFolder::Read(folder / "v.y4m"), HasSubstr(" F1:1000 "));
}

}  // namespace
}  // namespace orbserve::cli
