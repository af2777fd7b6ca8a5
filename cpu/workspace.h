// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_WORKSPACE_H_
#define ORBSERVE_CPU_WORKSPACE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "cpu/aligned_buffer.h"
#include "cpu/stages.h"
#include "features/options.h"

namespace orbserve::cpu {

// Memory that one frame works in, laid out by its plan (cpu/plan.h) and used again by the next
// frame. A frame has one at a time; its tasks share it.
struct Workspace {
  // How far a level has come.
  struct Level {
    std::atomic<int> pending = 0;  // tasks of the running stage that are not done
    int candidates = 0;            // of which `keys` are scored
    int points = 0;                // kept
    int blur_runs = 0;
  };

  AlignedBuffer memory;
  AlignedBuffer mask_memory;  // empty until a frame brings a mask
  std::array<Level, kMaxLevels> levels;
  std::atomic<int> pending_levels = 0;

  // Given keypoints by level, and which row of the answer each belongs to.
  std::vector<LevelPoint> given_points;
  std::vector<uint32_t> given_rows;
  std::vector<uint8_t> given_descriptors;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_WORKSPACE_H_
