// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/table_cells.h"

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

TEST(JpegTextTest, DecodersComeInTheirOrderWithTheReason) {
  v1::DeviceInfo device;
  EXPECT_EQ(JpegDecodersText(device), "not known");
  device.set_jpeg_decoder("device");
  EXPECT_EQ(JpegDecodersText(device), "device, then host, then libjpeg");
  device.set_jpeg_decoder("host");
  device.set_jpeg_reason("backend.jpeg is \"host\"");
  EXPECT_EQ(JpegDecodersText(device),
            "host, then libjpeg; not the device: backend.jpeg is \"host\"");
}

TEST(JpegTextTest, FramesOfEveryDecoderThatHadSome) {
  v1::GetServerInfoResponse info;
  const auto add = [&](const char* decoder, const char* reason, uint64_t frames) {
    v1::JpegFrames& way = *info.add_jpeg_frames();
    way.set_decoder(decoder);
    way.set_reason(reason);
    way.set_frames(frames);
  };
  add("host", "", 0);
  EXPECT_EQ(JpegFramesText(info), "");
  add("libjpeg", "progressive", 3);
  add("device", "", 12);
  EXPECT_EQ(JpegFramesText(info), "3 libjpeg (progressive), 12 device");
}

}  // namespace
}  // namespace orbserve::cli
