// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_FRAME_LEVEL_POINT_H_
#define ORBSERVE_CPU_FRAME_LEVEL_POINT_H_

#include <cstdint>

namespace orbserve::cpu {

// A keypoint of one level: a corner that was ranked and kept, or one that the caller gave. In
// pixels of its level.
struct LevelPoint {
  int16_t x;
  int16_t y;
  float response;
  float angle_deg;
};

// A keypoint in pixels of level 0, for descriptors of it. `size_px`: side of its patch.
struct PatchPoint {
  float x;
  float y;
  float size_px;
  float angle_deg;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_FRAME_LEVEL_POINT_H_
