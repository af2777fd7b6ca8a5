// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/overlay.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "client/cli/output/drawing/canvas.h"

namespace orbserve::cli {
namespace {

constexpr Colour kFaint{150, 170, 200};
constexpr int kGapPx = 8;  // between two pictures
constexpr float kCircleOpacity = 0.9f;
constexpr float kInkedShare = 0.3f;  // of the picture, by circles that are not made smaller
constexpr int kCells = 16;           // along the longer side, to find crowds
constexpr double kMaxCrowded = 20;
constexpr double kCrowdExponent = 0.7;
constexpr float kSmallestCirclePx = 1.8f;  // radius, in widths of a line
constexpr float kWeakest = 0.4f;           // opacity of the weakest response
constexpr Colour kCasing{0, 0, 0};         // dark edge of lines
constexpr float kCasingPx = 1.4f;          // of both sides together
constexpr float kCasingOpacity = 0.45f;
constexpr float kMarkedShare = 0.12f;    // of the picture, by marks, and again by their ticks
constexpr float kSmallestMarkPx = 0.7f;  // radius; about one pixel
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

// Number of features that the picture would have if it were nearly as crowded everywhere as it is,
// on average, around its features: they often sit close together.
int CrowdedCount(const Picture& picture, const v1::FeatureSet& features) {
  const int cell_px = std::max(std::max(picture.width_px, picture.height_px) / kCells, 1);
  const int columns = picture.width_px / cell_px + 1;
  const int rows = picture.height_px / cell_px + 1;
  std::vector<double> cells(static_cast<size_t>(columns) * rows);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < features.x_size(); ++i) {
    const float x = features.x(i);
    const float y = features.y(i);
    if (!(x >= 0 && y >= 0 && x < static_cast<float>(picture.width_px) &&
          y < static_cast<float>(picture.height_px))) {
      continue;
    }
    const size_t column = static_cast<size_t>(x) / static_cast<size_t>(cell_px);
    const size_t row = static_cast<size_t>(y) / static_cast<size_t>(cell_px);
    double& cell = cells[row * static_cast<size_t>(columns) + column];
    squares += 2 * cell + 1;  // (cell + 1)^2 - cell^2
    cell += 1;
    sum += 1;
  }
  if (sum == 0) return 0;
  const double area = static_cast<double>(picture.width_px) * picture.height_px;
  const double crowded = squares / sum * area / (static_cast<double>(cell_px) * cell_px);
  // A few features alone in their cells are no crowd, and a dense crowd may cover some ground.
  return static_cast<int>(sum *
                          std::pow(std::clamp(crowded / sum, 1.0, kMaxCrowded), kCrowdExponent));
}

// Factor for the radii of circles of the features' sizes, up to 1, with which their lines cover a
// bearable part of the picture where it is crowded; 0 = the circles would be too small to be seen
// as such.
float CircleScale(const Picture& picture, const v1::FeatureSet& features, int crowded,
                  float width) {
  const double area = static_cast<double>(picture.width_px) * picture.height_px;
  double inked = 0;
  float smallest = std::numeric_limits<float>::infinity();
  for (const float size : features.size()) {
    if (!std::isfinite(size)) continue;
    inked += std::numbers::pi * std::max(size, 2.0f) * width;
    smallest = std::min(smallest, size);
  }
  inked *= static_cast<double>(crowded) / std::max(features.x_size(), 1);
  const auto scale = static_cast<float>(std::min(1.0, kInkedShare * area / std::max(inked, 1.0)));
  return scale * smallest / 2 < kSmallestCirclePx * width ? 0.0f : scale;
}

// Opacity of each feature: the strongest response is the clearest.
std::vector<float> ResponseOpacity(const v1::FeatureSet& features) {
  const int count = features.x_size();
  std::vector<float> opacity(static_cast<size_t>(count), 1.0f);
  if (features.response_size() != count || count < 2) return opacity;
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&features](int a, int b) {
    return features.response(a) < features.response(b);
  });
  for (int rank = 0; rank < count; ++rank) {
    const float share = static_cast<float>(rank) / static_cast<float>(count - 1);
    opacity[static_cast<size_t>(order[rank])] = kWeakest + (1 - kWeakest) * share;
  }
  return opacity;
}

// A line with a dark edge, which shows on white ground, too.
void CasedLine(float x0, float y0, float x1, float y1, float width, Colour colour, float opacity,
               Canvas* canvas) {
  canvas->Line(x0, y0, x1, y1, width + kCasingPx, kCasing, opacity * kCasingOpacity);
  canvas->Line(x0, y0, x1, y1, width, colour, opacity);
}

void CasedCircle(float x, float y, float radius, float width, Colour colour, float opacity,
                 Canvas* canvas) {
  canvas->Circle(x, y, radius, width + kCasingPx, kCasing, opacity * kCasingOpacity);
  canvas->Circle(x, y, radius, width, colour, opacity);
}

void CasedDisc(float x, float y, float radius, Colour colour, float opacity, Canvas* canvas) {
  canvas->Disc(x, y, radius + kCasingPx / 2, kCasing, opacity * kCasingOpacity);
  canvas->Disc(x, y, radius, colour, opacity);
}

