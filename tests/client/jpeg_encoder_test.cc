// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/src/jpeg_encoder.h"

#include <turbojpeg.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace orbserve::client {
namespace {

constexpr int kWidthPx = 46;
constexpr int kHeightPx = 33;
constexpr absl::Duration kWanted = absl::Milliseconds(100);

// Answers frames one by one, each captured after the answer before.
class Answers {
 public:
  int Take(absl::Duration age, absl::Duration server = absl::Milliseconds(1)) {
    now_ += absl::Seconds(100);
    return TakeCaptured(now_ - age, server);
  }
  int TakeCaptured(absl::Time captured, absl::Duration server = absl::Milliseconds(1)) {
    quality_.Measure({.captured = captured,
                      .arrived = now_,
                      .link = now_ - captured - server,
                      .server = server});
    return quality_.value();
  }
  absl::Time now() const { return now_; }
  int quality() const { return quality_.value(); }

 private:
  JpegQuality quality_{kWanted};
  absl::Time now_ = absl::UnixEpoch();
};

// These are the numbers of python/tests/test_jpeg.py, since both clients have one rule.
TEST(JpegQualityTest, TheQualityFollowsTheAge) {
  Answers answers;
  EXPECT_EQ(answers.quality(), 90);
  EXPECT_EQ(answers.Take(1.5 * kWanted), 80);
  // A frame from before the change tells nothing, nor does an age near the wanted one, nor a server
  // that is slow.
  EXPECT_EQ(answers.TakeCaptured(answers.now() - 5 * kWanted), 80);
  EXPECT_EQ(answers.Take(0.9 * kWanted), 80);
  EXPECT_EQ(answers.Take(3 * kWanted, 2 * kWanted), 80);
  EXPECT_EQ(answers.Take(0.1 * kWanted), 82);
  for (int i = 0; i < 100; ++i) answers.Take(0.1 * kWanted);
  EXPECT_EQ(answers.quality(), 95);
  for (int i = 0; i < 100; ++i) answers.Take(10 * kWanted);
  EXPECT_EQ(answers.quality(), 20);
}

// Channels of a smooth picture: what a JPEG file keeps.
std::array<uint8_t, 3> ColourAt(int x, int y) {
  return {static_cast<uint8_t>(40 + 3 * x), static_cast<uint8_t>(60 + 4 * y),
          static_cast<uint8_t>(220 - 2 * x - y)};
}

struct Case {
  v1::PixelFormat format;
  int pixel_bytes;
  std::array<int, 3> rgb;  // places of the channels in a pixel; equal ones: that byte is grey
};

v1::Frame FrameOf(const Case& made, int padding_bytes) {
  v1::Frame frame;
  frame.set_sequence(7);
  frame.set_format(made.format);
  frame.set_width_px(kWidthPx);
  frame.set_height_px(kHeightPx);
  const int stride_bytes = kWidthPx * made.pixel_bytes + padding_bytes;
  if (padding_bytes > 0) frame.set_stride_bytes(static_cast<uint32_t>(stride_bytes));
  std::string pixels(static_cast<size_t>(stride_bytes) * kHeightPx, '\x7f');
  for (int y = 0; y < kHeightPx; ++y) {
    for (int x = 0; x < kWidthPx; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        const int place = y * stride_bytes + x * made.pixel_bytes + made.rgb[channel];
        pixels[static_cast<size_t>(place)] = static_cast<char>(ColourAt(x, y)[channel]);
      }
    }
  }
  frame.set_pixels(pixels);
  return frame;
}

