// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results of one measurement of a load generator.

#ifndef ORBSERVE_CLIENT_CLI_LOAD_LOAD_RESULT_H_
#define ORBSERVE_CLIENT_CLI_LOAD_LOAD_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace orbserve::cli {

// Smallest sample that a share of `percent` of the sorted samples does not exceed; 0 without any.
double PercentileOf(const std::vector<float>& sorted, double percent);

struct LoadResult {
  int64_t frames = 0;             // measured: answered or failed
  int64_t failed = 0;             // of these
  absl::Status first_error;       // of a failed frame
  double sent_rate = 0;           // frames per second
  double answered_rate = 0;       // frames per second, without failures
  std::vector<float> latency_ms;  // of the answered frames, sorted
  std::vector<float> late_ms;     // from the intended to the true start of each frame, sorted
  std::vector<float> server_ms;   // from the arrival of the frame at the server to its answer
  double mean_batch = 0;
  std::optional<double> joules_per_frame;  // as the server estimates it
  double client_cpu_ms = 0;                // of this process, per answered frame
  std::optional<double> server_cpu_ms;     // of the server, per answered frame
};

// True if answers came as fast as frames were sent: 2 % may be missing, and as many as are under
// way at the end rather than at the beginning by chance. A queue that grows leaves more.
bool KeepsUp(const LoadResult& result);

// Takes the frames of a run. Thread-safe.
class LoadRecorder {
 public:
  struct Frame {
    absl::Time intended;  // closed loop: the true start
    absl::Time started;
    absl::Time finished;
    absl::Status status;
    uint64_t server_ns = 0;
    uint32_t batch = 0;
    std::optional<double> joules;
  };

  // Frames count whose intended start lies in [from, to): a frame that has to wait, or that comes
  // back after the end, counts. `closed`: frames count that finish in it.
  LoadRecorder(absl::Time from, absl::Time to, bool closed)
      : from_(from), to_(to), closed_(closed) {}

  void Add(const Frame& frame);

  // Result of all frames so far, without the CPU times.
  LoadResult Take();

 private:
  const absl::Time from_;
  const absl::Time to_;
  const bool closed_;
  absl::Mutex mutex_;
  LoadResult result_ ABSL_GUARDED_BY(mutex_);
  int64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;
  double joules_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t frames_with_joules_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t batches_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_LOAD_LOAD_RESULT_H_