void DrawTick(const v1::FeatureSet& features, int i, float length, float width, Colour colour,
              float opacity, Canvas* canvas) {
  if (features.angle(i) < 0 || length <= 0) return;
  const float angle = features.angle(i) * std::numbers::pi_v<float> / 180.0f;
  const float x = features.x(i);
  const float y = features.y(i);
  CasedLine(x, y, x + length * std::cos(angle), y + length * std::sin(angle), width, colour,
            opacity, canvas);
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
  canvas.TurnGrey();
  canvas.Dim(0.85f);
  const float width = LineWidth(picture.width_px, picture.height_px);
  const int crowded = CrowdedCount(picture, features);
  const float scale =
      features.descriptor_bytes() > 0 ? CircleScale(picture, features, crowded, width) : 0.0f;
  const MarkStyle marks = MarksFor(picture, crowded, width);
  const std::vector<float> opacity = ResponseOpacity(features);
  // Coarse levels come first: small circles stay visible on large ones.
  for (int i = features.x_size() - 1; i >= 0; --i) {
    const Colour colour = LevelColour(features.octave(i));
    const float x = features.x(i);
    const float y = features.y(i);
    const float strength = opacity[static_cast<size_t>(i)];
    if (scale > 0) {
      const float radius = std::max(scale * features.size(i) / 2, 1.0f);
      CasedCircle(x, y, radius, width, colour, kCircleOpacity * strength, &canvas);
      DrawTick(features, i, radius, width, colour, strength, &canvas);
    } else {
      CasedDisc(x, y, marks.radius_px, colour, marks.opacity * strength, &canvas);
      DrawTick(features, i, marks.tick_px, width, colour, marks.opacity * strength, &canvas);
    }
  }
  return canvas.picture();
}

Picture DrawMatches(const Picture& query_picture, const v1::FeatureSet& query,
                    const Picture& train_picture, const v1::FeatureSet& train,
                    const v1::MatchSet& matches, const std::vector<bool>* inliers) {
  const int train_x = query_picture.width_px + kGapPx;
  Canvas canvas(train_x + train_picture.width_px,
                std::max(query_picture.height_px, train_picture.height_px));
  canvas.Paste(query_picture, 0, 0);
  canvas.Paste(train_picture, train_x, 0);
  canvas.TurnGrey();
  canvas.Dim(0.85f);
  const float width = LineWidth(canvas.width_px() / 2, canvas.height_px());
  std::vector<int> order = DrawingOrder(matches, query.x_size(), train.x_size());
  const auto is_inlier = [inliers](int i) {
    return static_cast<size_t>(i) < inliers->size() && (*inliers)[static_cast<size_t>(i)];
  };
  // Inliers come last, on top.
  if (inliers != nullptr) std::stable_partition(order.begin(), order.end(), std::not_fn(is_inlier));
  // A thousand opaque lines would hide the pictures.
  const float opacity = std::clamp(40.0f / static_cast<float>(order.size() + 1), 0.2f, 0.9f);
  const auto colour_of = [&](int i) {
    return inliers != nullptr ? InlierColour(is_inlier(i)) : ColourOf(matches, i);
  };
  for (const int i : order) {
    const int q = static_cast<int>(matches.query_index(i));
    const int t = static_cast<int>(matches.train_index(i));
    CasedLine(query.x(q), query.y(q), static_cast<float>(train_x) + train.x(t), train.y(t),
              width * 0.8f, colour_of(i), opacity, &canvas);
  }
  for (const int i : order) {
    const int q = static_cast<int>(matches.query_index(i));
    const int t = static_cast<int>(matches.train_index(i));
    CasedCircle(query.x(q), query.y(q), width * 2.0f, width, colour_of(i), kCircleOpacity, &canvas);
    CasedCircle(static_cast<float>(train_x) + train.x(t), train.y(t), width * 2.0f, width,
                colour_of(i), kCircleOpacity, &canvas);
  }
  return canvas.picture();
}

Picture DrawMatched(const Picture& picture, const v1::FeatureSet& features,
                    const v1::MatchSet& matches) {
  Canvas canvas(picture);
  canvas.TurnGrey();
  canvas.Dim(0.85f);
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
  canvas.TurnGrey();
  canvas.Dim(0.85f);
  const float width = LineWidth(picture.width_px, picture.height_px);
  DrawFaintDots(picture, features, width, &canvas);
  for (const int i : DrawingOrder(matches, features.x_size(), previous.x_size())) {
    const int q = static_cast<int>(matches.query_index(i));
    const int t = static_cast<int>(matches.train_index(i));
    CasedLine(previous.x(t), previous.y(t), features.x(q), features.y(q), width,
              ColourOf(matches, i), 0.8f, &canvas);
    CasedDisc(features.x(q), features.y(q), width * 1.6f, ColourOf(matches, i), 1.0f, &canvas);
  }
  return canvas.picture();
}

Picture DrawTracks(const Picture& picture, const TrackTails& tails) {
  Canvas canvas(picture);
  canvas.TurnGrey();
  canvas.Dim(0.85f);
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
    CasedDisc(tail->places.back()[0], tail->places.back()[1], marks.radius_px, colour,
              marks.opacity, &canvas);
  }
  return canvas.picture();
}

}  // namespace orbserve::cli
