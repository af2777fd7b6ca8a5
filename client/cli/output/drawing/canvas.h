// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_CANVAS_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_CANVAS_H_

#include <cstdint>

#include "client/cli/images/picture.h"

namespace orbserve::cli {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;

  bool operator==(const Colour&) const = default;
};

// Draws smooth lines and circles on an RGB picture. Coordinates are pixels; (0, 0) is the centre of
// the top-left pixel. Shapes are clipped at the borders before they are drawn, so that the time of
// each is bounded by the picture, whatever its numbers are. `opacity` in [0, 1].
class Canvas {
 public:
  // Creates a black canvas.
  Canvas(int width_px, int height_px);
  // Creates a canvas with a copy of `picture`. A grey picture becomes RGB.
  explicit Canvas(const Picture& picture);

  int width_px() const { return picture_.width_px; }
  int height_px() const { return picture_.height_px; }
  const Picture& picture() const { return picture_; }

  // Copies `picture` so that its top-left pixel lies at (x, y).
  void Paste(const Picture& picture, int x, int y);
  // Removes the colours.
  void TurnGrey();
  // Multiplies every channel by `share` in [0, 1].
  void Dim(float share);
  void Line(float from_x, float from_y, float to_x, float to_y, float line_px, Colour colour,
            float opacity);
  // Draws the outline of a circle.
  void Circle(float x, float y, float radius_px, float line_px, Colour colour, float opacity);
  // Draws a filled circle.
  void Disc(float x, float y, float radius_px, Colour colour, float opacity);

 private:
  void Blend(int x, int y, Colour colour, float opacity);

  Picture picture_;
};

// Returns a colour from sky blue (0) through yellow to vermilion (1); `t` is clamped to [0, 1].
Colour Heat(float t);

// Returns the colour of matches that a geometric check keeps (sky blue) or drops (vermilion).
Colour InlierColour(bool inlier);

// Returns a colour from blue (0) through green to yellow (1); `t` is clamped to [0, 1].
Colour AgeColour(float t);

// Returns a colour for a small number such as a pyramid level. Eight colours repeat, which
// people with any colour vision can tell apart.
Colour LevelColour(int level);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_CANVAS_H_
