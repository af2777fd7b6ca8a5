// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_TRACK_TAILS_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_TRACK_TAILS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "client/cli/images/simulation/true_motion.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// The latest places of every track that a stream has.
class TrackTails {
 public:
  static constexpr size_t kPlaces = 20;

  struct Tail {
    std::deque<std::array<float, 2>> places;  // level-0 pixels, oldest first, up to kPlaces
    uint32_t age_frames = 0;
    // Place in the photograph at which the track began, if the true motion is known.
    std::optional<std::array<double, 2>> origin;
  };

  // Takes the tracks of a frame with an answer. Tracks that it lacks have ended. `truth`: its true
  // motion, if that is known.
  void Take(const v1::FrameResult& result, const std::optional<TrueMotion>& truth);

  // Forgets all tracks.
  void Clear() { tails_.clear(); }

  // By id.
  const std::map<uint64_t, Tail>& tails() const { return tails_; }

  // Median distance, in pixels of the frame, of the tracks from the places to which the point at
  // which they began has truly moved. No value without a track that has a known origin and is older
  // than its first frame.
  std::optional<double> MedianErrorPx(const TrueMotion& truth) const;

 private:
  std::map<uint64_t, Tail> tails_;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_TRACK_TAILS_H_
