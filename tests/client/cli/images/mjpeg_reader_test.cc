// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/video/mjpeg_reader.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/images/video/mjpeg_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/failing_file.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kStart = "\xFF\xD8";
const std::string kEnd = "\xFF\xD9";

// A segment with its marker, its length and its content.
std::string Segment(int marker, const std::string& content) {
  const size_t length = content.size() + 2;
  return absl::StrCat("\xFF", std::string(1, static_cast<char>(marker)),
                      std::string(1, static_cast<char>(length >> 8)),
                      std::string(1, static_cast<char>(length & 0xFF)), content);
}

// Entropy-coded data with a stuffed 255, a restart marker, and `number` to tell frames apart.
std::string Scan(int number) {
  return Segment(0xDA, "header") +
         absl::StrCat("data ", number, " \xFF", std::string(1, '\0'), " \xFF\xD3 more");
}

// The structure of a JPEG; its pixels would not decode.
std::string Jpeg(int number) {
  return kStart + Segment(0xE0, "JFIF") + Segment(0xC0, "size") + Scan(number) + kEnd;
}

// One with a whole JPEG inside a segment.
std::string JpegWithThumbnail(int number) {
  return kStart + Segment(0xE1, "Exif" + Jpeg(1000 + number)) + Segment(0xC0, "size") +
         Scan(number) + kEnd;
}

