// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_SIMULATED_FLIGHT_H_
#define ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_SIMULATED_FLIGHT_H_

#include <cstdint>

#include "client/cli/images/picture.h"
#include "client/cli/images/simulation/true_motion.h"

namespace orbserve::cli {

// A virtual camera that flies over a photograph: it drifts over the whole of it, rises and sinks,
// and turns. A frame follows from its number alone, bit for bit on every machine: the path is
// rounded to 2^-20, and pixels are interpolated between four neighbours with integers. The true
// motion is that of the rounded path, without an error.
//
// A photograph much larger than the frame is made smaller first, by means of 2x2 pixels, so that
// the camera does not skip pixels.
class SimulatedFlight {
 public:
  // `photo`: grey, 16 pixels or more on each side, and up to 32768. `width_px`, `height_px`: of the
  // frames, from 16 on.
  SimulatedFlight(Picture photo, int width_px, int height_px);

  // The frame number `index`, from 0.
  Picture Frame(int64_t index) const;

  // Map from pixels of the frame number `index` to pixels of the photograph.
  Affine ToPhoto(int64_t index) const;

  // Map from pixels of the frame number `from` to pixels of the frame number `to`.
  Affine Motion(int64_t from, int64_t to) const;

 private:
  // Map from pixels of a frame to pixels of `scene_`. Factors in 2^-20, offsets in 2^-20 pixels.
  struct View {
    int64_t xx, xy, x0, yx, yy, y0;
  };
  View ViewOf(int64_t index) const;

  Picture scene_;     // the photograph, made smaller
  int halvings_ = 0;  // times that each side of the photograph was halved
  const int width_px_;
  const int height_px_;
  double scale_ = 1;    // pixels of the scene per pixel of a frame, at the largest height
  double reach_x_ = 0;  // largest distance of the camera from the middle, pixels of the scene
  double reach_y_ = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_IMAGES_SIMULATION_SIMULATED_FLIGHT_H_
