// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rare, damaged and hostile JPEG files that are made here, each with what must become of it.

#include "tests/decode/made_jpegs.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "decode/jpeg_ways.h"
#include "features/algo/grey.h"
#include "gtest/gtest.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_oracle.h"

namespace orbserve {
namespace {

TEST(MadeJpegsTest, EachEndsAsItMustAndWithAReason) {
  for (const MadeJpeg& file : MakeJpegs()) {
    SCOPED_TRACE(file.name);
    const auto image = Decode(Jpeg(file.bytes));
    if (!file.refusal.has_value()) {
      ASSERT_TRUE(image.ok()) << image.status();
      EXPECT_EQ(image->width_px, file.width_px);
      EXPECT_EQ(image->height_px, file.height_px);
      continue;
    }
    ASSERT_FALSE(image.ok());
    EXPECT_EQ(InfoOf(ReasonOf(image.status())).name, InfoOf(*file.refusal).name) << image.status();
    EXPECT_GT(image.status().message().size(), 20u) << "a reason in words";
  }
}

TEST(MadeJpegsTest, PixelsAreTheLibrarysOwn) {
  for (const MadeJpeg& file : MakeJpegs()) {
    if (file.refusal.has_value()) continue;
    SCOPED_TRACE(file.name);
    const auto image = Decode(Jpeg(file.bytes));
    ASSERT_TRUE(image.ok()) << image.status();
    GreyImage expected = DecodeByLibrary(file.bytes, file.rgb_coded);
    if (file.rgb_coded) {
      const std::vector<uint8_t> rgb = expected.pixels;
      expected.pixels.clear();
      for (size_t i = 0; i < rgb.size(); i += 3) {
        expected.pixels.push_back(GreyFromRgb(rgb[i], rgb[i + 1], rgb[i + 2]));
      }
    }
    EXPECT_EQ(image->pixels, expected.pixels);
  }
}

// Which decoder a file went to is counted, with the reason.
TEST(MadeJpegsTest, WaysAreCounted) {
  const std::map<std::string, JpegWay> ways = {{"plain", JpegWay::kHost},
                                               {"progressive", JpegWay::kLibjpegProgressive},
                                               {"three_scans", JpegWay::kLibjpegScans},
                                               {"rgb_adobe", JpegWay::kLibjpegComponents},
                                               {"rgb_by_ids", JpegWay::kLibjpegComponents},
                                               {"luma_subsampled", JpegWay::kLibjpegComponents},
                                               {"ids_of_rgb_in_jfif", JpegWay::kHost},
                                               {"quantiser_over_32767", JpegWay::kLibjpegValues}};
  size_t found = 0;
  for (const MadeJpeg& file : MakeJpegs()) {
    const auto way = ways.find(file.name);
    if (way == ways.end()) continue;
    SCOPED_TRACE(file.name);
    ++found;
    std::array<int64_t, kJpegWayCount> expected = JpegWayCounts();
    ++expected[static_cast<size_t>(way->second)];
    ASSERT_TRUE(Decode(Jpeg(file.bytes)).ok());
    EXPECT_EQ(JpegWayCounts(), expected);
  }
  EXPECT_EQ(found, ways.size());
}

// The header says which decoder a file goes to, but for values that nobody has looked at.
TEST(MadeJpegsTest, HeaderKnowsTheDecoder) {
  const auto by_host = [] { return JpegWayCounts()[static_cast<size_t>(JpegWay::kHost)]; };
  for (const MadeJpeg& file : MakeJpegs()) {
    if (file.refusal.has_value() || file.name == "quantiser_over_32767") continue;
    SCOPED_TRACE(file.name);
    const auto header = ReadImageHeader(Jpeg(file.bytes), {});
    ASSERT_TRUE(header.ok()) << header.status();
    const int64_t before = by_host();
    ASSERT_TRUE(Decode(Jpeg(file.bytes)).ok());
    EXPECT_EQ(header->for_library, by_host() == before);
    EXPECT_EQ(header->is_rgb, file.rgb_coded);
  }
}

// Orientation in EXIF, above all: coordinates are those of the stored pixels.
TEST(MadeJpegsTest, WhatIsNotPixelsChangesNone) {
  std::map<std::string, std::vector<uint8_t>> pixels;
  int compared = 0;
  for (const MadeJpeg& file : MakeJpegs()) {
    if (file.refusal.has_value()) continue;
    const auto image = Decode(Jpeg(file.bytes));
    ASSERT_TRUE(image.ok()) << file.name << " " << image.status();
    if (!file.same_as.empty()) {
      EXPECT_EQ(image->pixels, pixels.at(file.same_as)) << file.name;
      ++compared;
    }
    pixels[file.name] = image->pixels;
  }
  EXPECT_GE(compared, 5);
}

TEST(MadeJpegsTest, NothingOfAnEarlierImageRemains) {
  for (const MadeJpeg& file : MakeJpegs()) {
    if (file.refusal.has_value()) continue;
    SCOPED_TRACE(file.name);
    const auto header = ReadImageHeader(Jpeg(file.bytes), {});
    ASSERT_TRUE(header.ok()) << header.status();
    TestSlot dark(header->width_px, header->height_px, 0x00);
    TestSlot bright(header->width_px, header->height_px, 0xFF);
    ASSERT_TRUE(DecodeToGrey(Jpeg(file.bytes), *header, {}, dark.view()).ok());
    ASSERT_TRUE(DecodeToGrey(Jpeg(file.bytes), *header, {}, bright.view()).ok());
    EXPECT_EQ(dark.Pixels(), bright.Pixels());
    EXPECT_TRUE(dark.PaddingIs(0x00));
    EXPECT_TRUE(bright.PaddingIs(0xFF));
  }
}

}  // namespace
}  // namespace orbserve
