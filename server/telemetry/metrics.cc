// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "server/telemetry/atomic_cell.h"
#include "server/telemetry/device_activity.h"
#include "server/telemetry/duration_histogram.h"
#include "server/telemetry/family_builder.h"
#include "server/telemetry/process_metrics.h"
#include "server/telemetry/stage_durations.h"

namespace orbserve {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr absl::string_view kOther = "other";

// The methods whose requests hold frames come first.
constexpr std::array<absl::string_view, 8> kMethods = {
    "Extract",         "StreamFrames",   "Match",         "PutReference",
    "DeleteReference", "ListReferences", "GetServerInfo", kOther};
constexpr size_t kFrameMethodCount = 4;
constexpr size_t kCodeCount = 17;  // gRPC's status codes, 0..16

// In the order of AbortCause.
constexpr std::array<absl::string_view, 4> kAbortCauses = {"send_timeout", "idle_stream",
                                                           "preempted", "credentials"};

// Outcome of a frame: "ok", then the reasons in the order of their table.
constexpr size_t kOutcomeCount = 1 + kErrorReasons.size();

size_t MethodIndex(absl::string_view method) {
  const auto found = std::find(kMethods.begin(), kMethods.end(), method);
  return found == kMethods.end() ? kMethods.size() - 1 : found - kMethods.begin();
}

size_t CodeIndex(absl::StatusCode code) {
  const int index = static_cast<int>(code);
  return index >= 0 && index < static_cast<int>(kCodeCount)
             ? index
             : static_cast<size_t>(absl::StatusCode::kUnknown);
}

}  // namespace

// The counters, which the functions of Metrics write, and the page made of them.
class Metrics::Impl {
 public:
  explicit Impl(MetricsOptions options)
      : version(std::move(options.version)),
        devices(std::move(options.devices)),
        activity(&devices),
        stages(&devices) {}

  std::string Render() const {
    std::vector<MetricFamily> families;
    CollectCalls(families);
    stages.Collect(families);
    activity.Collect(families);
    CollectFrames(families);
    CollectAnswers(families);
    FamilyBuilder build("orbserve_build_info", "1; the label names the running version.",
                        MetricType::Gauge);
    build.AddGauge(1, {{"version", version}});
    build.MoveTo(families);
    CollectProcess(families);
    for (const auto& other : others) {
      for (MetricFamily& family : other->Collect()) families.push_back(std::move(family));
    }
    return prometheus::TextSerializer().Serialize(families);
  }

  const std::string version;
  const MetricDevices devices;
  DeviceActivity activity;
  StageDurations stages;
  std::array<DurationHistogram, kMethods.size() * kCodeCount> requests;
  std::array<DurationHistogram, kMethods.size()> frame_durations;
  std::array<AtomicCell, kOutcomeCount> outcomes;
  std::array<AtomicCell, kAbortCauses.size()> aborts;
  AtomicCell received;
  AtomicCell received_bytes;
  AtomicCell keypoints;
  AtomicCell streams;
  AtomicCell track_bytes;
  std::vector<std::shared_ptr<prometheus::Collectable>> others;

 private:
  void CollectCalls(std::vector<MetricFamily>& families) const {
    FamilyBuilder calls("orbserve_request_duration_seconds",
                        "Time from the arrival of a call to its end, by method and gRPC status.",
                        MetricType::Histogram);
    FamilyBuilder frames("orbserve_frame_duration_seconds",
                         "Time from the arrival of a frame's whole message to the moment when its "
                         "answer is handed to gRPC, also of frames that failed.",
                         MetricType::Histogram);
    for (size_t method = 0; method < kMethods.size(); ++method) {
      for (size_t code = 0; code < kCodeCount; ++code) {
        prometheus::ClientMetric::Histogram read = requests[method * kCodeCount + code].Read();
        const bool always = code == 0 && kMethods[method] != kOther;
        if (read.sample_count == 0 && !always) continue;
        calls.AddHistogram(
            std::move(read),
            {{"method", std::string(kMethods[method])},
             {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}});
      }
      prometheus::ClientMetric::Histogram read = frame_durations[method].Read();
      if (read.sample_count == 0 && method >= kFrameMethodCount) continue;
      frames.AddHistogram(std::move(read), {{"method", std::string(kMethods[method])}});
    }
    calls.MoveTo(families);
    frames.MoveTo(families);
  }

