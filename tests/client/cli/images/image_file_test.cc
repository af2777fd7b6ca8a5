// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/image_file.h"

#include <png.h>

#include <cstring>
#include <filesystem>

#include "client/cli/images/png_file.h"
#include "client/cli/images/pnm_file.h"
#include "features/algo/grey.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr PictureLimits kSmall{.max_side_px = 100, .max_pixels = 5000};

struct PngKind {
  const char* name;
  int colour_type;
  int bit_depth;
  int channels;  // in the file
};

void AppendTo(png_structp png, png_bytep data, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

// A PNG of any kind from rows as the format packs them (16 bits: big-endian).
std::string MakePng(const PngKind& kind, int width_px, int height_px,
                    const std::vector<std::string>& rows, bool interlaced = false) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &bytes, AppendTo, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width_px), static_cast<png_uint_32>(height_px),
               kind.bit_depth, kind.colour_type,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (kind.colour_type == PNG_COLOR_TYPE_PALETTE) {
    const png_color palette[2] = {{10, 20, 30}, {200, 100, 50}};
    png_set_PLTE(png, info, palette, 2);
    const png_byte alpha[2] = {0, 128};
    png_set_tRNS(png, info, alpha, 2, nullptr);
  }
  std::vector<png_bytep> pointers;
  for (const std::string& row : rows) {
    pointers.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(row.data())));
  }
  png_write_info(png, info);
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

TEST(PngTest, EveryKindBecomesEightBitGreyOrRgb) {
  struct Case {
    PngKind kind;
    std::vector<std::string> rows;
    int channels;
    std::string pixels;
  };
  const Case cases[] = {
      {{"grey 8", PNG_COLOR_TYPE_GRAY, 8, 1}, {"\x01\x80", "\xFE\xFF"}, 1, "\x01\x80\xFE\xFF"},
      {{"grey 16", PNG_COLOR_TYPE_GRAY, 16, 1},
       {std::string("\x12\xFF\x80\x00", 4), std::string("\xFF\x7F\x00\x01", 4)},
       1,
       std::string("\x12\x80\xFF\x00", 4)},
      {{"grey 1", PNG_COLOR_TYPE_GRAY, 1, 1},
       {"\x40", "\x80"},
       1,
       std::string("\x00\xFF\xFF\x00", 4)},
      {{"grey 4", PNG_COLOR_TYPE_GRAY, 4, 1},
       {"\x0F", "\x31"},
       1,
       std::string("\x00\xFF\x33\x11", 4)},
      {{"grey alpha", PNG_COLOR_TYPE_GRAY_ALPHA, 8, 2},
       {std::string("\x05\x00\x06\xFF", 4), "\x07\x01\x08\x02"},
       1,
       "\x05\x06\x07\x08"},
      {{"rgb", PNG_COLOR_TYPE_RGB, 8, 3}, {"abcdef", "ghijkl"}, 3, "abcdefghijkl"},
      {{"rgba", PNG_COLOR_TYPE_RGB_ALPHA, 8, 4}, {"abcXdefX", "ghiXjklX"}, 3, "abcdefghijkl"},
      {{"palette", PNG_COLOR_TYPE_PALETTE, 1, 1},
       {"\x40", "\x80"},
       3,
       "\x0A\x14\x1E\xC8\x64\x32\xC8\x64\x32\x0A\x14\x1E"},
  };
  for (const Case& c : cases) {
    for (const bool interlaced : {false, true}) {
      if (interlaced && c.kind.bit_depth < 8) continue;  // rows of partial bytes: left to libpng
      const auto picture = DecodePng(MakePng(c.kind, 2, 2, c.rows, interlaced), kSmall);
      ASSERT_TRUE(picture.ok()) << c.kind.name << ": " << picture.status();
      EXPECT_EQ(picture->channels, c.channels) << c.kind.name;
      EXPECT_EQ(picture->pixels, c.pixels) << c.kind.name << (interlaced ? " interlaced" : "");
    }
  }
}

TEST(PngTest, OwnWritingReadsBackAndRepeats) {
  for (const int channels : {1, 3}) {
    Picture picture{.width_px = 37, .height_px = 21, .channels = channels};
    for (int i = 0; i < 37 * 21 * channels; ++i) {
      picture.pixels.push_back(static_cast<char>(i * i / 7));
    }
    const auto bytes = EncodePng(picture);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(*bytes, *EncodePng(picture));
    const auto read = DecodePng(*bytes, kSmall);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->pixels, picture.pixels);
    EXPECT_EQ(read->channels, channels);
  }
}

TEST(PngTest, EveryTruncationAndEveryFlippedByteIsRefused) {
  Picture picture{.width_px = 16, .height_px = 16, .channels = 1};
  for (int i = 0; i < 256; ++i) picture.pixels.push_back(static_cast<char>(i * 31));
  const std::string whole = *EncodePng(picture);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodePng(absl::string_view(whole).substr(0, size), kSmall).ok()) << size;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x5A);
    EXPECT_FALSE(DecodePng(bytes, kSmall).ok()) << "byte " << i;
  }
}

