// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_OPTIONS_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_OPTIONS_H_

#include <string>
#include <vector>

#include "features/backend.h"
#include "server/clients/client_id.h"

namespace orbserve {

// Choice of the frame to drop when no more frames may wait.
enum class DropPolicy {
  kBlock,   // none: the stream reads only what it has a place for
  kNewest,  // the newest frames survive: the oldest waiting frame goes
  kOldest,  // the oldest frames survive: the arriving frame goes
};

// Rule by which frames become keyframes. No rule chooses a frame without features: the next one
// that has some takes its place.
struct KeyframeRule {
  int every_frames = 0;  // one frame in so many that did not fail; 0 = no such rule
  // A frame becomes a keyframe when more than this share of the tracks that the last keyframe had
  // has ended, percent, or when the last keyframe had none and the frame has some; 0 = no such
  // rule. Needs `track`.
  int lost_percent = 0;

  bool empty() const { return every_frames == 0 && lost_percent == 0; }
};

// Options of a stream from one frame on.
struct StreamOptions {
  ClientId client;  // whose references are meant, and whose turn matches and tracks take
  bool match_previous = false;
  bool match_keyframe = false;
  std::vector<std::string> references;
  // Search window of matches with keyframe and references. The window of a frame is for the
  // previous frame.
  MatchOptions reference_window;
  // The first frame with features becomes a keyframe if there is a rule or `match_keyframe`.
  KeyframeRule keyframe_rule;
  bool track = false;
  PipelineOptions pipeline;
  TrackOptions track_options;
  bool omit_features = false;  // in answers
  DropPolicy drop_policy = DropPolicy::kBlock;
  int max_in_flight = 1;  // frames that are computed at a time
  int max_waiting = 0;    // frames that wait behind them, 0 with kBlock
  std::string preset;     // of the pipeline, for the people who run the server

  // Most targets that a frame is matched against.
  int match_targets() const {
    return static_cast<int>(references.size()) + (match_previous ? 1 : 0) +
           (match_keyframe ? 1 : 0);
  }
  bool matches() const { return match_targets() > 0; }
  // Part of each frame that its job must keep (FrameJob). With kPyramid the plan has
  // `track_options.levels`, and the backend is asked for WinnersToAskFor() features (winners.h).
  KeepState keep_state() const {
    if (track) return KeepState::kPyramid;
    return matches() ? KeepState::kFeatures : KeepState::kNone;
  }
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_OPTIONS_H_
