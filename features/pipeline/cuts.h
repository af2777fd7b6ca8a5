// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Cuts: how many corners and keypoints of each level go on, as the parameters of one frame ask.

#ifndef ORBSERVE_FEATURES_PIPELINE_CUTS_H_
#define ORBSERVE_FEATURES_PIPELINE_CUTS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "features/options.h"

namespace orbserve {

struct Cuts {
  static constexpr int32_t kNoCut = std::numeric_limits<int32_t>::max();

  // Corners of each level that are kept by FAST score, before their responses are computed. Further
  // corners whose score equals the last one's are kept, too. kNoCut where lists are keyed.
  std::array<int32_t, kMaxLevels> by_score{};
  // Keypoints of each level that are kept. LEVEL_QUOTA keeps the best by response, and ties with
  // the last one, too; ORB_SLAM3 a few more (algo::MostNodes()); QUADTREE keeps exactly as many.
  // With `all_levels` (BEST, CELL) the first entry counts for all levels together, and exactly as
  // many are kept: BEST keeps the first ones by response (down), level (up), y (up), x (up).
  std::array<int32_t, kMaxLevels> by_response{};
  bool all_levels = false;
  bool keeps_ties = false;  // MayExceedWanted()
  int32_t wanted = 0;       // max_features
  int32_t capacity = 0;     // of the answer

  // True when more keypoints qualified than the answer may hold. `survivors` passed the first cut
  // and `ranked` the second one, on all levels together.
  bool Truncates(int64_t survivors, int64_t ranked) const {
    return (keeps_ties ? ranked : std::min<int64_t>(wanted, survivors)) > capacity;
  }

  // Most features of the answer. The levels of a QUADTREE may together keep more than are wanted.
  int32_t answer_limit() const { return keeps_ties ? capacity : std::min(wanted, capacity); }

  // Best features of the detector SIFT that go on, with the ties of the last one.
  int32_t answer_cut() const { return std::min(wanted, capacity); }

  // Cuts of a pipeline with valid options for a frame with valid parameters.
  static Cuts For(const PipelineOptions& options, const FrameParameters& parameters);
};

// True where an answer may have more features than are wanted: LEVEL_QUOTA, ORB_SLAM3 and the
// detector SIFT.
bool MayExceedWanted(const PipelineOptions& options);

// True where the second cut compares the keypoints of all levels with each other: BEST and CELL.
bool CutsAllLevels(const PipelineOptions& options);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_CUTS_H_
