// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/legend.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/cli/output/drawing/overlay.h"

namespace orbserve::cli {
namespace {

constexpr int kNarrowestPx = 240;
constexpr int kScaleDots = 5;
constexpr Colour kTextColour{225, 225, 225};

// Letters as lines on a grid of 5 by 11 points: x from 0 to 4, y from 0 (top) to 8 (base line) and
// a (below it). Two characters are a point, a space begins a new line.
struct Glyph {
  char letter;
  const char* lines;
};
constexpr Glyph kGlyphs[] = {
    {'0', "103041473818070110"},
    {'1', "122028"},
    {'2', "0110304143340848"},
    {'3', "01103041433424 344547381807"},
    {'4', "38300646"},
    {'5', "400003334447381807"},
    {'6', "301001071838474533 3313 1305"},
    {'7', "004018"},
    {'8', "1030414334140301 0110 14050718384745 4534"},
    {'9', "183847413010010314344"},
    {'a', "13334448 451506071838 3847"},
    {'b', "0008 041333444738 381807"},
    {'c', "443313040718 183847"},
    {'d', "4048 443313040718 183847"},
    {'e', "064644331304 04071838"},
    {'f', "30201118 0434"},
    {'g', "43493a1a 443313040718 183847"},
    {'h', "0008 0413334448"},
    {'i', "2328 2021"},
    {'j', "33392a1a 3031"},
    {'k', "0008 4306 2548"},
    {'l', "202738"},
    {'m', "0308 04132428 24334448"},
    {'n', "0308 0413334448"},
    {'o', "1333444738180704 0413"},
    {'p', "030a 041333444738 381807"},
    {'q', "434a 443313040718 183847"},
    {'r', "0308 051333"},
    {'s', "433313041535 3546473807"},
    {'t', "10172838 0333"},
    {'u', "0307183847 4348"},
    {'v', "032843"},
    {'w', "0318253843"},
    {'x', "0348 4308"},
    {'y', "0328 431a"},
    {'z', "03430848"},
    {'.', "2728"},
    {',', "271a"},
    {':', "2425 2728"},
    {'-', "0545"},
    {'+', "0545 2327"},
    {'/', "4008"},
};

int CoordinateOf(char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; }

}  // namespace

float DrawText(const std::string& text, float x, float y, float height_px, Colour colour,
               Canvas* canvas) {
  const float unit = height_px / 8;
  const float line_px = std::max(unit * 0.95f, 1.0f);
  for (const char letter : text) {
    const auto* const glyph = std::find_if(std::begin(kGlyphs), std::end(kGlyphs),
                                           [letter](const Glyph& g) { return g.letter == letter; });
    const std::string lines = glyph == std::end(kGlyphs) ? "" : glyph->lines;
    for (size_t at = 0; at + 3 < lines.size(); at += 2) {
      if (lines[at] == ' ') ++at;
      if (at + 3 >= lines.size() || lines[at + 2] == ' ') continue;
      const auto point = [&](size_t from) {
        return std::pair(x + static_cast<float>(CoordinateOf(lines[from])) * unit,
                         y + static_cast<float>(CoordinateOf(lines[from + 1])) * unit);
      };
      const auto [x0, y0] = point(at);
      const auto [x1, y1] = point(at + 2);
      canvas->Line(x0, y0, x1, y1, line_px, colour, 1.0f);
    }
    x += 6 * unit;
  }
  return x;
}

Picture WithLegend(const Picture& picture, const std::vector<LegendEntry>& entries) {
  if (picture.width_px < kNarrowestPx || entries.empty()) return picture;
  const int side_px = std::min(picture.width_px, 2 * picture.height_px);
  const float text_px = std::clamp(static_cast<float>(side_px) / 72, 8.0f, 40.0f);
  const int strip_px = static_cast<int>(text_px * 2.2f);
  Canvas canvas(picture.width_px, picture.height_px + strip_px);
  canvas.Paste(picture, 0, 0);
  const float top = static_cast<float>(picture.height_px) + text_px * 0.6f;
  const float middle = top + text_px / 2;
  float x = text_px;
  for (const LegendEntry& entry : entries) {
    const float wanted = static_cast<float>(entry.colours.size()) * text_px +
                         static_cast<float>(entry.text.size()) * text_px * 0.75f;
    if (x + wanted > static_cast<float>(picture.width_px)) break;
    for (const Colour& colour : entry.colours) {
      canvas.Disc(x, middle, text_px * 0.45f, colour, 1.0f);
      x += text_px;
    }
    x = DrawText(entry.text, x, top, text_px, kTextColour, &canvas) + text_px * 1.2f;
  }
  return canvas.picture();
}

std::vector<LegendEntry> FeatureLegend(const v1::FeatureSet& features) {
  std::vector<LegendEntry> entries;
  const std::set<int> levels(features.octave().begin(), features.octave().end());
  for (const int level : levels) {
    entries.push_back({.colours = {LevelColour(level)},
                       .text = absl::StrCat(entries.empty() ? "level " : "", level)});
  }
  entries.push_back({.text = absl::StrCat(features.x_size(), " features, faint: weak")});
  return entries;
}

std::vector<LegendEntry> DistanceLegend(int matches) {
  LegendEntry scale;
  for (int i = 0; i < kScaleDots; ++i) {
    scale.colours.push_back(Heat(static_cast<float>(i) / (kScaleDots - 1)));
  }
  scale.text = absl::StrCat("distance 0 to ", static_cast<int>(kFarDistance), " bits");
  return {scale, {.text = absl::StrCat(matches, " matches")}};
}

std::vector<LegendEntry> InlierLegend(int inliers, int outliers) {
  return {{.colours = {InlierColour(true)}, .text = absl::StrCat(inliers, " inliers")},
          {.colours = {InlierColour(false)}, .text = absl::StrCat(outliers, " outliers")}};
}

}  // namespace orbserve::cli
