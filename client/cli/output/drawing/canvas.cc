// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>

namespace orbserve::cli {
namespace {

// Share of a pixel that a shape covers. `inside_px`: distance to the edge, positive inside the
// shape.
float Coverage(float inside_px) { return std::clamp(inside_px + 0.5f, 0.0f, 1.0f); }

// First and last pixel of [low, high] on an axis of `size` pixels. Both are bounded before they
// become whole numbers; the first is behind the last where no pixel lies between.
int FirstPixel(float low, int size) {
  return static_cast<int>(std::floor(std::clamp(low, 0.0f, static_cast<float>(size))));
}
int LastPixel(float high, int size) {
  return static_cast<int>(std::ceil(std::clamp(high, -1.0f, static_cast<float>(size - 1))));
}

// Circles with larger numbers are not drawn: float has no fraction of a pixel left for them.
constexpr float kFarthestPx = 1 << 20;

// NaN fails the comparisons.
bool IsNear(float x, float y, float radius_px) {
  return std::abs(x) <= kFarthestPx && std::abs(y) <= kFarthestPx && radius_px <= kFarthestPx;
}

struct Segment {
  double x0, y0, x1, y1;
};

// Moves the end (a0, b0) of a line along it to a = `limit`, which lies between a0 and a1.
void MoveEnd(double* a0, double* b0, double a1, double b1, double limit) {
  *b0 = b1 + (*b0 - b1) * ((limit - a1) / (*a0 - a1));
  *a0 = limit;
}

// Cuts a line off at the ends of [low, high] on the axis `a`. False if nothing is left.
bool CutOff(double* a0, double* b0, double* a1, double* b1, double low, double high) {
  if (std::max(*a0, *a1) < low || std::min(*a0, *a1) > high) return false;
  if (*a0 < low || *a0 > high) MoveEnd(a0, b0, *a1, *b1, *a0 < low ? low : high);
  if (*a1 < low || *a1 > high) MoveEnd(a1, b1, *a0, *b0, *a1 < low ? low : high);
  return true;
}

// The part of `line` in the rectangle of `margin` pixels round a picture; no value if there is
// none. Numbers may be as large as floats get. An end that lies inside keeps its exact place.
std::optional<Segment> Clip(Segment line, int width_px, int height_px, double margin) {
  if (!CutOff(&line.x0, &line.y0, &line.x1, &line.y1, -margin, width_px - 1 + margin) ||
      !CutOff(&line.y0, &line.x0, &line.y1, &line.x1, -margin, height_px - 1 + margin)) {
    return std::nullopt;
  }
  return line;
}

}  // namespace

Canvas::Canvas(int width_px, int height_px)
    : picture_{.width_px = width_px, .height_px = height_px, .channels = 3} {
  picture_.pixels.resize(picture_.row_bytes() * height_px);
}

Canvas::Canvas(const Picture& picture) : Canvas(picture.width_px, picture.height_px) {
  Paste(picture, 0, 0);
}

void Canvas::Paste(const Picture& picture, int x, int y) {
  const int first_x = std::max(0, -x);
  const int last_x = std::min(picture.width_px, picture_.width_px - x);
  const int last_y = std::min(picture.height_px, picture_.height_px - y);
  if (first_x >= last_x) return;
  for (int row = std::max(0, -y); row < last_y; ++row) {
    const uint8_t* from = picture.Row(row) + static_cast<size_t>(first_x) * picture.channels;
    uint8_t* to = picture_.Row(y + row) + static_cast<size_t>(x + first_x) * 3;
    if (picture.channels == 3) {
      std::memcpy(to, from, static_cast<size_t>(last_x - first_x) * 3);
      continue;
    }
    for (int column = first_x; column < last_x; ++column, ++from, to += 3) {
      to[0] = to[1] = to[2] = *from;
    }
  }
}

void Canvas::TurnGrey() {
  for (size_t at = 0; at < picture_.pixels.size(); at += 3) {
    const auto channel = [&](size_t i) { return static_cast<uint8_t>(picture_.pixels[at + i]); };
    // Weights of ITU-R BT.601, in 256ths.
    const int grey = (77 * channel(0) + 150 * channel(1) + 29 * channel(2)) >> 8;
    std::fill_n(picture_.pixels.begin() + static_cast<std::ptrdiff_t>(at), 3,
                static_cast<char>(grey));
  }
}

void Canvas::Dim(float share) {
  std::array<char, 256> table;
  for (int level = 0; level < 256; ++level) {
    table[level] = static_cast<char>(std::lround(static_cast<float>(level) * share));
  }
  for (char& value : picture_.pixels) value = table[static_cast<uint8_t>(value)];
}

void Canvas::Blend(int x, int y, Colour colour, float opacity) {
  if (opacity <= 0.0f || x < 0 || y < 0 || x >= picture_.width_px || y >= picture_.height_px) {
    return;
  }
  uint8_t* pixel = picture_.Row(y) + static_cast<size_t>(x) * 3;
  const auto mix = [opacity](uint8_t below, uint8_t above) {
    const auto b = static_cast<float>(below);
    return static_cast<uint8_t>(std::lround(b + (static_cast<float>(above) - b) * opacity));
  };
  pixel[0] = mix(pixel[0], colour.red);
  pixel[1] = mix(pixel[1], colour.green);
  pixel[2] = mix(pixel[2], colour.blue);
}

void Canvas::Line(float from_x, float from_y, float to_x, float to_y, float line_px, Colour colour,
                  float opacity) {
  for (const float value : {from_x, from_y, to_x, to_y}) {
    if (!std::isfinite(value)) return;
  }
  const float half = line_px / 2;
  // The ends of a part lie so far outside that they are not seen.
  const std::optional<Segment> part =
      Clip({from_x, from_y, to_x, to_y}, width_px(), height_px(), 2 * line_px + 4);
  if (!part.has_value()) return;
  const auto x0 = static_cast<float>(part->x0);
  const auto y0 = static_cast<float>(part->y0);
  const auto x1 = static_cast<float>(part->x1);
  const auto y1 = static_cast<float>(part->y1);
  const float dx = x1 - x0;
  const float dy = y1 - y0;
  const float length = std::hypot(dx, dy);
  if (length < 1e-3f) {
    Disc(x0, y0, half, colour, opacity);
    return;
  }
  const float ux = dx / length;
  const float uy = dy / length;
  const auto draw = [&](int x, int y) {
    const float px = static_cast<float>(x) - x0;
    const float py = static_cast<float>(y) - y0;
    const float along = px * ux + py * uy;
    const float across = std::abs(py * ux - px * uy);
    const float inside = std::min(half - across, std::min(along, length - along) + half);
    Blend(x, y, colour, opacity * Coverage(inside));
  };
  // The outer loop follows the longer axis, the inner one visits the few pixels across the line
  // instead of the whole bounding box.
  const bool steep = std::abs(dy) > std::abs(dx);
  const float slope = steep ? dx / dy : dy / dx;
  const float reach = (half + 1.0f) * std::sqrt(1.0f + slope * slope) + 1.0f;
  const float start = steep ? std::min(y0, y1) : std::min(x0, x1);
  const float stop = steep ? std::max(y0, y1) : std::max(x0, x1);
  const int major_size = steep ? height_px() : width_px();
  const int minor_size = steep ? width_px() : height_px();
  const int last = LastPixel(stop + half + 1.0f, major_size);
  for (int major = FirstPixel(start - half - 1.0f, major_size); major <= last; ++major) {
    const float centre = steep ? x0 + (static_cast<float>(major) - y0) * slope
                               : y0 + (static_cast<float>(major) - x0) * slope;
    const int minor_last = LastPixel(centre + reach, minor_size);
    for (int minor = FirstPixel(centre - reach, minor_size); minor <= minor_last; ++minor) {
      steep ? draw(minor, major) : draw(major, minor);
    }
  }
}

void Canvas::Circle(float x, float y, float radius_px, float line_px, Colour colour,
                    float opacity) {
  if (!IsNear(x, y, radius_px)) return;
  const float half = line_px / 2;
  const float outer = radius_px + half + 1.0f;
  const float inner = std::max(radius_px - half - 1.0f, 0.0f);
  // The whole picture may lie inside the ring.
  const float farthest_x = std::max(x, static_cast<float>(width_px()) - x);
  const float farthest_y = std::max(y, static_cast<float>(height_px()) - y);
  if (std::hypot(farthest_x, farthest_y) < inner) return;
  const int last_row = LastPixel(y + outer, height_px());
  for (int row = FirstPixel(y - outer, height_px()); row <= last_row; ++row) {
    const float dy = static_cast<float>(row) - y;
    const float outer_dx = std::sqrt(std::max(outer * outer - dy * dy, 0.0f));
    const float inner_dx = std::sqrt(std::max(inner * inner - dy * dy, 0.0f));
    const int last = LastPixel(x + outer_dx, width_px());
    for (int column = FirstPixel(x - outer_dx, width_px()); column <= last; ++column) {
      const float dx = static_cast<float>(column) - x;
      if (std::abs(dx) < inner_dx - 1.0f) {
        // Skip the inside of the ring.
        column = std::max(column, FirstPixel(x + inner_dx, width_px()) - 2);
        continue;
      }
      Blend(column, row, colour,
            opacity * Coverage(half - std::abs(std::hypot(dx, dy) - radius_px)));
    }
  }
}

void Canvas::Disc(float x, float y, float radius_px, Colour colour, float opacity) {
  if (!IsNear(x, y, radius_px)) return;
  const int last_row = LastPixel(y + radius_px + 1.0f, height_px());
  const int last_column = LastPixel(x + radius_px + 1.0f, width_px());
  for (int row = FirstPixel(y - radius_px - 1.0f, height_px()); row <= last_row; ++row) {
    for (int column = FirstPixel(x - radius_px - 1.0f, width_px()); column <= last_column;
         ++column) {
      const float distance =
          std::hypot(static_cast<float>(column) - x, static_cast<float>(row) - y);
      Blend(column, row, colour, opacity * Coverage(radius_px - distance));
    }
  }
}

namespace {

// Colour between `from` and `to`; `share` in [0, 1].
Colour Between(Colour from, Colour to, float share) {
  const auto mix = [share](uint8_t a, uint8_t b) {
    return static_cast<uint8_t>(std::lround(
        static_cast<float>(a) + (static_cast<float>(b) - static_cast<float>(a)) * share));
  };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

// These colours belong to the set of Okabe and Ito, which people with any colour vision tell apart.
constexpr Colour kSkyBlue{86, 180, 233};
constexpr Colour kOrange{230, 159, 0};
constexpr Colour kGreen{0, 158, 115};
constexpr Colour kYellow{240, 228, 66};
constexpr Colour kBlue{0, 114, 178};
constexpr Colour kVermilion{213, 94, 0};
constexpr Colour kPurple{204, 121, 167};
constexpr Colour kWhite{238, 238, 238};

}  // namespace

Colour Heat(float t) {
  const float share = std::clamp(t, 0.0f, 1.0f);
  return share < 0.5f ? Between(kSkyBlue, kYellow, 2 * share)
                      : Between(kYellow, kVermilion, 2 * share - 1);
}

Colour InlierColour(bool inlier) { return inlier ? kSkyBlue : kVermilion; }

Colour AgeColour(float t) {
  const float share = std::clamp(t, 0.0f, 1.0f);
  const auto level = [](float value) { return static_cast<uint8_t>(std::lround(value)); };
  if (share < 0.5f) {
    return {level(70 - 20 * 2 * share), level(130 + 90 * 2 * share), level(255 - 145 * 2 * share)};
  }
  return {level(50 + 205 * (2 * share - 1)), 220, level(110 - 80 * (2 * share - 1))};
}

Colour LevelColour(int level) {
  static constexpr std::array<Colour, 8> kColours = {kSkyBlue, kOrange,    kGreen,  kYellow,
                                                     kBlue,    kVermilion, kPurple, kWhite};
  return kColours[static_cast<size_t>(level < 0 ? 0 : level) % kColours.size()];
}

}  // namespace orbserve::cli
