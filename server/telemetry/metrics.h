// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's Prometheus families (docs/metrics.md). Recording takes no lock (except for busy
// intervals, once a batch) and allocates nothing, apart from the first observation of a set of
// pipeline stages. A scrape reads the counters and blocks no other thread.

#ifndef ORBSERVE_SERVER_TELEMETRY_METRICS_H_
#define ORBSERVE_SERVER_TELEMETRY_METRICS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "features/pipeline/stage.h"
#include "server/telemetry/frame_times.h"
#include "server/telemetry/metric_page.h"

namespace orbserve {

// Why the server ended a call that its client had not.
enum class AbortCause {
  kSendTimeout,  // an answer was not read in time
  kIdleStream,   // the stream sent nothing for too long
  kPreempted,    // another client needed the stream's place more
  kCredentials,  // the token of the client is not valid any more
};

// Value of a label: "idle_stream".
absl::string_view NameOf(AbortCause cause);

// Frames of the server's whole life. At rest `received` is the sum of `ok` and `failed`.
struct FrameCounts {
  int64_t received = 0;
  int64_t ok = 0;
  int64_t failed = 0;  // of all reasons
};

// A device of a backend: a pair of label values.
struct MetricDevice {
  std::string backend;  // "cpu"
  std::string device;   // "cpu", "cuda:0"
};

struct MetricsOptions {
  std::string version;                // for orbserve_build_info
  std::vector<MetricDevice> devices;  // every device that batches may run on
};

// Thread-safe. An unknown device or method is recorded in the series "other".
class Metrics {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A call ended with `code`; failures are recorded as successes are. `method`: "Extract",
  // "StreamFrames", ... without package and service.
  void ObserveRequest(absl::string_view method, absl::StatusCode code, double seconds);

  // The answer to one frame of a call of `method` is handed to gRPC. Also for frames that failed.
  void ObserveFrame(absl::string_view method, const FrameTimes& times);
  // The phases of these times, which are no frame's. A phase that took no time is not recorded.
  void ObservePhases(const FrameTimes& times);
  // One frame passed these stages of the pipeline, which one step carried out together. An empty
  // set is not recorded.
  void ObserveStages(StageSet stages, absl::string_view backend, absl::string_view device,
                     double seconds);

  // The device computed a batch of `frames` >= 1 frames in this busy interval, which is recorded
  // too.
  void ObserveBatch(absl::string_view backend, absl::string_view device, int frames,
                    std::chrono::steady_clock::time_point busy_begin,
                    std::chrono::steady_clock::time_point busy_end);

  // Records the busy interval of a batch of matches or tracks. Takes a short lock, once a batch.
  void AddBusyInterval(absl::string_view backend, absl::string_view device,
                       std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end);

  // Exact accounting: each frame that arrives is counted once by FrameReceived(), and once by
  // FrameFinished(). `bytes`: size of its payload.
  void FrameReceived(int64_t bytes);
  void FrameFinished(const absl::Status& status, int64_t keypoints = 0);
  FrameCounts frame_counts() const;

  void CallAborted(AbortCause cause);

  void StreamOpened();
  void StreamClosed();
  // Bytes that streams hold for their tracks.
  void AddTrackBytes(int64_t change);
  int64_t track_bytes() const;
  void DeviceLost(absl::string_view device);

  // Adds the families of another part of the program, as they are at the moment of a scrape, to the
  // page. Not while a scrape may run.
  void AddSource(std::function<void(MetricPage&)> source);

  // The families of the page, as they are now.
  std::vector<prometheus::MetricFamily> Collect() const;
  // The page, in Prometheus' text format 0.0.4.
  std::string Render() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_METRICS_H_
