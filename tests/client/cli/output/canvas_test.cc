// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/canvas.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

constexpr Colour kRed{255, 0, 0};
constexpr Colour kBlack{0, 0, 0};

Colour At(const Picture& picture, int x, int y) {
  const uint8_t* pixel = picture.Row(y) + static_cast<size_t>(x) * 3;
  return {pixel[0], pixel[1], pixel[2]};
}

int LitPixels(const Picture& picture) {
  int count = 0;
  for (int y = 0; y < picture.height_px; ++y) {
    for (int x = 0; x < picture.width_px; ++x) count += At(picture, x, y) == kBlack ? 0 : 1;
  }
  return count;
}

TEST(CanvasTest, HorizontalLineFillsItsRowAndNoOther) {
  Canvas canvas(20, 9);
  canvas.Line(3, 4, 16, 4, 1.0f, kRed, 1.0f);
  for (int x = 3; x <= 16; ++x) EXPECT_EQ(At(canvas.picture(), x, 4), kRed) << x;
  EXPECT_EQ(LitPixels(canvas.picture()), 14);
}

TEST(CanvasTest, LineBetweenTwoRowsSharesItsLightBetweenThem) {
  Canvas canvas(20, 9);
  canvas.Line(-5, 4.5f, 25, 4.5f, 1.0f, kRed, 1.0f);
  for (int x = 0; x < 20; ++x) {
    EXPECT_EQ(At(canvas.picture(), x, 4), (Colour{128, 0, 0})) << x;
    EXPECT_EQ(At(canvas.picture(), x, 5), (Colour{128, 0, 0})) << x;
  }
  EXPECT_EQ(LitPixels(canvas.picture()), 40);
}

TEST(CanvasTest, LineIsTheSameFromEitherEndAndTransposed) {
  Canvas there(30, 30);
  Canvas back(30, 30);
  Canvas transposed(30, 30);
  there.Line(2, 3, 27, 14, 1.5f, kRed, 1.0f);
  back.Line(27, 14, 2, 3, 1.5f, kRed, 1.0f);
  transposed.Line(3, 2, 14, 27, 1.5f, kRed, 1.0f);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 30; ++x) {
      EXPECT_NEAR(At(there.picture(), x, y).red, At(back.picture(), x, y).red, 1);
      EXPECT_NEAR(At(there.picture(), x, y).red, At(transposed.picture(), y, x).red, 1);
    }
  }
  EXPECT_GT(LitPixels(there.picture()), 25);
}

TEST(CanvasTest, CircleIsARingAndLeavesItsInsideAlone) {
  Canvas canvas(41, 41);
  canvas.Circle(20, 20, 15, 1.0f, kRed, 1.0f);
  EXPECT_EQ(At(canvas.picture(), 35, 20), kRed);
  EXPECT_EQ(At(canvas.picture(), 5, 20), kRed);
  EXPECT_EQ(At(canvas.picture(), 20, 5), kRed);
  EXPECT_EQ(At(canvas.picture(), 20, 35), kRed);
  for (int y = 0; y < 41; ++y) {
    for (int x = 0; x < 41; ++x) {
      const double radius = std::hypot(x - 20, y - 20);
      if (radius < 13.9 || radius > 16.1) {
        EXPECT_EQ(At(canvas.picture(), x, y), kBlack) << x << "," << y;
      }
      if (std::abs(radius - 15) < 0.3) {
        EXPECT_GT(At(canvas.picture(), x, y).red, 150) << x << "," << y;
      }
    }
  }
}

TEST(CanvasTest, ShapesOutsideOrWithoutANumberChangeNothing) {
  Canvas canvas(10, 10);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  canvas.Line(-100, -50, -20, -60, 2, kRed, 1);
  canvas.Line(kNan, 0, 5, 5, 2, kRed, 1);
  canvas.Line(0, 0, kInfinity, 5, 2, kRed, 1);
  canvas.Circle(100, 100, 10, 2, kRed, 1);
  canvas.Circle(5, 5, kNan, 2, kRed, 1);
  canvas.Disc(-30, 4, 5, kRed, 1);
  EXPECT_EQ(LitPixels(canvas.picture()), 0);
}

// Each shape is bounded by the picture: these would not end otherwise.
TEST(CanvasTest, ShapesThatLieOrReachFarOutsideCostNoMoreThanThePicture) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const float far : {1e5f, 1e9f, 1e30f, kMax}) {
    Canvas canvas(64, 48);
    for (const float x : {-far, far}) {
      for (const float y : {-far, 20.0f, far}) {
        canvas.Disc(x, y, 5, kRed, 1);
        canvas.Circle(x, y, 5, 2, kRed, 1);
        canvas.Line(x, y, x, y - 1, 2, kRed, 1);
        canvas.Line(x, y, x * 0.5f, y * 0.5f, 2, kRed, 1);
      }
    }
    canvas.Circle(32, 24, far, 2, kRed, 1);  // the picture lies inside the ring
    EXPECT_EQ(LitPixels(canvas.picture()), 0) << far;
    canvas.Line(-far, 24, far, 24, 1, kRed, 1);
    EXPECT_EQ(LitPixels(canvas.picture()), 64) << far;
    EXPECT_EQ(At(canvas.picture(), 40, 24), kRed) << far;
  }
}

TEST(CanvasTest, TheSeenPartOfALineIsWhereTheWholeLineIs) {
  Canvas part(100, 100);
  Canvas whole(300, 300);
  part.Line(-60, -20, 180, 150, 3, kRed, 1);
  whole.Line(40, 80, 280, 250, 3, kRed, 1);
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 100; ++x) {
      const Colour a = At(part.picture(), x, y);
      const Colour b = At(whole.picture(), x + 100, y + 100);
      ASSERT_NEAR(a.red, b.red, 1) << x << "," << y;
    }
  }
}

TEST(CanvasTest, PasteCutsAtTheBorders) {
  const Picture grey{
      .width_px = 3, .height_px = 2, .channels = 1, .pixels = "\x10\x20\x30\x40\x50\x60"};
  Canvas canvas(4, 4);
  canvas.Paste(grey, -1, 3);
  EXPECT_EQ(At(canvas.picture(), 0, 3), (Colour{0x20, 0x20, 0x20}));
  EXPECT_EQ(At(canvas.picture(), 1, 3), (Colour{0x30, 0x30, 0x30}));
  EXPECT_EQ(LitPixels(canvas.picture()), 2);
}

TEST(HeatTest, GoesFromBlueThroughYellowToVermilion) {
  EXPECT_GT(Heat(0).blue, Heat(0).red + 100);
  EXPECT_GT(Heat(0.5f).green, Heat(0.5f).blue + 100);
  EXPECT_GT(Heat(1).red, Heat(1).blue + 100);
  EXPECT_EQ(Heat(-3), Heat(0));
  EXPECT_EQ(Heat(3), Heat(1));
}

// Brightness of a colour for people who lack the cones for red or for green: both see about what
// the blue channel and the sum of the other two say.
TEST(LevelColourTest, NeighboursDifferForEveryColourVision) {
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < a; ++b) {
      const Colour first = LevelColour(a);
      const Colour second = LevelColour(b);
      const int blue = std::abs(first.blue - second.blue);
      const int rest =
          std::abs((2 * first.red + 5 * first.green) / 7 - (2 * second.red + 5 * second.green) / 7);
      EXPECT_GT(blue + rest, 30) << a << " and " << b;
    }
  }
}

}  // namespace
}  // namespace orbserve::cli
