// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/image_file.h"

#include "features/algo/grey.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr PictureLimits kSmall{.max_side_px = 100, .max_pixels = 5000};

TEST(LoadFrameTest, FirstBytesDecideAndNotTheName) {
  const TemporaryFolder folder;
  const auto jpeg = LoadFrame(folder.Write("a.png", "\xFF\xD8\xFF rest"), kSmall);
  ASSERT_TRUE(jpeg.ok()) << jpeg.status();
  EXPECT_EQ(jpeg->format(), v1::PIXEL_FORMAT_JPEG);
  EXPECT_EQ(jpeg->pixels(), "\xFF\xD8\xFF rest");
  const auto pgm = LoadFrame(folder.Write("b.jpg", "P5\n2 2\n255\nabcd"), kSmall);
  ASSERT_TRUE(pgm.ok()) << pgm.status();
  EXPECT_EQ(pgm->format(), v1::PIXEL_FORMAT_GRAY8);
  EXPECT_EQ(pgm->width_px(), 2u);
  EXPECT_EQ(pgm->pixels(), "abcd");
  EXPECT_FALSE(LoadFrame(folder.Write("c.jpg", "GIF89a"), kSmall).ok());
}

TEST(LoadFrameTest, ColourIsSentAsTheGreyThatTheServerWouldMake) {
  const TemporaryFolder folder;
  const auto frame = LoadFrame(folder.Write("a.ppm", "P6\n2 1\n255\n\x0A\x14\xC8\xFE\x01\x80"), {});
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->format(), v1::PIXEL_FORMAT_GRAY8);
  ASSERT_EQ(frame->pixels().size(), 2u);
  EXPECT_EQ(static_cast<uint8_t>(frame->pixels()[0]), GreyFromRgb(0x0A, 0x14, 0xC8));
  EXPECT_EQ(static_cast<uint8_t>(frame->pixels()[1]), GreyFromRgb(0xFE, 0x01, 0x80));
}

TEST(LoadFrameTest, MissingEmptyAndFolderAreErrors) {
  const TemporaryFolder folder;
  EXPECT_EQ(LoadFrame(folder / "none.png", {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(LoadFrame(folder.Write("e.png", ""), {}).status().message()),
              HasSubstr("empty"));
  EXPECT_THAT(std::string(LoadFrame(folder.path(), {}).status().message()), HasSubstr("folder"));
}

TEST(WorkingBytesTest, JpegCountsAsWhatItDecodesTo) {
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_JPEG);
  // The bytes are a comment, fill bytes and a frame header of 4660 x 22136.
  const std::string header("\xFF\xD8\xFF\xFE\x00\x03x\xFF\xFF\xC2\x00\x0B\x08\x56\x78\x12\x34\x01",
                           18);
  frame.set_pixels(header);
  EXPECT_EQ(WorkingBytes(frame), 0x5678u * 0x1234u);
  for (size_t size = 0; size < header.size(); ++size) {
    frame.set_pixels(header.substr(0, size));
    EXPECT_EQ(WorkingBytes(frame), size < 17 ? size : 0x5678u * 0x1234u) << size;
  }
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(10);
  frame.set_height_px(10);
  frame.mutable_mask()->set_pixels("12345");
  EXPECT_EQ(WorkingBytes(frame), 105u);
}

TEST(LoadMaskTest, AnyChannelThatIsNotZeroKeepsThePixel) {
  const TemporaryFolder folder;
  const auto mask = LoadMask(
      folder.Write("m.ppm", std::string("P6\n3 1\n255\n\x00\x00\x00\x00\x00\x07\x80\x00\x00", 20)),
      {});
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(mask->width_px(), 3u);
  EXPECT_EQ(mask->pixels(), std::string("\x00\x07\x80", 3));
  EXPECT_FALSE(LoadMask(folder.Write("m.jpg", "\xFF\xD8\xFF"), {}).ok());
}

// Labels of 16 bits are often small numbers, whose upper byte is 0.
TEST(LoadMaskTest, SixteenBitsCountWhole) {
  // A PNG of 3 x 1 pixels of red, green and blue: (0, 0, 0), (0, 1, 0), (0x8000, 0, 0xFF).
  const std::string png(
      "\x89\x50\x4E\x47\x0D\x0A\x1A\x0A\x00\x00\x00\x0D\x49\x48\x44\x52"
      "\x00\x00\x00\x03\x00\x00\x00\x01\x10\x02\x00\x00\x00\xC4\x12\x5F"
      "\xA0\x00\x00\x00\x12\x49\x44\x41\x54\x78\x9C\x63\x60\x80\x01\x46"
      "\x06\x86\x06\x10\xFD\x1F\x00\x04\x1B\x01\x81\x1F\xCA\xC9\x9E\x00"
      "\x00\x00\x00\x49\x45\x4E\x44\xAE\x42\x60\x82",
      75);
  const TemporaryFolder folder;
  const auto mask = LoadMask(folder.Write("m.png", png), {});
  ASSERT_TRUE(mask.ok()) << mask.status();
  EXPECT_EQ(mask->pixels(), std::string("\x00\x01\x81", 3));
}

TEST(LoadPictureTest, DeviceIsRefusedBecauseItIsReadOnce) {
  const absl::Status status = LoadPicture("/dev/null", kSmall).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pipe or a device"));
}

}  // namespace
}  // namespace orbserve::cli
