// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/contact_sheet.h"

#include <string>

#include "absl/strings/escaping.h"
#include "client/cli/images/jpeg_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Smaller, PixelsAreMeansAndTheShapeStays) {
  Picture picture{.width_px = 4, .height_px = 2, .channels = 1};
  picture.pixels = std::string("\x00\x10\x40\x40\x20\x30\x40\x50", 8);
  const Picture small = Smaller(picture, 2);
  EXPECT_EQ(small.width_px, 2);
  EXPECT_EQ(small.height_px, 1);
  EXPECT_EQ(small.pixels, "\x18\x44");
  EXPECT_EQ(Smaller(picture, 4).pixels, picture.pixels);
  Picture wide{.width_px = 1000, .height_px = 1, .channels = 3};
  wide.pixels.assign(3000, '\x77');
  EXPECT_EQ(Smaller(wide, 10).pixels, std::string(30, '\x77'));
}

TEST(ContactSheet, HasAPictureForEachImageInTheOrderOfTheirNames) {
  Picture picture{.width_px = 720, .height_px = 480, .channels = 1};
  picture.pixels.assign(720 * 480, '\x80');
  v1::FeatureSet features;
  features.add_x(300);
  features.add_y(200);
  features.add_size(31);
  features.add_angle(-1);
  features.add_response(1);
  features.add_octave(0);
  ContactSheet sheet;
  ASSERT_TRUE(sheet.Add("b<1>.png", picture, features, 2.5).ok());
  ASSERT_TRUE(sheet.Add("a.png", picture, features, 1).ok());
  const std::string page = sheet.Page({"b<1>.png", "c.png", "a.png"});
  EXPECT_THAT(page, HasSubstr("3 images, 2 features, 1 failed"));
  EXPECT_THAT(page, HasSubstr("<b>c.png</b><br>failed"));
  EXPECT_THAT(page, HasSubstr("720x480, 1 features, answer\u00a02.5\u00a0ms"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("b<1>")));
  EXPECT_LT(page.find("b&lt;1&gt;.png"), page.find("a.png"));
  // The pictures are in the page itself.
  const size_t start = page.find("base64,") + 7;
  std::string jpeg;
  ASSERT_TRUE(absl::Base64Unescape(page.substr(start, page.find('"', start) - start), &jpeg));
  const absl::StatusOr<Picture> small = DecodeJpeg(jpeg, {});
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->width_px, 360);
  EXPECT_EQ(small->height_px, 240);
}

}  // namespace
}  // namespace orbserve::cli
