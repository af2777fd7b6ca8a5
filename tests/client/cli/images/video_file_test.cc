// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/video_file.h"

#include <string>

#include "absl/strings/match.h"
#include "client/cli/images/frame_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;

TEST(VideoFileTest, AVideoIsReadFromItsFirstByte) {
  const testing::TemporaryFolder folder;
  const std::string bytes = std::string(1000, 'a') + std::string(1000, 'b');
  const auto video = OpenVideoFile(folder.Write("v", bytes));
  ASSERT_TRUE(video.ok()) << video.status();
  EXPECT_EQ(video->head, bytes.substr(0, kVideoHeadBytes));
  std::string read(3000, '\0');
  read.resize(std::fread(read.data(), 1, read.size(), video->file));
  EXPECT_EQ(read, bytes);
  std::fclose(video->file);
}

TEST(VideoFileTest, StoppedReadsEndLikeTheFile) {
  const testing::TemporaryFolder folder;
  const auto video = OpenVideoFile(folder.Write("v", std::string(100'000, 'a')));
  ASSERT_TRUE(video.ok()) << video.status();
  *video->stop = true;
  std::string read(100'000, '\0');
  EXPECT_LT(std::fread(read.data(), 1, read.size(), video->file), read.size());
  std::fclose(video->file);
}

TEST(VideoFileTest, AMissingFileIsAnError) {
  EXPECT_EQ(OpenVideoFile("/nowhere/v").status().code(), absl::StatusCode::kNotFound);
}

TEST(VideoFileTest, ForeignVideosGetTheCommandThatHelps) {
  const struct {
    std::string source;
    std::string head;
    std::string message;
  } rows[] = {
      {"a.mp4",
       std::string("\0\0\0\x18"
                   "ftypmp42",
                   12),
       "a.mp4 is an MP4 or QuickTime video, which this program does not read; ffmpeg turns it into "
       "frames:\n  ffmpeg -loglevel error -i 'a.mp4' -f yuv4mpegpipe -pix_fmt yuv420p - | "
       "orbserve stream -"},
      {"it's a.mkv", "\x1A\x45\xDF\xA3 more", "-i 'it'\\''s a.mkv' -f yuv4mpegpipe"},
      {"a.avi", std::string("RIFF\0\0\0\0AVI LIST", 16), "an AVI video"},
      {"-",
       std::string("\0\0\0\x18"
                   "ftypmp42",
                   12),
       "standard input is an MP4"},
      {"rtsp://camera:554/live?a=1&b=2", "",
       "ffmpeg -loglevel error -rtsp_transport tcp -i 'rtsp://camera:554/live?a=1&b=2' -f"},
      {"http://camera/video.mjpg", "", "a URL, which this program does not read"},
      {"v.ts", "G" + std::string(187, 'x') + "G", "an MPEG transport stream"},
      {"v.h264", std::string("\0\0\0\1\x67", 5), "raw H.264"},
  };
  for (const auto& row : rows) {
    const absl::Status status = RefuseForeignVideo(row.source, row.head, /*track=*/false);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.source;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
  }
  for (const char* own : {"YUV4MPEG2 W1", "\xFF\xD8\xFF", "\x89PNG", "P5\n", "RIFF", "G"}) {
    EXPECT_TRUE(RefuseForeignVideo("file", own, /*track=*/false).ok()) << own;
  }
  EXPECT_TRUE(IsUrl("rtsp://a"));
  EXPECT_FALSE(IsUrl("a/b://c"));
  EXPECT_FALSE(IsUrl("://c"));
  EXPECT_FALSE(IsUrl("folder"));
}

TEST(FrameSourceTest, SourcesAreChosenByTheirFirstBytes) {
  const testing::TemporaryFolder folder;
  const std::string jpeg = std::string("\xFF\xD8\xFF\xDA\x00\x02 data \xFF\xD9", 14);
  const auto open = [](const std::string& source) {
    return OpenFrameSource({.source = source}, {});
  };
  const auto mjpeg = open(folder.Write("video.jpg", jpeg + jpeg + jpeg));
  ASSERT_TRUE(mjpeg.ok()) << mjpeg.status();
  for (const char* name : {"000000", "000001", "000002"}) {
    const auto item = (*mjpeg)->Next();
    ASSERT_TRUE(item.has_value());
    EXPECT_EQ(item->name, name);
    EXPECT_EQ(item->frame->pixels(), jpeg);
  }
  EXPECT_FALSE((*mjpeg)->Next().has_value());

  const auto photo = open(folder.Write("photo.jpg", jpeg));
  ASSERT_TRUE(photo.ok());
  EXPECT_EQ((*photo)->files().size(), 1u);

  const auto y4m = open(folder.Write("v", "YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAME\nabcd"));
  ASSERT_TRUE(y4m.ok()) << y4m.status();
  EXPECT_EQ((*y4m)->fps(), 25);
  EXPECT_EQ((*y4m)->Next()->frame->pixels(), "abcd");

  const auto empty = open(folder.Write("v.mjpg", "--frame\r\n\r\n"));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(std::string((*empty)->Next()->frame.status().message()),
              HasSubstr("the MJPEG video has no frames"));

  EXPECT_THAT(std::string(open(folder.Write("v.mp4", std::string("\0\0\0\x18"
                                                                 "ftyp",
                                                                 8)))
                              .status()
                              .message()),
              HasSubstr("ffmpeg -loglevel error -i '"));
  EXPECT_THAT(std::string(open("/dev/video99").status().message()),
              HasSubstr("/dev/video99: cannot be opened"));
}

TEST(FrameSourceTest, ASimulatedFlightTellsItsTrueMotion) {
  const testing::TemporaryFolder folder;
  const std::string photo =
      folder.Write("p.pgm", "P5\n200 100\n255\n" + std::string(200 * 100, 'p'));
  const auto source = OpenFrameSource(
      {.photo = photo, .width_px = 64, .height_px = 48, .fps = 10, .simulated_frames = 2}, {});
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->count(), 2);
  EXPECT_EQ((*source)->fps(), 10);
  const auto first = (*source)->Next();
  ASSERT_TRUE(first.has_value() && first->frame.ok());
  EXPECT_EQ(first->frame->width_px(), 64u);
  ASSERT_TRUE(first->truth.has_value());
  EXPECT_FALSE(first->truth->from_previous.has_value());
  const auto second = (*source)->Next();
  ASSERT_TRUE(second.has_value() && second->truth.has_value());
  // Both ways lead to one point of the photograph.
  const auto moved = (*second->truth->from_previous)(10, 20);
  const auto a = first->truth->to_photo(10, 20);
  const auto b = second->truth->to_photo(moved[0], moved[1]);
  EXPECT_NEAR(a[0], b[0], 1e-9);
  EXPECT_NEAR(a[1], b[1], 1e-9);
  EXPECT_FALSE((*source)->Next().has_value());

  for (const auto& [options, message] : std::vector<std::pair<FrameSourceOptions, std::string>>{
           {{.photo = photo, .width_px = 8, .height_px = 48}, "must have 16 pixels or more"},
           {{.photo = folder.Write("s.pgm", "P5\n9 9\n255\n" + std::string(81, 'p'))},
            "a photograph must have 16 pixels or more on each side; got 9x9"},
           {{.photo = folder / "none.jpg"}, "none.jpg: cannot be opened"}}) {
    EXPECT_THAT(std::string(OpenFrameSource(options, {}).status().message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace orbserve::cli
