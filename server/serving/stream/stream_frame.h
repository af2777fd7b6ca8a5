// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The record of a frame of a stream, with the options that it arrived under and its result. A
// stream is an ordered list of such records.

#ifndef ORBSERVE_SERVER_SERVING_STREAM_STREAM_FRAME_H_
#define ORBSERVE_SERVER_SERVING_STREAM_STREAM_FRAME_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "features/backend.h"
#include "features/tracking/stream_tracks.h"
#include "server/clients/client_id.h"
#include "server/serving/frame/frame_record.h"
#include "server/serving/stream/stream_pictures.h"

namespace orbserve {

// The parts of a frame's result that the live page shows. All zero for a frame without features.
struct SeenResult {
  uint32_t features = 0;
  uint32_t width_px = 0;
  uint32_t height_px = 0;
};

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

// The bytes of a message in a block of their own.
struct MessageBytes {
  struct Free {
    void operator()(uint8_t* bytes) const { ::operator delete(bytes); }
  };
  std::unique_ptr<uint8_t, Free> data;
  size_t size = 0;
};

enum class MatchTarget { kPrevious, kKeyframe, kReference };

// Matches of one frame against one target.
struct TargetMatches {
  MatchTarget target = MatchTarget::kPrevious;
  uint64_t sequence = 0;           // of the frame matched against; not of a reference
  std::string reference;           // a reference's name
  uint64_t reference_version = 0;  // 0 when there is no such reference
  absl::Status status;
  Matches matches;
};

struct StreamResult {
  FrameOutcome outcome;  // features: as many as are wanted. A frame that failed has no other parts
  // Previous first, then keyframe, then references as they were asked for.
  std::vector<TargetMatches> matches;
  // The frame's tracks. Without `track` it has no tracks, but may have those that ended by this.
  FrameTracks tracks;
  bool is_keyframe = false;  // from now on it is the stream's keyframe
};

// Most bytes that an answer holds, also while it waits for its matches and tracks.
struct ResponseBound {
  int64_t fixed = 0;
  int64_t each_feature = 0;

  int64_t For(int64_t features) const { return fixed + features * each_feature; }
};

struct StreamFrame final : FrameRecord {
  // As the client asked. Nobody changes these once the frame is in its stream.
  uint64_t sequence = 0;  // the client's number, which matches against the frame report
  int64_t timestamp_ns = 0;
  MatchOptions match;
  int max_features = 0;                    // wanted number of features, and of tracks
  bool keyframe = false;                   // it asks to become the keyframe
  std::chrono::milliseconds time_limit{};  // from its arrival to its answer, 0 = none
  ResponseBound response_bound;
  int64_t most_features = 0;  // that the answer may have
  SteadyTime arrival;
  std::shared_ptr<const StreamOptions> options;  // of the `open` before it
  std::shared_ptr<StreamPicture> picture;        // null unless a viewer waits for it

  // The rest is guarded by the lock of the stream.
  uint64_t index = 0;                  // its place in the order: 0, 1, 2, ...
  std::weak_ptr<FrameInput> admitted;  // for FrameIntake::Begin()
  bool is_listed = false;              // in its stream
  bool has_begun = false;              // is in flight until its answer is sent
  int64_t response_bytes = 0;          // reserved for its answer
  bool is_extracted = false;           // or failed
  bool is_matched = false;             // it waits for no matches
  bool is_tracked = false;             // it waits for no tracks
  bool is_settled = false;             // later frames may start
  bool is_complete = false;            // its result may be given out
  bool is_given = false;               // its result is being encoded, or waits to be handed over
  bool is_encoded = false;
  bool becomes_keyframe = false;  // if it does not fail
  SteadyTime start;
  WorkTicket match_ticket = 0;
  WorkTicket track_ticket = 0;
  StreamResult result;    // from its computation on; of whoever encodes it while it is given out
  MessageBytes response;  // encoded, until it is written
  std::vector<MessageBytes> opened;  // go behind it
  SeenResult seen;
  std::vector<size_t> targets;  // of each match job: its place in result.matches
  // From the start of the frame until it is settled: its features as a target of matches, its
  // pyramid, all winners, and the tracks as they are if the frame does not fail.
  std::shared_ptr<const FrameState> match_state;
  std::shared_ptr<const FrameState> pyramid;
  std::shared_ptr<const Features> winners;
  std::unique_ptr<StreamTracks> tracks;
};

using StreamFramePtr = std::shared_ptr<StreamFrame>;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_STREAM_FRAME_H_
