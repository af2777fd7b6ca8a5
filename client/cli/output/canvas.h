// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_CANVAS_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_CANVAS_H_

#include <cstdint>

#include "client/cli/images/picture.h"

namespace orbserve::cli {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;

  bool operator==(const Colour&) const = default;
};

// Draws smooth lines and circles on an RGB picture. Coordinates are pixels, (0, 0) the centre of
// the top-left one; whatever lies outside is cut. `opacity` in [0, 1].
class Canvas {
 public:
  // A black canvas.
  Canvas(int width_px, int height_px);
  // On a copy of `picture`, in its colours, or grey.
  explicit Canvas(const Picture& picture);

  int width_px() const { return picture_.width_px; }
  int height_px() const { return picture_.height_px; }
  const Picture& picture() const { return picture_; }

  // Copies `picture` so that its top-left pixel lies at (x, y).
  void Paste(const Picture& picture, int x, int y);
  // Makes every pixel `share` in [0, 1] as bright.
  void Dim(float share);
  void Line(float x0, float y0, float x1, float y1, float line_px, Colour colour, float opacity);
  // Outline of a circle.
  void Circle(float x, float y, float radius_px, float line_px, Colour colour, float opacity);
  // Filled circle.
  void Disc(float x, float y, float radius_px, Colour colour, float opacity);

 private:
  void Blend(int x, int y, Colour colour, float opacity);

  Picture picture_;
};

// A colour between green (0) through yellow to red (1); `t` is cut to [0, 1].
Colour Heat(float t);

// Well distinguishable colours for small numbers such as pyramid levels; repeats.
Colour LevelColour(int level);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_CANVAS_H_
