// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Which answers of OpenCV 4.6.0 are kept in tests/data/orb-golden/: golden_maker.cc writes them,
// golden_orb_test.cc compares with them.

#ifndef ORBSERVE_TESTS_CPU_GOLDEN_CASES_H_
#define ORBSERVE_TESTS_CPU_GOLDEN_CASES_H_

#include "features/options.h"

namespace orbserve::testing {

// NAME.csv is what cv::ORB finds in IMAGE.png under these settings; the rest is at its defaults.
struct GoldenCase {
  const char* name;
  const char* image;
  const char* mask;  // MASK.png; "" = none
  int max_features;
  int levels;
  float scale_factor;
  Score score;
};

constexpr GoldenCase kGoldenCases[] = {
    {"scene_harris", "scene", "", 200, 8, 1.2f, Score::kHarris},
    {"scene_fast_score", "scene", "", 150, 4, 1.5f, Score::kFast},
    {"scene_masked", "scene", "scene_mask", 120, 8, 1.2f, Score::kHarris},
    {"noise_harris", "noise", "", 150, 3, 2.0f, Score::kHarris},
    // Whole rows and columns of features tie at every cut.
    {"lattice_ties", "lattice", "", 20, 8, 1.2f, Score::kHarris},
};

// IMAGE.fast20.csv is what cv::FAST finds (ring of 16, arcs of 9, threshold 20, suppression).
constexpr const char* kGoldenFastImages[] = {"scene", "noise", "lattice"};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CPU_GOLDEN_CASES_H_