  void CollectFrames(std::vector<MetricFamily>& families) const {
    // Outcomes are read before arrivals: a scrape never shows more of the former.
    FamilyBuilder family("orbserve_frames_total",
                         "Frames that ended, by outcome: ok, or the reason of the error.",
                         MetricType::Counter);
    family.AddCounter(static_cast<double>(outcomes[0].Read()), {{"outcome", "ok"}});
    for (size_t i = 0; i < kErrorReasons.size(); ++i) {
      family.AddCounter(static_cast<double>(outcomes[1 + i].Read()),
                        {{"outcome", std::string(kErrorReasons[i].name)}});
    }
    family.MoveTo(families);
    AddCounter(families, "orbserve_frames_received_total", "Frames that arrived.", received.Read());
    AddCounter(families, "orbserve_received_bytes_total",
               "Bytes of the images that arrived, as sent.", received_bytes.Read());
    AddCounter(families, "orbserve_keypoints_total", "Keypoints of the frames that ended ok.",
               keypoints.Read());
  }

  void CollectAnswers(std::vector<MetricFamily>& families) const {
    AddGauge(families, "orbserve_streams", "Open streams.", streams.Read());
    FamilyBuilder family("orbserve_calls_aborted_total", "Calls that the server ended, by cause.",
                         MetricType::Counter);
    for (size_t i = 0; i < kAbortCauses.size(); ++i) {
      family.AddCounter(static_cast<double>(aborts[i].Read()),
                        {{"cause", std::string(kAbortCauses[i])}});
    }
    family.MoveTo(families);
  }
};

Metrics::Metrics(MetricsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Metrics::~Metrics() = default;

void Metrics::ObserveRequest(absl::string_view method, absl::StatusCode code, double seconds) {
  impl_->requests[MethodIndex(method) * kCodeCount + CodeIndex(code)].Observe(seconds);
}

void Metrics::ObserveFrame(absl::string_view method, const FrameTimes& times) {
  const std::chrono::duration<double> total = times.total();
  impl_->frame_durations[MethodIndex(method)].Observe(total.count());
  ObservePhases(times);
}

void Metrics::ObservePhases(const FrameTimes& times) {
  std::optional<size_t> device;
  if (!times.backend.empty()) device = impl_->devices.IndexOf(times.backend, times.device);
  for (size_t i = 0; i < kFramePhaseNames.size(); ++i) {
    const auto phase = static_cast<FramePhase>(i);
    const std::chrono::duration<double> spent = times.spent(phase);
    if (spent.count() <= 0) continue;
    if (device.has_value() && !IsOfHost(phase)) {
      impl_->stages.ObservePhase(phase, *device, spent.count());
    } else {
      impl_->stages.ObserveHost(phase, spent.count());
    }
  }
}

void Metrics::ObserveStages(StageSet stages, absl::string_view backend, absl::string_view device,
                            double seconds) {
  impl_->stages.ObserveStages(stages, impl_->devices.IndexOf(backend, device), seconds);
}

void Metrics::ObserveBatch(absl::string_view backend, absl::string_view device, int frames,
                           SteadyTime busy_begin, SteadyTime busy_end) {
  impl_->activity.ObserveBatchSize(impl_->devices.IndexOf(backend, device), frames);
  AddBusyInterval(backend, device, busy_begin, busy_end);
}

void Metrics::AddBusyInterval(absl::string_view backend, absl::string_view device, SteadyTime begin,
                              SteadyTime end) {
  impl_->activity.AddBusyInterval(impl_->devices.IndexOf(backend, device), begin, end);
}

void Metrics::FrameReceived(int64_t bytes) {
  impl_->received.Add(1);
  impl_->received_bytes.Add(bytes);
}

void Metrics::FrameFinished(const absl::Status& status, int64_t keypoints) {
  if (!status.ok()) {
    impl_->outcomes[1 + static_cast<size_t>(ReasonOf(status))].Add(1);
    return;
  }
  impl_->outcomes[0].Add(1);
  impl_->keypoints.Add(keypoints);
}

FrameCounts Metrics::frame_counts() const {
  FrameCounts counts;
  // Outcomes are read before arrivals, as a scrape reads them.
  counts.ok = impl_->outcomes[0].Read();
  for (size_t i = 1; i < kOutcomeCount; ++i) counts.failed += impl_->outcomes[i].Read();
  counts.received = impl_->received.Read();
  return counts;
}

absl::string_view NameOf(AbortCause cause) { return kAbortCauses[static_cast<size_t>(cause)]; }

void Metrics::CallAborted(AbortCause cause) { impl_->aborts[static_cast<size_t>(cause)].Add(1); }
void Metrics::StreamOpened() { impl_->streams.Add(1); }
void Metrics::StreamClosed() { impl_->streams.Add(-1); }
void Metrics::AddTrackBytes(int64_t change) { impl_->track_bytes.Add(change); }
int64_t Metrics::track_bytes() const { return impl_->track_bytes.Read(); }

void Metrics::DeviceLost(absl::string_view device) {
  impl_->activity.DeviceLost(impl_->devices.IndexOf(device));
}

void Metrics::AddCollectable(std::shared_ptr<prometheus::Collectable> collectable) {
  impl_->others.push_back(std::move(collectable));
}

std::string Metrics::Render() const { return impl_->Render(); }

}  // namespace orbserve
