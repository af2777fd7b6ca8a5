// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/simulation/simulated_flight.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

// A photograph without fine detail, so that grey levels can be compared between pixels.
Picture SmoothPhoto(int width_px, int height_px) {
  Picture photo{.width_px = width_px, .height_px = height_px, .channels = 1};
  photo.pixels.resize(photo.row_bytes() * height_px);
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      // Triangle waves of 64 and 96 pixels.
      const int wave_x = std::abs(x % 128 - 64);
      const int wave_y = std::abs(y % 192 - 96);
      photo.Row(y)[x] = static_cast<uint8_t>(wave_x + wave_y + 40);
    }
  }
  return photo;
}

Picture NoisePhoto(int width_px, int height_px) {
  Picture photo{.width_px = width_px, .height_px = height_px, .channels = 1};
  photo.pixels.resize(photo.row_bytes() * height_px);
  uint32_t state = 7;
  for (char& pixel : photo.pixels) {
    state = state * 1664525u + 1013904223u;
    pixel = static_cast<char>(state >> 24);
  }
  return photo;
}

// Grey level at a place between pixels.
double GreyAt(const Picture& picture, double x, double y) {
  const int left = std::clamp(static_cast<int>(std::floor(x)), 0, picture.width_px - 2);
  const int top = std::clamp(static_cast<int>(std::floor(y)), 0, picture.height_px - 2);
  const double fx = x - left;
  const double fy = y - top;
  const uint8_t* const upper = picture.Row(top) + left;
  const uint8_t* const lower = picture.Row(top + 1) + left;
  return (upper[0] * (1 - fx) + upper[1] * fx) * (1 - fy) +
         (lower[0] * (1 - fx) + lower[1] * fx) * fy;
}

TEST(SimulatedFlightTest, FramesShowThePhotographWhereTheTruthSays) {
  for (const auto& [width, height] : {std::pair(1000, 700), std::pair(900, 2000)}) {
    const Picture photo = SmoothPhoto(width, height);
    const SimulatedFlight flight(photo, 320, 240);
    for (const int64_t index : {0, 1, 57, 400, 123456}) {
      const Picture frame = flight.Frame(index);
      ASSERT_EQ(frame.width_px, 320);
      ASSERT_EQ(frame.height_px, 240);
      const Affine to_photo = flight.ToPhoto(index);
      for (int y = 0; y < 240; y += 7) {
        for (int x = 0; x < 320; x += 7) {
          const auto place = to_photo(x, y);
          // 0.5 of rounding, and 1 where the wave turns inside a pixel that was halved.
          ASSERT_NEAR(frame.Row(y)[x], GreyAt(photo, place[0], place[1]), 1.6)
              << index << " " << x << " " << y;
        }
      }
    }
  }
}

TEST(SimulatedFlightTest, LargePhotographsAreHalvedAndTheTruthKnows) {
  const Picture photo = SmoothPhoto(2600, 2000);
  const SimulatedFlight flight(photo, 320, 240);
  const Affine to_photo = flight.ToPhoto(0);
  EXPECT_NEAR(std::hypot(to_photo.xx, to_photo.yx), 4, 0.01);  // halved twice
  const Picture frame = flight.Frame(0);
  for (int y = 0; y < 240; y += 5) {
    for (int x = 0; x < 320; x += 5) {
      const auto place = to_photo(x, y);
      ASSERT_NEAR(frame.Row(y)[x], GreyAt(photo, place[0], place[1]), 3) << x << " " << y;
    }
  }
}

TEST(SimulatedFlightTest, TheCameraStaysOverThePhotographAndMovesByAFewPixels) {
  for (const auto& [width, height] :
       {std::pair(640, 480), std::pair(4000, 3000), std::pair(300, 3000), std::pair(16, 16)}) {
    const SimulatedFlight flight(SmoothPhoto(width, height), 640, 480);
    for (int64_t index = 0; index < 2000; ++index) {
      const Affine to_photo = flight.ToPhoto(index);
      for (const auto& [x, y] :
           {std::pair(0, 0), std::pair(639, 0), std::pair(0, 479), std::pair(639, 479)}) {
        const auto place = to_photo(x, y);
        ASSERT_GE(place[0], -0.5) << index;
        ASSERT_GE(place[1], -0.5) << index;
        ASSERT_LE(place[0], width - 0.5) << index;
        ASSERT_LE(place[1], height - 0.5) << index;
        if (index == 0) continue;
        const auto moved = flight.Motion(index - 1, index)(x, y);
        ASSERT_LT(std::hypot(moved[0] - x, moved[1] - y), 12) << index;
      }
    }
  }
}

TEST(SimulatedFlightTest, MotionsOfFramesAddUp) {
  const SimulatedFlight flight(SmoothPhoto(1000, 700), 320, 240);
  const Affine once = flight.Motion(3, 40);
  const Affine twice = flight.Motion(17, 40).After(flight.Motion(3, 17));
  const auto a = once(100, 200);
  const auto b = twice(100, 200);
  EXPECT_NEAR(a[0], b[0], 1e-9);
  EXPECT_NEAR(a[1], b[1], 1e-9);
  EXPECT_GT(std::hypot(a[0] - 100, a[1] - 200), 10);  // it does move
  EXPECT_NEAR(flight.Motion(5, 5)(1, 2)[0], 1, 1e-9);
}

// Every machine makes equal bytes.
TEST(SimulatedFlightTest, FramesAreThoseOfEveryMachine) {
  const SimulatedFlight flight(NoisePhoto(700, 500), 160, 120);
  const auto checksum = [&flight](int64_t index) {
    const std::string pixels = flight.Frame(index).pixels;
    return crc32(0, reinterpret_cast<const Bytef*>(pixels.data()),
                 static_cast<uInt>(pixels.size()));
  };
  // A second program, in Python, gave these sums.
  EXPECT_EQ(checksum(0), 0x9d120dd2u);
  EXPECT_EQ(checksum(1), 0x05d7e0b2u);
  EXPECT_EQ(checksum(299), 0x1c353683u);
}

}  // namespace
}  // namespace orbserve::cli
