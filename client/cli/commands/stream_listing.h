// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The text that `orbserve stream` writes to standard output for its frames.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_LISTING_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_LISTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/images/simulation/true_motion.h"
#include "client/cli/output/json_writer.h"
#include "orbserve/client.h"

namespace orbserve::cli {

// A connection that was lost and replaced before a frame.
struct Reconnection {
  int attempts = 0;                      // connections that were tried
  std::vector<uint64_t> lost_sequences;  // of the frames that were lost with the old one
};

// A frame with its answer, and all that goes with it.
struct StreamRow {
  std::string name;
  const v1::FrameResult* result = nullptr;
  client::FrameTimes times;
  const v1::FeatureSet* previous = nullptr;  // that it was matched with, if they are known
  std::string overlay;                       // picture written for it; may be empty
  std::optional<TrueMotion> truth;           // of a simulated camera
  std::optional<double> track_error_px;      // median error of the tracks, if the truth is known
  std::optional<Reconnection> reconnected;
};

class StreamListing {
 public:
  enum class Kind { kTable, kJson };

  // Parts of a stream beside features; the table has columns for each.
  struct Contents {
    std::vector<std::string> references;
    bool keyframes = false;  // matches with the last keyframe
    bool tracks = false;
    bool truth = false;  // the true motion of a simulated camera
    bool energy = false;
    bool matches = false;  // rows and points of all matches, in JSON only
  };

  StreamListing(Kind kind, Contents contents);

  Kind kind() const { return kind_; }

  // Line of column names; empty for JSON.
  std::string Heading() const;

  // Text for one frame. The table has the reason and the times of a frame that was dropped or
  // answered too late, and no row for one that failed otherwise.
  std::string Row(const StreamRow& row) const;

 private:
  std::string TableRow(const StreamRow& row) const;
  std::string JsonRow(const StreamRow& row) const;

  void AddMatches(const StreamRow& row, JsonWriter* json) const;

  const Kind kind_;
  const Contents contents_;
};

// Reasons, in the table of errors, for which a server leaves a frame out as it was asked to.
inline constexpr char kDropped[] = "DROPPED";
inline constexpr char kLate[] = "DEADLINE_EXCEEDED";

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_LISTING_H_
