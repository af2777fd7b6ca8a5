// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/y4m_reader.h"

#include <cstdio>
#include <utility>

#include "gtest/gtest.h"
#include "tests/client/failing_file.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using orbserve::testing::TemporaryFolder;

class Y4mReaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Y4mReader>> Open(const std::string& bytes) {
    return Y4mReader::Create(std::fopen(folder_.Write("v.y4m", bytes).c_str(), "rb"),
                             {.max_side_px = 100, .max_pixels = 5000});
  }

  TemporaryFolder folder_;
};

TEST_F(Y4mReaderTest, GivesTheLumaOfEveryFrame) {
  // 3 x 3 in 4:2:0 has two chroma planes of 2 x 2.
  const std::string bytes =
      "YUV4MPEG2 W3 H3 F30000:1001 Ip A1:1 C420jpeg\n"
      "FRAME\nabcdefghiCCCCCCCC"
      "FRAME Xextra\njklmnopqrCCCCCCCC";
  auto reader = Open(bytes);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_NEAR((*reader)->fps(), 29.97, 0.001);
  for (const char* expected : {"abcdefghi", "jklmnopqr"}) {
    auto frame = (*reader)->Next();
    ASSERT_TRUE(frame.ok()) << frame.status();
    ASSERT_TRUE(frame->has_value());
    EXPECT_EQ((*frame)->pixels, expected);
    EXPECT_EQ((*frame)->width_px, 3);
  }
  auto end = (*reader)->Next();
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value());
}

TEST_F(Y4mReaderTest, ChromaOfEverySpaceIsPassedOver) {
  for (const auto& [space, chroma] :
       {std::pair("mono", 0), std::pair("411", 6), std::pair("422", 12), std::pair("444", 18)}) {
    const std::string frame = "FRAME\nabcdefghi" + std::string(chroma, 'C');
    auto reader = Open(std::string("YUV4MPEG2 W3 H3 C") + space + "\n" + frame + frame);
    ASSERT_TRUE(reader.ok()) << reader.status();
    ASSERT_TRUE((*reader)->Next().ok());
    auto second = (*reader)->Next();
    ASSERT_TRUE(second.ok()) << space << ": " << second.status();
    EXPECT_EQ((*second)->pixels, "abcdefghi") << space;
    EXPECT_FALSE((*reader)->Next()->has_value()) << space;
  }
}

TEST_F(Y4mReaderTest, BadHeadersAreRefused) {
  for (const char* header :
       {"", "RIFF", "YUV4MPEG2", "YUV4MPEG2\n", "YUV4MPEG2 W3\n", "YUV4MPEG2 Wx H3\n",
        "YUV4MPEG2 W0 H3\n", "YUV4MPEG2 W-3 H3\n", "YUV4MPEG2 W101 H3\n", "YUV4MPEG2 W90 H90\n",
        "YUV4MPEG2 W3 H3 C420p10\n", "YUV4MPEG2 W3 H99999999999999999999\n"}) {
    EXPECT_FALSE(Open(header).ok()) << header;
  }
}

TEST_F(Y4mReaderTest, VideoThatEndsInsideAFrameIsAnError) {
  for (const char* rest :
       {"FRAME\nabc", "FRAME\nabcdefghiCCC", "FRAM", "GARBAGE\nabcdefghiCCCCCCCC"}) {
    auto reader = Open(std::string("YUV4MPEG2 W3 H3\n") + rest);
    ASSERT_TRUE(reader.ok());
    EXPECT_FALSE((*reader)->Next().ok()) << rest;
  }
}

TEST_F(Y4mReaderTest, RatesThatCannotBeMeantAreNone) {
  for (const char* rate : {"inf:inf", "inf:1", "1:inf", "1:99999999999", "999999999:1", "0:1",
                           "25:0", "-25:-1", "25", "a:b"}) {
    auto reader = Open(std::string("YUV4MPEG2 W3 H3 F") + rate + "\n");
    ASSERT_TRUE(reader.ok()) << rate << ": " << reader.status();
    EXPECT_EQ((*reader)->fps(), 0) << rate;
  }
}

// A disk that fails between two frames does not end the video.
TEST_F(Y4mReaderTest, AReadThatFailsIsNotTheEnd) {
  const std::string header = "YUV4MPEG2 W3 H3 Cmono\n";
  for (const char* rest : {"", "FRA", "FRAME\nabc", "FRAME\nabcdefghi"}) {
    auto reader = Y4mReader::Create(testing::FailingFile(header + rest), {});
    ASSERT_TRUE(reader.ok()) << reader.status();
    auto frame = (*reader)->Next();
    if (frame.ok() && frame->has_value()) frame = (*reader)->Next();
    EXPECT_EQ(frame.status().ToString(),
              "DATA_LOSS: the video cannot be read any further: Input/output error")
        << rest;
  }
}

}  // namespace
}  // namespace orbserve::cli
