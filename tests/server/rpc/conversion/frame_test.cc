// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/frame.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/pipeline/geometry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/serving/frame/frame_intake.h"
#include "tests/server/rpc/reason_of_failure.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

TEST(FrameConversionTest, MasksAreCheckedInWideArithmetic) {
  v1::Mask mask;
  mask.set_width_px(3);
  mask.set_height_px(2);
  mask.set_stride_bytes(4);
  mask.set_pixels("abcdefg");  // the last row ends after its pixels
  EXPECT_TRUE(CheckMask(mask, 3, 2).ok());
  uint8_t pixels[6];
  CopyMask(MaskFromProto(mask), {pixels, 3, 2, 3});
  EXPECT_EQ(std::string(pixels, pixels + 6), "abcefg");
  mask.set_pixels("abcdef");
  EXPECT_EQ(ReasonOfFailure(CheckMask(mask, 3, 2)), ErrorReason::kBadImage);
  mask.set_pixels("abcdefghi");
  EXPECT_EQ(ReasonOfFailure(CheckMask(mask, 3, 2)), ErrorReason::kBadImage);
  mask.set_stride_bytes(2);
  EXPECT_EQ(ReasonOfFailure(CheckMask(mask, 3, 2)), ErrorReason::kBadImage);
  EXPECT_EQ(ReasonOfFailure(CheckMask(mask, 2, 2)), ErrorReason::kBadImage);
}

TEST(FrameConversionTest, GivenKeypointsMayLeaveOutSizeAndResponse) {
  v1::GivenKeypoints proto;
  proto.add_x(1);
  proto.add_y(2);
  proto.add_angle(-1);
  proto.add_octave(2);
  PipelineOptions pipeline;
  pipeline.pyramid.scale_factor = 2.0f;
  const auto given = GivenKeypointsFromProto(proto, pipeline);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ((*given)->size[0], 31.0f * 4);
  pipeline.describe.descriptor = Descriptor::kBFrost256;
  EXPECT_EQ((*GivenKeypointsFromProto(proto, pipeline))->size[0], 89.0f * 4);
  EXPECT_EQ((*given)->response[0], 0.0f);
  EXPECT_EQ((*given)->angle_deg[0], -1.0f);
}

// Both products are rounded on their own: the scale of a level, then the size.
TEST(FrameConversionTest, GivenKeypointsHaveTheSizeOfDetectedOnesByDefault) {
  PipelineOptions pipeline;
  v1::GivenKeypoints proto;
  for (int level = 0; level < pipeline.pyramid.levels; ++level) {
    proto.add_x(1);
    proto.add_y(2);
    proto.add_angle(0);
    proto.add_octave(level);
  }
  for (const Descriptor descriptor :
       {Descriptor::kNone, Descriptor::kRBrief256, Descriptor::kRBrief32, Descriptor::kBFrost256}) {
    pipeline.describe.descriptor = descriptor;
    for (const float scale_factor : {1.01f, 1.1f, 1.2f, 1.37f, 2.0f}) {
      pipeline.pyramid.scale_factor = scale_factor;
      PlanSpec spec;
      spec.pipeline = pipeline;
      spec.width_px = 640;
      spec.height_px = 480;
      const PyramidGeometry geometry = PyramidGeometry::For(spec);
      const auto given = GivenKeypointsFromProto(proto, pipeline);
      ASSERT_TRUE(given.ok()) << given.status();
      for (size_t level = 0; level < geometry.levels.size(); ++level) {
        EXPECT_EQ((*given)->size[level], geometry.levels[level].patch_size_px)
            << "level " << level << " of " << scale_factor;
      }
    }
  }
}

TEST(FrameConversionTest, GivenAnglesAreWithinTwoTurns) {
  v1::GivenKeypoints proto;
  proto.add_x(1);
  proto.add_y(2);
  proto.add_angle(0);
  proto.add_octave(0);
  for (const float angle_deg : {-720.0f, -2.0f, -1.0f, 0.0f, 360.0f, 720.0f}) {
    proto.set_angle(0, angle_deg);
    const auto given = GivenKeypointsFromProto(proto, PipelineOptions());
    ASSERT_TRUE(given.ok()) << given.status();
    EXPECT_EQ((*given)->angle_deg[0], angle_deg);
  }
  for (const float angle_deg : {-720.5f, 720.5f, 1e9f}) {
    proto.set_angle(0, angle_deg);
    const absl::Status status = GivenKeypointsFromProto(proto, PipelineOptions()).status();
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions);
    EXPECT_THAT(std::string(status.message()), HasSubstr("[-720, 720]"));
  }
}