class MjpegReaderTest : public ::testing::Test {
 protected:
  // Everything that a reader gives: the frames, and "! message" for errors.
  std::vector<std::string> ReadAll(const std::string& bytes) {
    MjpegReader reader(std::fopen(folder_.Write("v.mjpeg", bytes).c_str(), "rb"));
    std::vector<std::string> items;
    for (int i = 0; i < 1000; ++i) {
      const auto frame = reader.Next();
      if (!frame.ok()) {
        EXPECT_EQ(frame.status().code(), absl::StatusCode::kInvalidArgument);
        items.push_back("! " + std::string(frame.status().message()));
      } else if (!frame->has_value()) {
        return items;
      } else {
        items.push_back(**frame);
      }
    }
    ADD_FAILURE() << "the reader does not end";
    return items;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(MjpegReaderTest, GivesEveryFrameWithItsBytes) {
  std::string video;
  std::vector<std::string> frames;
  for (int i = 0; i < 24; ++i) {
    frames.push_back(i % 2 == 0 ? Jpeg(i) : JpegWithThumbnail(i));
    video += frames.back();
  }
  EXPECT_EQ(ReadAll(video), frames);
}

TEST_F(MjpegReaderTest, AThumbnailInsideASegmentIsNoFrame) {
  const std::string frame = JpegWithThumbnail(1);
  EXPECT_THAT(ReadAll(frame), ElementsAre(frame));
}

TEST_F(MjpegReaderTest, FillBytesTablesBetweenScansAndSeveralScansBelongToTheFrame) {
  const std::string fill = "\xFF\xFF\xFF";
  const std::string frame = kStart + fill + Segment(0xE0, "JFIF") + Segment(0xC2, "size") +
                            Scan(1) + fill + Segment(0xC4, "tables") + Scan(2) +
                            Segment(0xDC, "lines") + Scan(3) + fill + kEnd;
  EXPECT_THAT(ReadAll(frame + Jpeg(2)), ElementsAre(frame, Jpeg(2)));
}

TEST_F(MjpegReaderTest, TextAndPaddingBetweenFramesAreSkipped) {
  const std::string boundary =
      "\r\n--frame\r\nContent-Type: image/jpeg\r\nContent-Length: 99\r\n\r\n";
  const std::string padding = std::string(5, '\0') + std::string(3, '\xFF');
  EXPECT_THAT(
      ReadAll(boundary + Jpeg(1) + boundary + Jpeg(2) + padding + Jpeg(3) + "\r\n--frame--"),
      ElementsAre(Jpeg(1), Jpeg(2), Jpeg(3)));
}

TEST_F(MjpegReaderTest, OtherBytesBetweenFramesAreReported) {
  const std::string strange = "\x80\x81\x82\xFF\xD8\x01";
  EXPECT_THAT(ReadAll(Jpeg(1) + strange + Jpeg(2) + "\xC0"),
              ElementsAre(Jpeg(1), "! 6 bytes in front of the next JPEG belong to none", Jpeg(2),
                          "! 1 bytes at the end of the video belong to none"));
}

TEST_F(MjpegReaderTest, AFrameThatIsCutOffInItsDataIsNamedAndTheNextOnesFollow) {
  const std::string whole = Jpeg(1);
  const std::string cut = whole.substr(0, whole.size() - 10);
  for (const std::string between : {"", "\r\n--frame\r\n\r\n"}) {
    const std::vector<std::string> items = ReadAll(Jpeg(0) + cut + between + Jpeg(2) + Jpeg(3));
    ASSERT_THAT(items, SizeIs(4));
    EXPECT_EQ(items[1], absl::StrCat("! the JPEG is cut off: another one begins after ",
                                     cut.size() + between.size(), " bytes"));
    EXPECT_EQ(items[2], Jpeg(2));
    EXPECT_EQ(items[3], Jpeg(3));
  }
}

// The length of the segment swallows the beginning of the next frame, or all of it.
TEST_F(MjpegReaderTest, AFrameThatIsCutOffInsideASegmentDoesNotTakeTheNextOneWithIt) {
  const std::string cut = (kStart + Segment(0xE1, std::string(200, 'x'))).substr(0, 100);
  for (const int following : {1, 2, 5, 9}) {
    std::string video = cut;
    for (int i = 0; i < following; ++i) video += Jpeg(i);
    const std::vector<std::string> items = ReadAll(video);
    ASSERT_THAT(items, SizeIs(following + 1)) << following;
    EXPECT_THAT(items[0], HasSubstr("! the JPEG is "));
    for (int i = 0; i < following; ++i) EXPECT_EQ(items[i + 1], Jpeg(i));
  }
}

TEST_F(MjpegReaderTest, AVideoThatEndsInsideAFrameNamesIt) {
  const std::string whole = JpegWithThumbnail(1);
  // Everywhere after the thumbnail's segment: a cut inside it leaves the thumbnail.
  const size_t segment_end = whole.rfind("size") + 4;
  for (size_t size = segment_end; size < whole.size(); ++size) {
    EXPECT_THAT(ReadAll(Jpeg(0) + whole.substr(0, size)),
                ElementsAre(Jpeg(0), absl::StrCat("! the JPEG is cut off: the video ends after ",
                                                  size, " bytes of it")));
  }
}

TEST_F(MjpegReaderTest, DamageIsNamedWithItsPlaceAndTheNextFrameFollows) {
  for (const auto& [damaged, message] : std::vector<std::pair<std::string, std::string>>{
           {kStart + Segment(0xE0, "JFIF") + "\x01\x02 nothing",
            "no segment begins at its byte 10"},
           {kStart + "\xFF\x02 nothing", "no segment begins at its byte"},
           {kStart + std::string("\xFF\xE0\x00\x01 nothing", 12), "segment E0 has a length of 1"},
           {kStart + Segment(0xE0, "JFIF") + kEnd, "it ends without pixels"},
           {kStart + Scan(1) + "\xFF\xC9", "the JPEG is "}}) {
    const std::vector<std::string> items = ReadAll(damaged + Jpeg(2));
    ASSERT_THAT(items, SizeIs(2)) << message;
    EXPECT_THAT(items[0], HasSubstr(message));
    EXPECT_EQ(items[1], Jpeg(2));
  }
}

TEST_F(MjpegReaderTest, EveryCutLosesOneFrameAtMost) {
  const std::string first = Jpeg(1);
  int unseen = 0;
  for (size_t size = 3; size < first.size(); ++size) {
    const std::vector<std::string> items = ReadAll(first.substr(0, size) + Jpeg(2) + Jpeg(3));
    ASSERT_GE(items.size(), 2u) << size;
    EXPECT_EQ(items.back(), Jpeg(3)) << size;
    if (items.size() == 2) {
      // The start of the next frame is exactly what the first segment lacks. The picture is that
      // of the next frame.
      ++unseen;
      EXPECT_TRUE(absl::EndsWith(items[0], Jpeg(2).substr(2))) << size;
      continue;
    }
    EXPECT_EQ(items[0].substr(0, 2), "! ") << size;
    EXPECT_EQ(items[items.size() - 2], Jpeg(2)) << size;
  }
  EXPECT_LE(unseen, 1);
}

TEST_F(MjpegReaderTest, NothingHasNoFrames) {
  EXPECT_THAT(ReadAll(""), SizeIs(0));
  EXPECT_THAT(ReadAll("--frame\r\n\r\n"), SizeIs(0));
}

TEST_F(MjpegReaderTest, VideosAreToldFromPhotographs) {
  const auto many = [this](const std::string& bytes) {
    return HoldsManyJpegs(folder_.Write("file", bytes));
  };
  EXPECT_TRUE(many(Jpeg(1) + Jpeg(2)));
  EXPECT_TRUE(many(Jpeg(1) + "\x80" + Jpeg(2)));
  EXPECT_TRUE(many(Jpeg(1) + Jpeg(2).substr(0, 20)));
  EXPECT_FALSE(many(Jpeg(1)));
  EXPECT_FALSE(many(JpegWithThumbnail(1)));
  EXPECT_FALSE(many(Jpeg(1) + "\x80 data of a camera"));
  EXPECT_FALSE(many(Jpeg(1).substr(0, 20)));
  // A photograph with previews says so itself.
  const std::string previews = kStart + Segment(0xE1, "Exif") +
                               Segment(0xE2, std::string("MPF\0index", 9)) + Segment(0xC0, "size") +
                               Scan(1) + kEnd;
  EXPECT_FALSE(many(previews + Jpeg(2)));
  EXPECT_TRUE(HasPreviews(previews));
  EXPECT_FALSE(HasPreviews(JpegWithThumbnail(1)));
  EXPECT_FALSE(HasPreviews(kStart));
}

// A disk that fails between two frames, or inside one, does not end the video.
// Bytes looked at, of a file in which every few bytes a frame seems to begin.
int64_t LookedAt(const std::string& path) {
  MjpegReader reader(std::fopen(path.c_str(), "rb"));
  for (;;) {
    const auto next = reader.Next();
    if (next.ok() && !next->has_value()) return reader.looked_at();
  }
}

TEST_F(MjpegReaderTest, FalseStartsCostNoMoreThanTheirBytes) {
  // Each has a segment of 64 KiB that swallows ten thousand of the others.
  std::string segments;
  for (int i = 0; i < 300'000; ++i) segments += "\xFF\xD8\xFF\xE0\xFF\xFF";
  // In each comment begins a frame whose frame header leads to the same second frame header.
  const std::string unit =
      Segment(0xFE, "\xFF\xD8" + Segment(0xC0, "") + "\xFF\xFE" + std::string("\0\x02", 2));
  std::string chain = kStart + Segment(0xC0, "size");
  for (int i = 0; i < 100'000; ++i) chain += unit;
  chain += Segment(0xC0, "size");
  for (const std::string& bytes : {segments, chain, chain + segments + chain}) {
    EXPECT_LE(LookedAt(folder_.Write("v.mjpeg", bytes)),
              static_cast<int64_t>(4 * bytes.size() + (1 << 18)));
  }
  // Frames behind all of that are found.
  EXPECT_EQ(ReadAll(segments.substr(0, 600) + std::string(70'000, ' ') + Jpeg(5)).back(), Jpeg(5));
}

TEST(MjpegReaderErrorTest, AReadThatFailsIsNotTheEnd) {
  for (const std::string& rest : {std::string(), Jpeg(2).substr(0, 9)}) {
    MjpegReader reader(testing::FailingFile(Jpeg(1) + rest));
    EXPECT_EQ(**reader.Next(), Jpeg(1));
    if (!rest.empty()) {
      EXPECT_THAT(std::string(reader.Next().status().message()), HasSubstr("cut off"));
    }
    EXPECT_EQ(reader.Next().status().ToString(),
              "DATA_LOSS: the video cannot be read any further: Input/output error");
    const auto end = reader.Next();
    EXPECT_TRUE(end.ok() && !end->has_value()) << end.status();
  }
}

}  // namespace
}  // namespace orbserve::cli