TEST(EncodeJpegTest, EveryFormatHasItsGreyPixels) {
  const std::array<int, 3> grey = {0, 0, 0};
  for (const Case& made :
       {Case{v1::PIXEL_FORMAT_GRAY8, 1, grey}, Case{v1::PIXEL_FORMAT_NV12, 1, grey},
        Case{v1::PIXEL_FORMAT_I420, 1, grey}, Case{v1::PIXEL_FORMAT_YUYV, 2, grey},
        Case{v1::PIXEL_FORMAT_RGB8, 3, {0, 1, 2}}, Case{v1::PIXEL_FORMAT_BGR8, 3, {2, 1, 0}},
        Case{v1::PIXEL_FORMAT_BGRA8, 4, {2, 1, 0}}, Case{v1::PIXEL_FORMAT_RGBA8, 4, {0, 1, 2}},
        Case{v1::PIXEL_FORMAT_UYVY, 2, {1, 1, 1}}}) {
    SCOPED_TRACE(v1::PixelFormat_Name(made.format));
    for (const int padding_bytes : {0, 10}) {
      const std::string file = EncodeJpeg(FrameOf(made, padding_bytes), 95);
      const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
      const auto* const bytes = reinterpret_cast<const unsigned char*>(file.data());
      int width_px = 0;
      int height_px = 0;
      int subsampling = 0;
      int colours = 0;
      ASSERT_EQ(tjDecompressHeader3(decoder.get(), bytes, file.size(), &width_px, &height_px,
                                    &subsampling, &colours),
                0);
      EXPECT_EQ(width_px, kWidthPx);
      EXPECT_EQ(height_px, kHeightPx);
      EXPECT_EQ(colours, TJCS_GRAY);
      std::vector<unsigned char> decoded(kWidthPx * kHeightPx);
      ASSERT_EQ(tjDecompress2(decoder.get(), bytes, file.size(), decoded.data(), kWidthPx, 0,
                              kHeightPx, TJPF_GRAY, 0),
                0);
      for (int y = 0; y < kHeightPx; ++y) {
        for (int x = 0; x < kWidthPx; ++x) {
          const auto [red, green, blue] = ColourAt(x, y);
          // One byte holds the last channel that was written to it.
          const double expected =
              made.pixel_bytes < 3 ? blue : 0.299 * red + 0.587 * green + 0.114 * blue;
          ASSERT_NEAR(decoded[static_cast<size_t>(y * kWidthPx + x)], expected, 4)
              << x << ", " << y;
        }
      }
    }
  }
}

TEST(EncodeJpegTest, AWorseQualityMakesASmallerFile) {
  const v1::Frame frame = FrameOf({v1::PIXEL_FORMAT_RGB8, 3, {0, 1, 2}}, 0);
  EXPECT_LT(EncodeJpeg(frame, 20).size(), EncodeJpeg(frame, 95).size());
}

TEST(EncodeJpegTest, WhatIsNoRawImageStaysAsItIs) {
  const v1::Frame good = FrameOf({v1::PIXEL_FORMAT_GRAY8, 1, {0, 0, 0}}, 0);
  ASSERT_NE(EncodeJpeg(good, 90), "");
  v1::Frame frame = good;
  frame.set_format(v1::PIXEL_FORMAT_JPEG);
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
  frame.clear_format();
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
  for (const v1::PixelFormat format : {v1::PIXEL_FORMAT_GRAY16, v1::PIXEL_FORMAT_BAYER_RGGB8}) {
    frame.set_format(format);
    frame.set_pixels(good.pixels() + good.pixels());
    EXPECT_EQ(EncodeJpeg(frame, 90), "");
  }
  frame = good;
  frame.mutable_pixels()->pop_back();
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
  frame = good;
  frame.set_stride_bytes(kWidthPx - 1);
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
  frame = good;
  frame.set_stride_bytes(~0u);
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
  frame = good;
  frame.set_width_px(0);
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
  frame = good;
  frame.set_height_px(~0u);
  EXPECT_EQ(EncodeJpeg(frame, 90), "");
}

TEST(EncodeJpegTest, AFileTakesThePlaceOfThePixelsOnly) {
  v1::Frame frame = FrameOf({v1::PIXEL_FORMAT_GRAY8, 1, {0, 0, 0}}, 10);
  ReplacePixels("file", &frame);
  EXPECT_EQ(frame.format(), v1::PIXEL_FORMAT_JPEG);
  EXPECT_EQ(frame.pixels(), "file");
  EXPECT_EQ(frame.stride_bytes(), 0u);
  EXPECT_EQ(frame.width_px(), static_cast<uint32_t>(kWidthPx));
  EXPECT_EQ(frame.sequence(), 7u);
}

}  // namespace
}  // namespace orbserve::client
