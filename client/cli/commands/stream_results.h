// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_RESULTS_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_RESULTS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/commands/frame_sender.h"
#include "client/cli/commands/stream_listing.h"
#include "client/cli/commands/stream_status.h"
#include "client/cli/output/console.h"
#include "client/cli/output/drawing/stream_pictures.h"
#include "client/cli/output/drawing/track_tails.h"
#include "orbserve/client.h"

namespace orbserve::cli {

// Prints, draws and counts the results of one stream. Used by one thread.
class StreamResults {
 public:
  // Prints the heading. Every pointer outlives this object. `pictures`: destination of drawings;
  // null = none. `tracks`: the stream keeps tracks. `frame_count`: number of frames for the status;
  // 0 = not known.
  StreamResults(const StreamListing* listing, StreamPictures* pictures, bool tracks,
                int64_t frame_count, Console* console);

  // Takes the result of the frame `sent`. Results come in the order of the frames. `link`: the
  // state of the stream with it.
  void Take(const FrameSender::Sent& sent, v1::FrameResult result, const client::FrameTimes& times,
            const client::LinkState& link);

  // Takes an event between two results.
  void Take(const client::StreamEvent& event);

  const StreamTotals& totals() const { return totals_; }
  // Mean number of tracks of the frames with an answer.
  double mean_tracks() const;

 private:
  // Counts a frame without features and reports it, unless the server left it out as it was asked
  // to.
  void TakeFailed(const FrameSender::Sent& sent, uint64_t sequence, const absl::Status& error);
  // Returns the matches with the frame before; null if there are none. Reports failed matches, once
  // for each target: a reference that does not exist is missing for every frame.
  const v1::FrameMatches* CheckMatches(const FrameSender::Sent& sent,
                                       const v1::FrameResult& result);
  // Writes the picture of a frame. Returns its path.
  absl::StatusOr<std::string> Draw(const FrameSender::Sent& sent, const v1::FrameResult& result,
                                   const v1::FrameMatches* previous) const;
  void Print(StreamRow row);

  const StreamListing* const listing_;
  StreamPictures* const pictures_;
  const bool tracks_;
  const int64_t frame_count_;
  Console* const console_;
  StreamTotals totals_;
  StreamPace pace_;
  client::LinkState link_;
  TrackTails tails_;
  int64_t track_sum_ = 0;
  int64_t tracked_ = 0;                      // frames with an answer
  std::set<std::string> reported_;           // targets whose failed matches are reported
  v1::FeatureSet previous_;                  // features of the last frame with an answer
  uint64_t previous_sequence_ = 0;           // of that frame
  std::set<uint64_t> lost_;                  // sequences of lost frames whose results follow
  std::optional<Reconnection> reconnected_;  // since the last row
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_RESULTS_H_