// The first chunk of a PNG that claims a size, with a right checksum; nothing behind it.
std::string ClaimingPng(uint32_t width_px, uint32_t height_px) {
  const PngKind kind{"", PNG_COLOR_TYPE_GRAY, 8, 1};
  std::string bytes = MakePng(kind, 1, 1, {"x"});
  for (int i = 0; i < 4; ++i) {
    bytes[16 + i] = static_cast<char>(width_px >> (24 - 8 * i));
    bytes[20 + i] = static_cast<char>(height_px >> (24 - 8 * i));
  }
  uint32_t crc = 0xFFFFFFFF;
  for (size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<uint8_t>(bytes[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xEDB88320 & (0 - (crc & 1)));
  }
  for (int i = 0; i < 4; ++i) bytes[29 + i] = static_cast<char>(~crc >> (24 - 8 * i));
  return bytes;
}

TEST(PngTest, WhatWasCutOffIsNotWhole) {
  const TemporaryFolder folder;
  const auto png = EncodePng({.width_px = 3, .height_px = 2, .channels = 1, .pixels = "abcdef"});
  ASSERT_TRUE(png.ok()) << png.status();
  EXPECT_TRUE(IsWholePng(folder.Write("whole.png", *png)));
  for (size_t size = 0; size < png->size(); ++size) {
    EXPECT_FALSE(IsWholePng(folder.Write("cut.png", png->substr(0, size)))) << size;
  }
  EXPECT_FALSE(IsWholePng(folder.Write("other.png", std::string(png->size(), '\0'))));
  EXPECT_FALSE(IsWholePng(folder / "none.png"));
  EXPECT_FALSE(IsWholePng(folder.path()));
}

TEST(PngTest, ClaimedSizeIsCheckedBeforeMemoryIsTaken) {
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(101, 1), kSmall).status().message()),
              HasSubstr("too large: 101 x 1"));
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(90, 90), kSmall).status().message()),
              HasSubstr("too large"));
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(0x7FFFFFFF, 0x7FFFFFFF), {}).status().message()),
              HasSubstr("too large"));
  // Within the limits, but a few bytes cannot hold so much.
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(8000, 8000), {}).status().message()),
              HasSubstr("cannot hold"));
}

TEST(PnmTest, BinaryAndPlainFilesAreRead) {
  struct Case {
    std::string bytes;
    int channels;
    std::string pixels;
  };
  const Case cases[] = {
      {"P5\n2 2\n255\nabcd", 1, "abcd"},
      {"P5 2 2 255 abcd trailing", 1, "abcd"},
      {"P5\n# made by hand\n2 # width\n2\n#\n255\nabcd", 1, "abcd"},
      {"P6\n2 1\n255\nabcdef", 3, "abcdef"},
      {"P2\n2 2\n255\n0 1\n# between\n254 255", 1, std::string("\x00\x01\xFE\xFF", 4)},
      {"P3\n1 1\n255\n10 20 30\n", 3, "\x0A\x14\x1E"},
      {"P2\n3 1\n2\n0 1 2\n", 1, std::string("\x00\x80\xFF", 3)},
      {std::string("P5\n3 1\n2\n\x00\x01\x02", 12), 1, std::string("\x00\x80\xFF", 3)},
      {"P5\n1 1\n255\n\n", 1, "\n"},
  };
  for (const Case& c : cases) {
    const auto picture = DecodePnm(c.bytes, kSmall);
    ASSERT_TRUE(picture.ok()) << c.bytes << ": " << picture.status();
    EXPECT_EQ(picture->channels, c.channels) << c.bytes;
    EXPECT_EQ(picture->pixels, c.pixels) << c.bytes;
  }
}

TEST(PnmTest, WhatIsWrongIsRefusedAndSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a PGM"},
      {"P", "not a PGM"},
      {"P9\n1 1\n255\nx", "not a PGM"},
      {"P5", "header"},
      {"P5\n2 x\n255\nabcd", "header"},
      {"P5\n2 -2\n255\nabcd", "header"},
      {"P5\n2 2\n255", "ends early"},
      {"P5\n2 2\n255\nabc", "ends early"},
      {"P6\n2 2\n255\nabcdabcdabc", "ends early"},
      {"P5\n0 2\n255\n", "must have pixels"},
      {"P5\n101 1\n255\n", "too large"},
      {"P5\n99 99\n255\n", "too large"},
      {"P5\n99999999999999999999 1\n255\nx", "header"},
      {"P5\n1 1\n0\nx", "largest value"},
      {"P5\n1 1\n65536\nxx", "largest value"},
      {"P5\n1 1\n65535\nxx", "16-bit"},
      {"P5\n1 1\n100\n\xFF", "above its largest"},
      {"P4\n8 1\nx", "not read"},
      {"P7\nWIDTH 1\n", "not read"},
      {"P2\n2 2\n255\n1 2 3", "ends early"},
      {"P2\n2 1\n255\n1 256", "not in [0, 255]"},
      {"P2\n2 1\n255\n1 x  ", "not in [0, 255]"},
  };
  for (const auto& [bytes, text] : cases) {
    const auto picture = DecodePnm(bytes, kSmall);
    ASSERT_FALSE(picture.ok()) << bytes;
    EXPECT_THAT(std::string(picture.status().message()), HasSubstr(text)) << bytes;
  }
}

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
  // Comment, fill bytes, frame header of 4660 x 22136.
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

TEST(LoadPictureTest, WhatIsReadOnceOnlyIsRefused) {
  const absl::Status status = LoadPicture("/dev/null", kSmall).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("pipe or a device"));
}

TEST(WriteFileTest, MakesFoldersReplacesAndLeavesNothingBeside) {
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
