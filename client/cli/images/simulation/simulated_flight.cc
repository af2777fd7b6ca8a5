// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/simulation/simulated_flight.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "features/algo/sincos.h"

namespace orbserve::cli {
namespace {

constexpr int kBits = 20;  // of fractions: the product of two weights and a grey level has 48 bits
constexpr int64_t kOne = int64_t{1} << kBits;

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kSine = 0.1392;         // of the largest rotation, about 8 degrees
constexpr double kRotationRad = 0.1396;  // largest rotation
constexpr double kZoom = 0.12;           // half the share by which the scale changes
constexpr double kFilled = 0.8;          // largest share of a side of the scene that a frame shows
constexpr int kSceneSides = 4;           // larger scenes are halved: in sides of the frame

// Periods of the flight in frames. They share no factor, so that the flight does not repeat itself
// soon. Drifts take longer over large scenes: a frame moves by a few pixels at most.
constexpr int kDriftXFrames = 97;
constexpr int kDriftYFrames = 131;
constexpr int kZoomFrames = 307;
constexpr int kRotationFrames = 241;
constexpr double kStepX = 3.0;  // pixels of the frame
constexpr double kStepY = 2.0;

algo::SinCos Phase(int64_t index, int64_t period) {
  const double turn = static_cast<double>(index % period) / static_cast<double>(period);
  return algo::SinCosOf(static_cast<float>(turn * kTurn));
}

int64_t PeriodFor(int shortest, double reach_px, double step_px) {
  return std::max<int64_t>(shortest, static_cast<int64_t>(kTurn * reach_px / step_px));
}

int64_t Fixed(double value) { return std::llround(value * static_cast<double>(kOne)); }
double Real(int64_t fixed) { return static_cast<double>(fixed) / static_cast<double>(kOne); }

Picture Halved(const Picture& picture) {
  Picture half{.width_px = picture.width_px / 2, .height_px = picture.height_px / 2, .channels = 1};
  half.pixels.resize(half.row_bytes() * half.height_px);
  for (int y = 0; y < half.height_px; ++y) {
    const uint8_t* const upper = picture.Row(2 * y);
    const uint8_t* const lower = picture.Row(2 * y + 1);
    uint8_t* const to = half.Row(y);
    for (int x = 0; x < half.width_px; ++x) {
      to[x] = static_cast<uint8_t>(
          (upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) / 4);
    }
  }
  return half;
}

}  // namespace

SimulatedFlight::SimulatedFlight(Picture photo, int width_px, int height_px)
    : scene_(std::move(photo)), width_px_(width_px), height_px_(height_px) {
  while (scene_.width_px >= kSceneSides * width_px_ &&
         scene_.height_px >= kSceneSides * height_px_) {
    scene_ = Halved(scene_);
    ++halvings_;
  }
  // Sides of the upright rectangle round a turned frame.
  const double wide = (width_px_ - 1) + kSine * (height_px_ - 1);
  const double high = (height_px_ - 1) + kSine * (width_px_ - 1);
  const double scene_wide = scene_.width_px - 1;
  const double scene_high = scene_.height_px - 1;
  scale_ = std::min({1.0, kFilled * scene_wide / wide, kFilled * scene_high / high});
  reach_x_ = (scene_wide - scale_ * wide) / 2;
  reach_y_ = (scene_high - scale_ * high) / 2;
}

SimulatedFlight::View SimulatedFlight::ViewOf(int64_t index) const {
  const double scale =
      scale_ * (1 - kZoom + kZoom * static_cast<double>(Phase(index, kZoomFrames).cosine));
  const float angle = static_cast<float>(kRotationRad) * Phase(index, kRotationFrames).sine;
  const algo::SinCos rotation = algo::SinCosOf(angle);
  const double centre_x =
      (scene_.width_px - 1) / 2.0 +
      reach_x_ * static_cast<double>(
                     Phase(index, PeriodFor(kDriftXFrames, reach_x_, kStepX * scale_)).sine);
  const double centre_y =
      (scene_.height_px - 1) / 2.0 +
      reach_y_ * static_cast<double>(
                     Phase(index, PeriodFor(kDriftYFrames, reach_y_, kStepY * scale_)).sine);
  View view{};
  view.xx = Fixed(scale * static_cast<double>(rotation.cosine));
  view.yx = Fixed(scale * static_cast<double>(rotation.sine));
  view.xy = -view.yx;
  view.yy = view.xx;
  // The middle of the frame lies at (centre_x, centre_y).
  view.x0 = Fixed(centre_x) - (view.xx * (width_px_ - 1) + view.xy * (height_px_ - 1)) / 2;
  view.y0 = Fixed(centre_y) - (view.yx * (width_px_ - 1) + view.yy * (height_px_ - 1)) / 2;
  return view;
}

Picture SimulatedFlight::Frame(int64_t index) const {
  const View view = ViewOf(index);
  Picture frame{.width_px = width_px_, .height_px = height_px_, .channels = 1};
  frame.pixels.resize(frame.row_bytes() * height_px_);
  const int64_t last_x = scene_.width_px - 1;
  const int64_t last_y = scene_.height_px - 1;
  for (int y = 0; y < height_px_; ++y) {
    uint8_t* const to = frame.Row(y);
    for (int x = 0; x < width_px_; ++x) {
      // Rounding may leave the scene by a fraction of a pixel; its last pixels go on there.
      const int64_t at_x =
          std::clamp<int64_t>(view.xx * x + view.xy * y + view.x0, 0, last_x << kBits);
      const int64_t at_y =
          std::clamp<int64_t>(view.yx * x + view.yy * y + view.y0, 0, last_y << kBits);
      const int64_t left = at_x >> kBits;
      const int64_t top = at_y >> kBits;
      const int64_t right = std::min(left + 1, last_x);
      const int64_t share_x = at_x & (kOne - 1);
      const int64_t share_y = at_y & (kOne - 1);
      const uint8_t* const upper = scene_.Row(static_cast<int>(top));
      const uint8_t* const lower = scene_.Row(static_cast<int>(std::min(top + 1, last_y)));
      const int64_t above = upper[left] * (kOne - share_x) + upper[right] * share_x;
      const int64_t below = lower[left] * (kOne - share_x) + lower[right] * share_x;
      const int64_t sum = above * (kOne - share_y) + below * share_y;
      to[x] = static_cast<uint8_t>((sum + (int64_t{1} << (2 * kBits - 1))) >> (2 * kBits));
    }
  }
  return frame;
}

Affine SimulatedFlight::ToPhoto(int64_t index) const {
  const View view = ViewOf(index);
  const Affine to_scene{.xx = Real(view.xx),
                        .xy = Real(view.xy),
                        .x0 = Real(view.x0),
                        .yx = Real(view.yx),
                        .yy = Real(view.yy),
                        .y0 = Real(view.y0)};
  // The centre of the first pixel of a picture that was halved lies between pixels of the larger.
  const auto factor = static_cast<double>(int64_t{1} << halvings_);
  const Affine to_photo{.xx = factor, .x0 = (factor - 1) / 2, .yy = factor, .y0 = (factor - 1) / 2};
  return to_photo.After(to_scene);
}

Affine SimulatedFlight::Motion(int64_t from, int64_t to) const {
  return ToPhoto(to).Inverse().After(ToPhoto(from));
}

}  // namespace orbserve::cli
