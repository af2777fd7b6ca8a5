// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The camera of the images of a COLMAP database, as far as it is known.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FILES_COLMAP_CAMERA_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FILES_COLMAP_CAMERA_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/options.h"

namespace orbserve::cli {

struct ColmapCamera {
  int model = 2;               // COLMAP's number of it: SIMPLE_RADIAL
  std::vector<double> params;  // in COLMAP's order; empty = to be guessed from the image's size
  double focal_px = 0;         // with `params` empty: the focal length, 0 = to be guessed, too

  // True if the focal length is known, not guessed.
  bool has_focal() const { return !params.empty() || focal_px > 0; }
  // The parameters for images of this size. A guess is COLMAP's own: a focal length of 1.2 times
  // the longer side, the centre of the image, and no distortion.
  std::vector<double> ParamsFor(uint32_t width_px, uint32_t height_px) const;
};

// Returns the camera that the options describe. INVALID_ARGUMENT: an unknown model, parameters that
// are not those of the model, or a focal length that is given twice.
absl::StatusOr<ColmapCamera> ParseColmapCamera(const ColmapCameraOptions& options);

// ParseColmapCamera() for a command. INVALID_ARGUMENT, too: there are such options, but the command
// writes no COLMAP database (`to_colmap`).
absl::StatusOr<ColmapCamera> CameraFor(const ColmapCameraOptions& options, bool to_colmap);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FILES_COLMAP_CAMERA_H_
