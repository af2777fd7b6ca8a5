// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_RESULTS_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_RESULTS_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/commands/frame_sender.h"
#include "client/cli/commands/stream_listing.h"
#include "client/cli/output/console.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

struct StreamTotals {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t matched = 0;    // frames with matches with the frame before
  int64_t unmatched = 0;  // frames with features, of which a match failed
};

// Prints, draws and counts the results of one stream. Used by one thread.
class StreamResults {
 public:
  // Prints the heading. Every pointer outlives this object. `draw_folder`: destination of pictures;
  // "" = none. `frame_count`: number of frames for the progress; 0 = not known.
  StreamResults(const StreamListing* listing, std::string draw_folder, int64_t frame_count,
                Console* console);

  // Takes the result of the frame `sent`. Results come in the order of the frames.
  void Take(const FrameSender::Sent& sent, v1::FrameResult result);

  const StreamTotals& totals() const { return totals_; }

 private:
  void Fail(const FrameSender::Sent& sent, const absl::Status& error);
  // Returns the matches with the frame before; null if there are none. Reports failed matches, once
  // for each target: a reference that does not exist is missing for every frame.
  const v1::FrameMatches* CheckMatches(const FrameSender::Sent& sent,
                                       const v1::FrameResult& result);
  // Writes the picture of a frame. Returns its path.
  absl::StatusOr<std::string> Draw(const FrameSender::Sent& sent, const v1::FrameResult& result,
                                   const v1::FrameMatches* previous) const;

  const StreamListing* const listing_;
  const std::string draw_folder_;
  Console* const console_;
  StreamTotals totals_;
  std::set<std::string> reported_;  // targets whose failed matches are reported
  v1::FeatureSet previous_;         // features of the last frame with an answer
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_RESULTS_H_
