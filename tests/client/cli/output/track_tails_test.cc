// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/track_tails.h"

#include <optional>
#include <vector>

#include "client/cli/output/drawing/overlay.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

struct Point {
  uint64_t id;
  float x;
  float y;
  uint32_t age = 0;
};

v1::FrameResult Result(const std::vector<Point>& points) {
  v1::FrameResult result;
  for (const Point& point : points) {
    v1::Track& track = *result.add_tracks();
    track.set_id(point.id);
    track.set_x(point.x);
    track.set_y(point.y);
    track.set_age_frames(point.age);
  }
  return result;
}

TrueMotion ShiftedBy(double x) { return {.to_photo = {.x0 = x}}; }

TEST(TrackTailsTest, TailsHaveTheLatestPlacesAndEndWithTheirTracks) {
  TrackTails tails;
  for (int i = 0; i < 30; ++i) {
    std::vector<Point> points = {{1, static_cast<float>(i), 5, static_cast<uint32_t>(i)}};
    if (i < 28) points.push_back({2, 0, 0, static_cast<uint32_t>(i)});
    tails.Take(Result(points), std::nullopt);
  }
  ASSERT_EQ(tails.tails().size(), 1u);
  const TrackTails::Tail& tail = tails.tails().at(1);
  EXPECT_EQ(tail.places.size(), TrackTails::kPlaces);
  EXPECT_EQ(tail.places.front()[0], 10);
  EXPECT_EQ(tail.places.back()[0], 29);
  EXPECT_EQ(tail.age_frames, 29u);
  tails.Clear();
  EXPECT_TRUE(tails.tails().empty());
}

TEST(TrackTailsTest, ErrorsAreDistancesFromTheTruth) {
  TrackTails tails;
  EXPECT_FALSE(tails.MedianErrorPx(ShiftedBy(0)).has_value());
  // The camera moves to the right by 2 pixels a frame, so that points move to the left.
  tails.Take(Result({{1, 50, 50}, {2, 60, 50}, {3, 70, 50}}), ShiftedBy(100));
  EXPECT_FALSE(tails.MedianErrorPx(ShiftedBy(100)).has_value()) << "every track is new";
  tails.Take(Result({{1, 48, 50}, {2, 58, 50.25f}, {3, 68, 54}}), ShiftedBy(102));
  ASSERT_TRUE(tails.MedianErrorPx(ShiftedBy(102)).has_value());
  EXPECT_NEAR(*tails.MedianErrorPx(ShiftedBy(102)), 0.25, 1e-6);
}

TEST(TrackTailsTest, DrawingsShowTailsInTheColourOfTheirAge) {
  const Picture grey{
      .width_px = 60, .height_px = 40, .channels = 1, .pixels = std::string(60 * 40, '\x80')};
  TrackTails tails;
  for (uint32_t i = 0; i < 10; ++i) {
    tails.Take(Result({{1, 10 + 3.0f * static_cast<float>(i), 10, i},
                       {2, 10 + 3.0f * static_cast<float>(i), 30, 100 + i}}),
               std::nullopt);
  }
  const Picture drawn = DrawTracks(grey, tails);
  const auto blue_over_red = [&drawn](int x, int y) {
    const uint8_t* const pixel = drawn.Row(y) + 3 * x;
    return pixel[2] - pixel[0];
  };
  EXPECT_GT(blue_over_red(37, 10), 60);                     // young: blue, at its place
  EXPECT_LT(blue_over_red(37, 30), -60);                    // old: yellow
  EXPECT_GT(blue_over_red(30, 10), 20);                     // its tail
  EXPECT_GT(blue_over_red(30, 10), blue_over_red(14, 10));  // which fades
  EXPECT_EQ(blue_over_red(50, 10), 0);
  EXPECT_EQ(blue_over_red(30, 20), 0);
}

// Most of the picture stays to be seen, however many tracks there are.
TEST(TrackTailsTest, ManyTracksDoNotBuryThePicture) {
  const Picture grey{
      .width_px = 200, .height_px = 100, .channels = 1, .pixels = std::string(200 * 100, '\x80')};
  TrackTails tails;
  std::vector<Point> points;
  for (uint64_t i = 0; i < 2000; ++i) {
    points.push_back({i + 1, static_cast<float>(i * 37 % 200), static_cast<float>(i * 53 % 100)});
  }
  tails.Take(Result(points), std::nullopt);
  const Picture drawn = DrawTracks(grey, tails);
  double change = 0;
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 200; ++x) {
      const uint8_t* const pixel = drawn.Row(y) + 3 * x;
      change += (pixel[2] - pixel[0]) / 185.0;  // of the colour of a new track
    }
  }
  EXPECT_GT(change / (200 * 100), 0.02);
  EXPECT_LT(change / (200 * 100), 0.35);
}

}  // namespace
}  // namespace orbserve::cli
