// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The live status of `orbserve stream`.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_STATUS_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_STATUS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/time/time.h"
#include "orbserve/client.h"

namespace orbserve::cli {

struct StreamTotals {
  int64_t done = 0;
  int64_t failed = 0;     // frames with an error, other than those below
  int64_t dropped = 0;    // frames that were dropped, as the policy says
  int64_t late = 0;       // frames that were not answered before their deadline
  int64_t lost = 0;       // frames without an answer when a connection was lost
  int64_t matched = 0;    // frames with matches with the frame before
  int64_t unmatched = 0;  // frames with features, of which a match failed
  int64_t reconnected = 0;

  int64_t answered() const { return done + failed + dropped + late + lost; }
};

// Rate, and latency from capture to answer, over the latest frames.
class StreamPace {
 public:
  // Takes the answer of a frame that came at `now`, `latency` after the frame was captured.
  void Take(absl::Time now, absl::Duration latency);

  // Answers per second; 0 before the second one.
  double Rate() const;
  // Mean latency; zero before the first answer.
  absl::Duration Latency() const;

 private:
  struct Answer {
    absl::Time at;
    absl::Duration latency;
  };
  static constexpr size_t kMaxAnswers = 100;
  static constexpr absl::Duration kWindow = absl::Seconds(5);

  std::deque<Answer> answers_;
};

// "412/900 frames, 29.9 a second, latency 8.3 ms, 187 tracks, 3 dropped, 1 late". `count`: number
// of frames of the source, 0 = not known. `tracks`: of the latest frame, below 0 = none are kept.
// ", the link limits (152.0 ms)" is there while `link` says so, with the time on the way, and
// ", JPEG quality 60" for raw frames that are sent as JPEG files.
std::string StatusText(const StreamTotals& totals, const StreamPace& pace, int64_t count,
                       int64_t tracks, const client::LinkState& link);

// ", 3 dropped, 1 late, 2 failed": the frames that were not done, kinds without any left away.
std::string NotDone(const StreamTotals& totals);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_STATUS_H_
