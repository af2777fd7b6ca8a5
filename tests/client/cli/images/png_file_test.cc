// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/png_file.h"

#include <png.h>

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;

constexpr PictureLimits kSmallPng{.max_side_px = 100, .max_pixels = 5000};

struct PngKind {
  const char* name;
  int colour_type;
  int bit_depth;
  int channels;  // in the file
};

void AppendTo(png_structp png, png_bytep data, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
}

// Returns a PNG of any kind. `rows`: packed as in the format (16 bits: big-endian).
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

TEST(PngFileTest, EveryKindBecomesEightBitGreyOrRgb) {
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
      if (interlaced && c.kind.bit_depth < 8)
        continue;  // rows with partial bytes are left to libpng
      const auto picture = DecodePng(MakePng(c.kind, 2, 2, c.rows, interlaced), kSmallPng);
      ASSERT_TRUE(picture.ok()) << c.kind.name << ": " << picture.status();
      EXPECT_EQ(picture->channels, c.channels) << c.kind.name;
      EXPECT_EQ(picture->pixels, c.pixels) << c.kind.name << (interlaced ? " interlaced" : "");
    }
  }
}

TEST(PngFileTest, EncodedPictureReadsBackAndRepeats) {
  for (const int channels : {1, 3}) {
    Picture picture{.width_px = 37, .height_px = 21, .channels = channels};
    for (int i = 0; i < 37 * 21 * channels; ++i) {
      picture.pixels.push_back(static_cast<char>(i * i / 7));
    }
    const auto bytes = EncodePng(picture);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(*bytes, *EncodePng(picture));
    const auto read = DecodePng(*bytes, kSmallPng);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->pixels, picture.pixels);
    EXPECT_EQ(read->channels, channels);
  }
}

TEST(PngFileTest, EveryTruncationAndEveryFlippedByteIsRefused) {
  Picture picture{.width_px = 16, .height_px = 16, .channels = 1};
  for (int i = 0; i < 256; ++i) picture.pixels.push_back(static_cast<char>(i * 31));
  const std::string whole = *EncodePng(picture);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodePng(absl::string_view(whole).substr(0, size), kSmallPng).ok()) << size;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x5A);
    EXPECT_FALSE(DecodePng(bytes, kSmallPng).ok()) << "byte " << i;
  }
}

// Returns a PNG of one pixel whose header claims another size, with a correct checksum.
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

TEST(PngFileTest, TruncatedFileIsNotWhole) {
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

TEST(PngFileTest, ClaimedSizeIsCheckedBeforeMemoryIsTaken) {
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(101, 1), kSmallPng).status().message()),
              HasSubstr("too large: 101 x 1"));
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(90, 90), kSmallPng).status().message()),
              HasSubstr("too large"));
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(0x7FFFFFFF, 0x7FFFFFFF), {}).status().message()),
              HasSubstr("too large"));
  // Within the limits, but a few bytes cannot hold so many pixels.
  EXPECT_THAT(std::string(DecodePng(ClaimingPng(8000, 8000), {}).status().message()),
              HasSubstr("cannot hold"));
}

}  // namespace
}  // namespace orbserve::cli
