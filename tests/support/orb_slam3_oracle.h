// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The extractor of ORB-SLAM3 v1.0 in plain loops and lists, written from its published description
// alone. It shares no code with features/algo/, cpu/ and gpu/. The tree is a real list of boxes,
// and std::sort() itself puts its nodes in order.

#ifndef ORBSERVE_TESTS_SUPPORT_ORB_SLAM3_ORACLE_H_
#define ORBSERVE_TESTS_SUPPORT_ORB_SLAM3_ORACLE_H_

#include <string>
#include <vector>

#include "tests/support/method_oracle.h"

namespace orbserve::testing {

// A corner of one level that the tree chooses from, in pixels of the level.
struct Slam3Candidate {
  int x = 0;
  int y = 0;
  int score = 0;
};

// All intermediate values of one level.
struct Slam3Level {
  float scale = 1.0f;
  GreyPlane pixels;
  GreyPlane smoothed;  // of a level with features
  int quota = 0;
  std::vector<Slam3Candidate> candidates;  // in their order
  int roots = 0;
  std::vector<int> sorts;           // nodes of each sort
  std::vector<OracleFeature> kept;  // in their order
};

struct Slam3Answer {
  std::string refusal;  // empty if the frame is not refused
  std::vector<Slam3Level> levels;
  std::vector<OracleFeature> features;  // in the answer's order
  int first_lapping = 0;                // number of features outside the lapping area
};

// Of the options it uses levels, factor, wanted number, both thresholds and the lapping area.
Slam3Answer Slam3Extract(const GreyPlane& image, const OracleOptions& options);

// x, y, size, angle, response, octave and descriptor of all rows as bytes, 56 a feature.
std::string Slam3Records(const Slam3Answer& answer);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_ORB_SLAM3_ORACLE_H_
