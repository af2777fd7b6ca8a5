// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Settings of SIFT that reach different branches.

#ifndef ORBSERVE_TESTS_SUPPORT_SIFT_SETTINGS_H_
#define ORBSERVE_TESTS_SUPPORT_SIFT_SETTINGS_H_

#include <vector>

#include "features/options.h"

namespace orbserve::testing {

// Parameters of cv::SIFT::create(), and the first octave.
struct SiftSettings {
  int max_features = 0;
  int octave_layers = 3;
  double contrast_threshold = 0.04;
  double edge_threshold = 10.0;
  double sigma = 1.6;
  int first_octave = -1;

  SiftOptions options() const {
    return {octave_layers, contrast_threshold, edge_threshold, sigma, first_octave};
  }
};

inline std::vector<SiftSettings> SiftSettingSets() {
  std::vector<SiftSettings> sets = {{}, {.first_octave = 0}};
  for (const int layers : {1, 2, 4, 5, 6, 8}) sets.push_back({.octave_layers = layers});
  for (const double contrast : {0.0, 0.01, 0.02, 0.08}) {
    sets.push_back({.contrast_threshold = contrast});
  }
  for (const double edge : {0.5, 3.0, 20.0, 1000.0}) sets.push_back({.edge_threshold = edge});
  for (const double sigma : {0.1, 0.3, 0.7, 1.2, 2.7, 4.0}) sets.push_back({.sigma = sigma});
  for (const int features : {1, 50, 500, 2000}) sets.push_back({.max_features = features});
  // Blurs of 3 and 5 taps.
  sets.push_back({.octave_layers = 8, .sigma = 0.9});
  sets.push_back({.octave_layers = 5, .sigma = 0.4, .first_octave = 0});
  sets.push_back({.max_features = 1000,
                  .octave_layers = 4,
                  .contrast_threshold = 0.02,
                  .edge_threshold = 15.0,
                  .sigma = 1.4,
                  .first_octave = 0});
  sets.push_back({.max_features = 3000, .octave_layers = 2, .contrast_threshold = 0.015});
  return sets;
}

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_SIFT_SETTINGS_H_
