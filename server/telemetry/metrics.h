// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server's Prometheus families (docs/metrics.md). Recording is lock-free and allocates nothing:
// every series exists from the start, in tables of atomics. A scrape reads them and never holds
// anybody up.

#ifndef ORBSERVE_SERVER_TELEMETRY_METRICS_H_
#define ORBSERVE_SERVER_TELEMETRY_METRICS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace orbserve {

// Where a frame's time goes. `kQueue`, `kUpload`, `kCompute`, `kDownload` and `kMatch` belong to a
// device, `kDecode` and `kEncode` to the host.
enum class MetricStage {
  kDecode,    // client's bytes to grey pixels
  kQueue,     // from accepted to handed to the backend
  kUpload,    // host to device
  kCompute,   // all stages of the pipeline
  kDownload,  // device to host
  kMatch,
  kEncode,  // features to an answer's bytes
};

// A device of a backend: a pair of label values.
struct MetricDevice {
  std::string backend;  // "cpu"
  std::string device;   // "cpu", "cuda:0"

  bool operator==(const MetricDevice&) const = default;
};

// One stretch of time in which a device worked for one batch.
struct BusyInterval {
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  int device_index = 0;  // into Metrics::devices()
  int frames = 0;        // 0 = a batch of matches
};

struct MetricsOptions {
  std::string version;                // for orbserve_build_info
  std::vector<MetricDevice> devices;  // every device that batches may run on
  size_t busy_intervals = 4096;       // how many of the latest are kept, >= 1
};

// Thread-safe. Labels of a device or method that is not known go to the series "other".
class Metrics {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A call ended. `method`: "Extract", "StreamFrames", ... without package and service. `code`: of
  // the call's status; failures count as successes do.
  void ObserveRequest(absl::string_view method, absl::StatusCode code, double seconds);

  // One frame passed one stage. The short form is for stages of the host.
  void ObserveStage(MetricStage stage, absl::string_view backend, absl::string_view device,
                    double seconds);
  void ObserveStage(MetricStage stage, double seconds);

  // A batch of `frames` >= 1 frames was computed in this busy interval of the device, which is
  // recorded too.
  void ObserveBatch(absl::string_view backend, absl::string_view device, int frames,
                    std::chrono::steady_clock::time_point busy_begin,
                    std::chrono::steady_clock::time_point busy_end);

  // Only the interval: a batch of matches, with `frames` = 0. Once a batch and not once a frame, so
  // a short lock is taken.
  void AddBusyInterval(absl::string_view backend, absl::string_view device, int frames,
                       std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end);

  // Exact accounting: each frame that arrived is counted once here, and once when it ended, by
  // FrameOk() or FrameFailed(). `bytes`: of its payload.
  void FrameReceived(int64_t bytes);
  void FrameOk(int64_t keypoints);
  void FrameFailed(ErrorReason reason);
  // FrameOk() or FrameFailed(), by `status`.
  void FrameFinished(const absl::Status& status, int64_t keypoints = 0);

  // Frames that wait for a batch.
  void AddQueueFrames(int64_t change);
  void SetQueueFrames(int64_t frames);

  void StreamOpened();
  void StreamClosed();
  // Bytes of answers that streams owe or have not sent yet.
  void AddStreamAnswerBytes(int64_t change);
  // The same of unary calls.
  void AddCallAnswerBytes(int64_t change);
  void DeviceLost(absl::string_view device);

  // The devices given, then {"other", "other"}.
  const std::vector<MetricDevice>& devices() const;
  // The latest busy intervals in order of recording, the oldest first.
  std::vector<BusyInterval> BusyIntervals() const;

  // Adds families of another part of the program to the page. Not while a scrape may run.
  void AddCollectable(std::shared_ptr<prometheus::Collectable> collectable);

  // The page, in Prometheus' text format 0.0.4.
  std::string Render() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_METRICS_H_
