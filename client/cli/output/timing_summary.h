// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Times of many frames in one table: `orbserve extract --timings`.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_TIMING_SUMMARY_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_TIMING_SUMMARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Collects the timings of frames. Keeps every figure (8 bytes each), because quantiles are exact.
// Thread-safe.
class TimingSummary {
 public:
  // Time of one part of a frame's way (decode, queue, upload, compute, download, total) or of one
  // stage of the pipeline.
  struct Row {
    std::string name;
    int64_t frames = 0;    // number of frames with this part
    double median_ms = 0;  // mean of the two middle figures of an even number; 0 if no frames
    double p90_ms = 0;     // smallest figure that 90 % do not exceed; 0 if no frames
    std::optional<double> share;  // stages only: part of the time of all stages, 0..1
    bool sampled = false;         // the server does not time this stage in every batch
  };

  // Adds one frame. A part that did not happen (0 ns) is not counted.
  void Add(const v1::FrameTimings& timings);

  // Returns one row per part, in the order in which a frame passes them. The stages follow
  // `compute`, which contains them: in the order of the pipeline, then unknown names by their
  // bytes. The order does not depend on the order of the frames.
  std::vector<Row> Rows() const;

 private:
  struct Figures {
    std::vector<uint64_t> durations_ns;  // one per frame, in any order
    bool sampled = false;
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Figures> parts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Figures> stages_ ABSL_GUARDED_BY(mutex_);
};

// The rows as a table with a heading; docs/cli.md describes the columns.
std::string TimingTable(const std::vector<TimingSummary::Row>& rows);

// The rows as one line of JSON without its end; docs/formats.md describes the keys.
std::string TimingJson(const std::vector<TimingSummary::Row>& rows);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_TIMING_SUMMARY_H_
