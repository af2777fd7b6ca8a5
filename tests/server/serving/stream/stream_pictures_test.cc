// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/stream/stream_pictures.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/serving/fake_clock.h"

namespace orbserve {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// An image whose rows have more bytes than pixels.
struct Image {
  Image(int width_px, int height_px, uint8_t level)
      : pitch(width_px + 5),
        bytes(static_cast<size_t>(pitch) * static_cast<size_t>(height_px), level),
        view{bytes.data(), width_px, height_px, pitch} {}

  int pitch;
  std::vector<uint8_t> bytes;
  ImageView view;
};

std::shared_ptr<StreamPicture> PictureOf(uint64_t sequence) {
  auto picture = std::make_shared<StreamPicture>();
  picture->sequence = sequence;
  return picture;
}

TEST(DrawFrameTest, SmallFramesAreCopied) {
  Image image(3, 2, 0);
  for (int i = 0; i < 3; ++i) {
    image.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(10 + i);
    image.bytes[static_cast<size_t>(image.pitch + i)] = static_cast<uint8_t>(20 + i);
  }
  StreamPicture picture;
  DrawFrame(image.view, &picture);
  EXPECT_EQ(picture.frame_width_px, 3);
  EXPECT_EQ(picture.frame_height_px, 2);
  EXPECT_EQ(picture.width_px, 3);
  EXPECT_EQ(picture.height_px, 2);
  EXPECT_THAT(picture.pixels, ElementsAre(10, 11, 12, 20, 21, 22));
}

TEST(DrawFrameTest, LargeFramesAreAveraged) {
  Image image(1280, 960, 100);
  image.bytes[0] = 0;                                       // of the first square: 75
  image.bytes[static_cast<size_t>(image.pitch) + 3] = 255;  // of the second one: 138.75
  StreamPicture picture;
  DrawFrame(image.view, &picture);
  EXPECT_EQ(picture.width_px, 640);
  EXPECT_EQ(picture.height_px, 480);
  ASSERT_EQ(picture.pixels.size(), 640u * 480u);
  EXPECT_EQ(picture.pixels[0], 75);
  EXPECT_EQ(picture.pixels[1], 139);
  EXPECT_EQ(picture.pixels[2], 100);
  EXPECT_EQ(picture.pixels.back(), 100);
}

TEST(DrawFrameTest, OddAndFlatFramesStayInTheirBounds) {
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(641, 7), std::pair(8192, 1),
                                      std::pair(1, 8192), std::pair(1919, 1081)}) {
    const Image image(width, height, 77);
    StreamPicture picture;
    DrawFrame(image.view, &picture);
    EXPECT_GE(picture.width_px, 1);
    EXPECT_GE(picture.height_px, 1);
    EXPECT_LE(picture.width_px, kMaxPictureSidePx);
    EXPECT_LE(picture.height_px, kMaxPictureSidePx);
    EXPECT_EQ(picture.pixels.size(),
              static_cast<size_t>(picture.width_px) * static_cast<size_t>(picture.height_px));
    EXPECT_THAT(picture.pixels, Each(77)) << width << "x" << height;
  }
}

TEST(StreamPicturesTest, OnlyALookMakesOnePicture) {
  FakeClock clock;
  StreamPictures pictures(&clock);
  EXPECT_FALSE(pictures.TakeRequest(1));
  EXPECT_EQ(pictures.Look(1), nullptr);
  EXPECT_FALSE(pictures.TakeRequest(2));
  EXPECT_TRUE(pictures.TakeRequest(1));
  EXPECT_FALSE(pictures.TakeRequest(1));
  pictures.Put(1, PictureOf(7));
  EXPECT_EQ(pictures.Look(1)->sequence, 7u);
  // Until the next one is there, the last one is shown.
  EXPECT_EQ(pictures.Look(1)->sequence, 7u);
  EXPECT_TRUE(pictures.TakeRequest(1));
}

TEST(StreamPicturesTest, PicturesThatNobodyLooksAtAreFreed) {
  FakeClock clock;
  StreamPictures pictures(&clock);
  pictures.Look(1);
  auto picture = PictureOf(7);
  const std::weak_ptr<StreamPicture> watched = picture;
  pictures.Put(1, std::move(picture));
  clock.Advance(StreamPictures::kViewTime);
  EXPECT_TRUE(pictures.TakeRequest(1));
  clock.Advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(pictures.TakeRequest(2));  // a frame of any stream
  EXPECT_TRUE(watched.expired());
  EXPECT_FALSE(pictures.TakeRequest(1));
}

TEST(StreamPicturesTest, TheStreamLookedAtLongestAgoMakesRoom) {
  FakeClock clock;
  StreamPictures pictures(&clock);
  for (uint64_t stream = 1; stream <= StreamPictures::kMaxStreams; ++stream) {
    pictures.Look(stream);
    clock.Advance(std::chrono::milliseconds(1));
  }
  pictures.Look(1);
  pictures.Look(100);
  EXPECT_TRUE(pictures.TakeRequest(1));
  EXPECT_FALSE(pictures.TakeRequest(2));
  EXPECT_TRUE(pictures.TakeRequest(3));
  EXPECT_TRUE(pictures.TakeRequest(100));
}

TEST(StreamPicturesTest, APictureThatNobodyWantsAnyMoreIsDropped) {
  FakeClock clock;
  StreamPictures pictures(&clock);
  pictures.Put(1, PictureOf(7));
  EXPECT_EQ(pictures.Look(1), nullptr);
}

}  // namespace
}  // namespace orbserve
