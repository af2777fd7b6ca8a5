// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/pnm_file.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;

constexpr PictureLimits kSmallPnm{.max_side_px = 100, .max_pixels = 5000};

TEST(PnmFileTest, BinaryAndPlainFilesAreRead) {
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
    const auto picture = DecodePnm(c.bytes, kSmallPnm);
    ASSERT_TRUE(picture.ok()) << c.bytes << ": " << picture.status();
    EXPECT_EQ(picture->channels, c.channels) << c.bytes;
    EXPECT_EQ(picture->pixels, c.pixels) << c.bytes;
  }
}

TEST(PnmFileTest, DamagedOrUnsupportedFileIsRefusedWithItsReason) {
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
    const auto picture = DecodePnm(bytes, kSmallPnm);
    ASSERT_FALSE(picture.ok()) << bytes;
    EXPECT_THAT(std::string(picture.status().message()), HasSubstr(text)) << bytes;
  }
}

}  // namespace
}  // namespace orbserve::cli