TEST(FrameConversionTest, AFormatIsGivenOrThatOfAJpeg) {
  v1::Frame frame;
  frame.set_pixels("\xff\xd8\xff\xe0");
  ASSERT_TRUE(ImageFromProto(frame).ok());
  EXPECT_EQ(ImageFromProto(frame)->format, PixelFormat::kJpeg);
  frame.set_pixels("raw");
  EXPECT_EQ(ReasonOfFailure(ImageFromProto(frame).status()), ErrorReason::kBadRequest);
  for (const auto& [wire, ours] :
       {std::pair(v1::PIXEL_FORMAT_JPEG, PixelFormat::kJpeg),
        std::pair(v1::PIXEL_FORMAT_GRAY8, PixelFormat::kGray8),
        std::pair(v1::PIXEL_FORMAT_RGB8, PixelFormat::kRgb8),
        std::pair(v1::PIXEL_FORMAT_BGR8, PixelFormat::kBgr8),
        std::pair(v1::PIXEL_FORMAT_BGRA8, PixelFormat::kBgra8),
        std::pair(v1::PIXEL_FORMAT_NV12, PixelFormat::kNv12),
        std::pair(v1::PIXEL_FORMAT_I420, PixelFormat::kI420),
        std::pair(v1::PIXEL_FORMAT_YUYV, PixelFormat::kYuyv),
        std::pair(v1::PIXEL_FORMAT_GRAY16, PixelFormat::kGray16),
        std::pair(v1::PIXEL_FORMAT_RGBA8, PixelFormat::kRgba8),
        std::pair(v1::PIXEL_FORMAT_UYVY, PixelFormat::kUyvy),
        std::pair(v1::PIXEL_FORMAT_BAYER_RGGB8, PixelFormat::kBayerRggb8),
        std::pair(v1::PIXEL_FORMAT_BAYER_BGGR8, PixelFormat::kBayerBggr8),
        std::pair(v1::PIXEL_FORMAT_BAYER_GBRG8, PixelFormat::kBayerGbrg8),
        std::pair(v1::PIXEL_FORMAT_BAYER_GRBG8, PixelFormat::kBayerGrbg8)}) {
    frame.set_format(wire);
    ASSERT_TRUE(ImageFromProto(frame).ok());
    EXPECT_EQ(ImageFromProto(frame)->format, ours);
  }
  frame.set_format(static_cast<v1::PixelFormat>(16));
  EXPECT_EQ(ReasonOfFailure(ImageFromProto(frame).status()), ErrorReason::kBadRequest);
  EXPECT_THAT(std::string(ImageFromProto(frame).status().message()), HasSubstr("1 to 15; got 16"));
}

TEST(FrameConversionTest, AWindowIsThatOf16BitPixels) {
  v1::Frame frame;
  frame.set_pixels("raw");
  frame.set_format(v1::PIXEL_FORMAT_GRAY16);
  const auto read = [&](uint32_t low, uint32_t high) {
    frame.mutable_window()->set_low(low);
    frame.mutable_window()->set_high(high);
    return ImageFromProto(frame);
  };
  ASSERT_TRUE(ImageFromProto(frame).ok());
  EXPECT_EQ(ImageFromProto(frame)->window.low, 0);
  EXPECT_EQ(ImageFromProto(frame)->window.high, 65535);
  ASSERT_TRUE(read(0, 0).ok());
  EXPECT_EQ(read(0, 0)->window.high, 65535);
  ASSERT_TRUE(read(65534, 65535).ok());
  EXPECT_EQ(read(65534, 65535)->window.low, 65534);
  EXPECT_EQ(read(0, 1)->window.high, 1);
  for (const auto& [low, high] : {std::pair(5u, 5u), std::pair(6u, 5u), std::pair(5u, 0u),
                                  std::pair(0u, 65536u), std::pair(~0u, ~0u)}) {
    const absl::Status status = read(low, high).status();
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadRequest);
    EXPECT_THAT(
        std::string(status.message()),
        HasSubstr(absl::StrCat("low < high <= 65535, or 0 and 0 for the whole range; got low ", low,
                               " and high ", high)));
  }
  read(1, 2).IgnoreError();
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  EXPECT_THAT(std::string(ImageFromProto(frame).status().message()),
              HasSubstr("frame.window is for the format GRAY16; got format 2"));
}

TEST(FrameConversionTest, PixelsMustBeThere) {
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  EXPECT_EQ(ReasonOfFailure(ImageFromProto(frame).status()), ErrorReason::kBadRequest);
  frame.set_pixels("");
  EXPECT_EQ(ReasonOfFailure(ImageFromProto(frame).status()), ErrorReason::kBadRequest);
  frame.mutable_shared_memory();
  EXPECT_EQ(ReasonOfFailure(ImageFromProto(frame).status()), ErrorReason::kUnsupported);
}

}  // namespace
}  // namespace orbserve
