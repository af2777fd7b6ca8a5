// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Known motion of a simulated camera.

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_TRUE_MOTION_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_TRUE_MOTION_H_

#include <array>
#include <optional>

namespace orbserve::cli {

// Maps (x, y) to (xx x + xy y + x0, yx x + yy y + y0). Pixels; (0, 0) is the centre of the top-left
// pixel.
struct Affine {
  double xx = 1;
  double xy = 0;
  double x0 = 0;
  double yx = 0;
  double yy = 1;
  double y0 = 0;

  std::array<double, 2> operator()(double x, double y) const {
    return {xx * x + xy * y + x0, yx * x + yy * y + y0};
  }

  // The map that applies `first`, then this one.
  Affine After(const Affine& first) const {
    return {.xx = xx * first.xx + xy * first.yx,
            .xy = xx * first.xy + xy * first.yy,
            .x0 = xx * first.x0 + xy * first.y0 + x0,
            .yx = yx * first.xx + yy * first.yx,
            .yy = yx * first.xy + yy * first.yy,
            .y0 = yx * first.x0 + yy * first.y0 + y0};
  }

  // The determinant must not be 0.
  Affine Inverse() const {
    const double det = xx * yy - xy * yx;
    return {.xx = yy / det,
            .xy = -xy / det,
            .x0 = (xy * y0 - yy * x0) / det,
            .yx = -yx / det,
            .yy = xx / det,
            .y0 = (yx * x0 - xx * y0) / det};
  }
};

// Motion of one frame.
struct TrueMotion {
  Affine to_photo;                      // from pixels of the frame to pixels of the photograph
  std::optional<Affine> from_previous;  // from pixels of the frame before to pixels of this one
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_TRUE_MOTION_H_
