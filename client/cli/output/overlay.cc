// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/overlay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "client/cli/output/canvas.h"

namespace orbserve::cli {
namespace {

constexpr Colour kFaint{150, 170, 200};
constexpr int kGapPx = 8;  // between two pictures
constexpr float kCircleOpacity = 0.8f;
constexpr float kInkedShare = 0.6f;      // of the picture, by circles that do not fade
constexpr float kMarkedShare = 0.12f;    // of the picture, by marks, and again by their ticks
constexpr float kSmallestMarkPx = 0.7f;  // radius; about one pixel
constexpr float kFaintestCircle = 0.5f;  // opacity; more circles would hide the picture
constexpr float kFaintestMark = 0.25f;   // opacity; what is fainter is hard to see

// Width of lines in pixels, proportional to the picture.
float LineWidth(int width_px, int height_px) {
  return std::max(1.2f, static_cast<float>(std::max(width_px, height_px)) / 900.0f);
}

// Indices of the matches whose rows exist on both sides. The smallest distances come last, which
// draws them on top.
std::vector<int> DrawingOrder(const v1::MatchSet& matches, int query_count, int train_count) {
  std::vector<int> order;
  for (int i = 0; i < matches.query_index_size(); ++i) {
    if (i < matches.train_index_size() && i < matches.distance_size() &&
        matches.query_index(i) < static_cast<uint32_t>(query_count) &&
        matches.train_index(i) < static_cast<uint32_t>(train_count)) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&matches](int a, int b) { return matches.distance(a) > matches.distance(b); });
  return order;
}

Colour ColourOf(const v1::MatchSet& matches, int i) {
  return Heat(static_cast<float>(matches.distance(i)) / kFarDistance);
}

// Small marks that leave most of the picture to see, however many there are.
struct MarkStyle {
  float radius_px;
  float opacity;
  float tick_px;  // length of the line for the angle; 0 = no room for it
};

// Marks for `count` points on a picture. `width`: of lines.
MarkStyle MarksFor(const Picture& picture, int count, float width) {
  const float area = static_cast<float>(picture.width_px) * static_cast<float>(picture.height_px);
  const float share_px = area / static_cast<float>(std::max(count, 1));  // of one point
  MarkStyle style;
  style.radius_px = std::clamp(std::sqrt(kMarkedShare * share_px / std::numbers::pi_v<float>),
                               kSmallestMarkPx, width * 1.5f);
  // The smallest marks can still be too many, and then only fading helps.
  const float mark_px = std::numbers::pi_v<float> * style.radius_px * style.radius_px;
  style.opacity = std::clamp(kMarkedShare * share_px / mark_px, kFaintestMark, 1.0f);
  const float tick_px = style.radius_px * 4;
  style.tick_px = tick_px * width < kMarkedShare * share_px ? tick_px : 0.0f;
  return style;
}

// Opacity of circles of the features' sizes; 0 = they would hide the picture.
float CircleOpacity(const Picture& picture, const v1::FeatureSet& features, float width) {
  const double area = static_cast<double>(picture.width_px) * picture.height_px;
  double inked = 0;
  for (const float size : features.size()) {
    if (std::isfinite(size)) inked += std::numbers::pi * std::max(size, 2.0f) * width;
  }
  if (inked <= kInkedShare * area) return kCircleOpacity;
  const auto opacity = static_cast<float>(kCircleOpacity * kInkedShare * area / inked);
  return opacity < kFaintestCircle ? 0.0f : opacity;
}

void DrawTick(const v1::FeatureSet& features, int i, float length, float width, Colour colour,
              float opacity, Canvas* canvas) {
  if (features.angle(i) < 0 || length <= 0) return;
  const float angle = features.angle(i) * std::numbers::pi_v<float> / 180.0f;
  const float x = features.x(i);
  const float y = features.y(i);
  canvas->Line(x, y, x + length * std::cos(angle), y + length * std::sin(angle), width, colour,
               opacity);
}

void DrawFaintDots(const Picture& picture, const v1::FeatureSet& features, float width,
                   Canvas* canvas) {
  const MarkStyle marks = MarksFor(picture, features.x_size(), width);
  for (int i = 0; i < features.x_size(); ++i) {
    canvas->Disc(features.x(i), features.y(i), std::min(width, marks.radius_px), kFaint,
                 0.55f * marks.opacity);
  }
}

}  // namespace

Picture DrawFeatures(const Picture& picture, const v1::FeatureSet& features) {
  Canvas canvas(picture);
  canvas.Dim(0.8f);
  const float width = LineWidth(picture.width_px, picture.height_px);
  const float circles =
      features.descriptor_bytes() > 0 ? CircleOpacity(picture, features, width) : 0.0f;
  const MarkStyle marks = MarksFor(picture, features.x_size(), width);
  // Coarse levels come first: small circles stay visible on large ones.
  for (int i = features.x_size() - 1; i >= 0; --i) {
    const Colour colour = LevelColour(features.octave(i));
    const float x = features.x(i);
    const float y = features.y(i);
    if (circles > 0) {
      const float radius = std::max(features.size(i) / 2, 1.0f);
      canvas.Circle(x, y, radius, width, colour, circles);
      canvas.Disc(x, y, width * 1.2f, colour, std::min(circles / kCircleOpacity, 1.0f));
      DrawTick(features, i, radius, width, colour, std::min(circles / kCircleOpacity, 1.0f),
               &canvas);
    } else {
      canvas.Disc(x, y, marks.radius_px, colour, marks.opacity);
      DrawTick(features, i, marks.tick_px, width, colour, marks.opacity, &canvas);
    }
  }
  return canvas.picture();
}

Picture DrawMatches(const Picture& query_picture, const v1::FeatureSet& query,
                    const Picture& train_picture, const v1::FeatureSet& train,
                    const v1::MatchSet& matches) {
  const int train_x = query_picture.width_px + kGapPx;
  Canvas canvas(train_x + train_picture.width_px,
                std::max(query_picture.height_px, train_picture.height_px));
  canvas.Paste(query_picture, 0, 0);
  canvas.Paste(train_picture, train_x, 0);
  canvas.Dim(0.75f);
  const float width = LineWidth(canvas.width_px() / 2, canvas.height_px());
  const std::vector<int> order = DrawingOrder(matches, query.x_size(), train.x_size());
  // A thousand opaque lines would hide the pictures.
  const float opacity = std::clamp(60.0f / static_cast<float>(order.size() + 1), 0.35f, 0.9f);
  for (const int i : order) {
    const int q = static_cast<int>(matches.query_index(i));
    const int t = static_cast<int>(matches.train_index(i));
    canvas.Line(query.x(q), query.y(q), static_cast<float>(train_x) + train.x(t), train.y(t), width,
                ColourOf(matches, i), opacity);
  }
  for (const int i : order) {
    const int q = static_cast<int>(matches.query_index(i));
    const int t = static_cast<int>(matches.train_index(i));
    canvas.Circle(query.x(q), query.y(q), width * 2.5f, width, ColourOf(matches, i), 1.0f);
    canvas.Circle(static_cast<float>(train_x) + train.x(t), train.y(t), width * 2.5f, width,
                  ColourOf(matches, i), 1.0f);
  }
  return canvas.picture();
}

Picture DrawMatched(const Picture& picture, const v1::FeatureSet& features,
                    const v1::MatchSet& matches) {
  Canvas canvas(picture);
  canvas.Dim(0.75f);
  const float width = LineWidth(picture.width_px, picture.height_px);
  DrawFaintDots(picture, features, width, &canvas);
  for (const int i : DrawingOrder(matches, features.x_size(), std::numeric_limits<int>::max())) {
    const int q = static_cast<int>(matches.query_index(i));
    canvas.Circle(features.x(q), features.y(q), std::max(features.size(q) / 2, 1.0f), width,
                  ColourOf(matches, i), 0.9f);
    canvas.Disc(features.x(q), features.y(q), width * 1.5f, ColourOf(matches, i), 1.0f);
  }
  return canvas.picture();
}

Picture DrawMotion(const Picture& picture, const v1::FeatureSet& features,
                   const v1::FeatureSet& previous, const v1::MatchSet& matches) {
  Canvas canvas(picture);
  canvas.Dim(0.8f);
  const float width = LineWidth(picture.width_px, picture.height_px);
  DrawFaintDots(picture, features, width, &canvas);
  for (const int i : DrawingOrder(matches, features.x_size(), previous.x_size())) {
    const int q = static_cast<int>(matches.query_index(i));
    const int t = static_cast<int>(matches.train_index(i));
    canvas.Line(previous.x(t), previous.y(t), features.x(q), features.y(q), width,
                ColourOf(matches, i), 0.8f);
    canvas.Disc(features.x(q), features.y(q), width * 1.6f, ColourOf(matches, i), 1.0f);
  }
  return canvas.picture();
}

Picture DrawTracks(const Picture& picture, const TrackTails& tails) {
  Canvas canvas(picture);
  canvas.Dim(0.8f);
  const float width = LineWidth(picture.width_px, picture.height_px);
  const MarkStyle marks = MarksFor(picture, static_cast<int>(tails.tails().size()), width);
  // Old tracks come last: they are rarer, and worth more.
  std::vector<const TrackTails::Tail*> order;
  for (const auto& [id, tail] : tails.tails()) order.push_back(&tail);
  std::stable_sort(order.begin(), order.end(),
                   [](const TrackTails::Tail* a, const TrackTails::Tail* b) {
                     return a->age_frames < b->age_frames;
                   });
  for (const TrackTails::Tail* const tail : order) {
    const Colour colour = AgeColour(static_cast<float>(tail->age_frames) / kOldTrackFrames);
    for (size_t i = 1; i < tail->places.size(); ++i) {
      const auto& from = tail->places[i - 1];
      const auto& to = tail->places[i];
      // The tail fades towards its end.
      const float share = static_cast<float>(i) / static_cast<float>(tail->places.size());
      canvas.Line(from[0], from[1], to[0], to[1], width, colour, marks.opacity * share);
    }
    canvas.Disc(tail->places.back()[0], tail->places.back()[1], marks.radius_px, colour,
                marks.opacity);
  }
  return canvas.picture();
}

}  // namespace orbserve::cli
