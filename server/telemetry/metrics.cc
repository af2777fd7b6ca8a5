// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/telemetry/busy_time.h"
#include "server/telemetry/metric_page.h"
#include "server/telemetry/process_metrics.h"
#include "server/telemetry/series.h"

namespace orbserve {
namespace {

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

using PhaseHistograms = std::array<DurationHistogram, kFramePhaseNames.size()>;

MetricLabels LabelsOf(const MetricDevice& device) {
  return {{"backend", device.backend}, {"device", device.device}};
}

// Only series that have an observation: most pairs of a device and a stage do not exist.
void AddStage(const DurationHistogram& histogram, std::string stage, const MetricDevice& device,
              MetricPage::Family& family) {
  prometheus::ClientMetric::Histogram read = histogram.Read();
  if (read.sample_count == 0) return;
  family.AddHistogram(
      std::move(read),
      {{"stage", std::move(stage)}, {"backend", device.backend}, {"device", device.device}});
}

void AddPhases(const PhaseHistograms& phases, const MetricDevice& device,
               MetricPage::Family& family) {
  for (size_t i = 0; i < phases.size(); ++i) {
    AddStage(phases[i], std::string(kFramePhaseNames[i]), device, family);
  }
}

}  // namespace

// The counters, which the functions of Metrics write, and the page made of them.
class Metrics::Impl {
 public:
  // What one device has recorded.
  struct DeviceSeries {
    explicit DeviceSeries(MetricDevice labels) : device(std::move(labels)) {}
    ~DeviceSeries() {
      for (auto& slot : stages) delete slot.load(std::memory_order_acquire);
    }

    static constexpr std::array<double, 12> kFramesBounds = {1,  2,  3,  4,  6,  8,
                                                             12, 16, 24, 32, 48, 64};

    const MetricDevice device;
    PhaseHistograms phases;
    // [StageSet::bits()], null where the set was never observed. Owned.
    std::array<std::atomic<DurationHistogram*>, 1 << kStageCount> stages = {};
    Histogram<kFramesBounds, 1> batch_sizes;
    AtomicCell losses;

    mutable absl::Mutex mutex;
    BusyTime busy ABSL_GUARDED_BY(mutex);
    int64_t busy_ns ABSL_GUARDED_BY(mutex) = 0;
  };

  explicit Impl(MetricsOptions options) : version(std::move(options.version)) {
    for (MetricDevice& device : options.devices) devices.emplace_back(std::move(device));
    devices.emplace_back(MetricDevice{"other", "other"});
  }

  // The last one, "other", for a device that is not known. A server has a handful of devices: a
  // linear search is faster than hashing.
  DeviceSeries& Of(absl::string_view backend, absl::string_view device) {
    return Find([&](const MetricDevice& known) {
      return known.device == device && known.backend == backend;
    });
  }
  // The first backend's, where several share the device.
  DeviceSeries& Of(absl::string_view device) {
    return Find([&](const MetricDevice& known) { return known.device == device; });
  }

  std::vector<prometheus::MetricFamily> Collect() const {
    MetricPage page;
    CollectCalls(page);
    CollectStages(page);
    CollectDevices(page);
    CollectFrames(page);
    CollectAnswers(page);
    auto& build = page.Gauge("orbserve_build_info", "1; the label names the running version.");
    build.Add(1, {{"version", version}});
    CollectProcess(page);
    for (const auto& source : sources) source(page);
    return page.Take();
  }

  const std::string version;
  std::deque<DeviceSeries> devices;  // fixed after construction
  PhaseHistograms host_phases;
  std::array<DurationHistogram, kMethods.size() * kCodeCount> requests;
  std::array<DurationHistogram, kMethods.size()> frame_durations;
  std::array<AtomicCell, kOutcomeCount> outcomes;
  std::array<AtomicCell, kAbortCauses.size()> aborts;
  AtomicCell received;
  AtomicCell received_bytes;
  AtomicCell keypoints;
  AtomicCell streams;
  AtomicCell track_bytes;
  std::vector<std::function<void(MetricPage&)>> sources;

 private:
  template <typename Matches>
  DeviceSeries& Find(const Matches& matches) {
    const auto found = std::find_if(devices.begin(), devices.end(),
                                    [&](const DeviceSeries& one) { return matches(one.device); });
    return found == devices.end() ? devices.back() : *found;
  }

  void CollectStages(MetricPage& page) const {
    auto& family = page.Histogram(
        "orbserve_stage_duration_seconds",
        "Time of one frame in one stage; a stage of a batch counts once for each of its frames.");
    AddPhases(host_phases, {"host", "host"}, family);
    for (const DeviceSeries& series : devices) {
      AddPhases(series.phases, series.device, family);
      for (size_t bits = 0; bits < series.stages.size(); ++bits) {
        const DurationHistogram* const histogram =
            series.stages[bits].load(std::memory_order_acquire);
        if (histogram == nullptr) continue;
        AddStage(*histogram, StageSet::FromBits(static_cast<uint16_t>(bits)).Name(), series.device,
                 family);
      }
    }
  }

  void CollectDevices(MetricPage& page) const {
    auto& batches =
        page.Histogram("orbserve_batch_size_frames", "Frames that went through a device together.");
    auto& busy =
        page.Counter("orbserve_device_busy_seconds_total",
                     "Time in which a device worked for at least one batch; overlaps count once.");
    auto& lost =
        page.Counter("orbserve_device_lost_total", "Times that a device stopped answering.");
    std::set<std::string> told;
    for (const DeviceSeries& series : devices) {
      const bool is_known = &series != &devices.back();
      prometheus::ClientMetric::Histogram read = series.batch_sizes.Read();
      if (is_known || read.sample_count > 0) {
        batches.AddHistogram(std::move(read), LabelsOf(series.device));
      }
      {
        absl::MutexLock lock(&series.mutex);
        if (is_known || series.busy_ns > 0) {
          busy.Add(static_cast<double>(series.busy_ns) * 1e-9, LabelsOf(series.device));
        }
      }
      // Two backends may share a device; its losses are counted with the first.
      const int64_t losses = series.losses.Read();
      if (told.insert(series.device.device).second && (is_known || losses > 0)) {
        lost.Add(losses, {{"device", series.device.device}});
      }
    }
  }

  void CollectCalls(MetricPage& page) const {
    auto& calls =
        page.Histogram("orbserve_request_duration_seconds",
                       "Time from the arrival of a call to its end, by method and gRPC status.");
    auto& frames =
        page.Histogram("orbserve_frame_duration_seconds",
                       "Time from the arrival of a frame's whole message to the moment when its "
                       "answer is handed to gRPC, also of frames that failed.");
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
  }

  void CollectFrames(MetricPage& page) const {
    // Outcomes are read before arrivals: a scrape never shows more of the former.
    auto& family = page.Counter("orbserve_frames_total",
                                "Frames that ended, by outcome: ok, or the reason of the error.");
    family.Add(outcomes[0].Read(), {{"outcome", "ok"}});
    for (size_t i = 0; i < kErrorReasons.size(); ++i) {
      family.Add(outcomes[1 + i].Read(), {{"outcome", std::string(kErrorReasons[i].name)}});
    }
    page.Counter("orbserve_frames_received_total", "Frames that arrived.", received.Read());
    page.Counter("orbserve_received_bytes_total", "Bytes of the images that arrived, as sent.",
                 received_bytes.Read());
    page.Counter("orbserve_keypoints_total", "Keypoints of the frames that ended ok.",
                 keypoints.Read());
  }

  void CollectAnswers(MetricPage& page) const {
    page.Gauge("orbserve_streams", "Open streams.", streams.Read());
    auto& family =
        page.Counter("orbserve_calls_aborted_total", "Calls that the server ended, by cause.");
    for (size_t i = 0; i < kAbortCauses.size(); ++i) {
      family.Add(aborts[i].Read(), {{"cause", std::string(kAbortCauses[i])}});
    }
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
  PhaseHistograms& device =
      times.backend.empty() ? impl_->host_phases : impl_->Of(times.backend, times.device).phases;
  for (size_t i = 0; i < kFramePhaseNames.size(); ++i) {
    const auto phase = static_cast<FramePhase>(i);
    const std::chrono::duration<double> spent = times.spent(phase);
    if (spent.count() <= 0) continue;
    (IsOfHost(phase) ? impl_->host_phases : device)[i].Observe(spent.count());
  }
}

void Metrics::ObserveStages(StageSet stages, absl::string_view backend, absl::string_view device,
                            double seconds) {
  if (stages.empty()) return;
  std::atomic<DurationHistogram*>& slot = impl_->Of(backend, device).stages[stages.bits()];
  DurationHistogram* histogram = slot.load(std::memory_order_acquire);
  if (histogram == nullptr) {
    auto made = std::make_unique<DurationHistogram>();
    // Another thread may have been first; `histogram` is then the one that it made.
    if (slot.compare_exchange_strong(histogram, made.get(), std::memory_order_acq_rel)) {
      histogram = made.release();
    }
  }
  histogram->Observe(seconds);
}

void Metrics::ObserveBatch(absl::string_view backend, absl::string_view device, int frames,
                           SteadyTime busy_begin, SteadyTime busy_end) {
  impl_->Of(backend, device).batch_sizes.Observe(frames);
  AddBusyInterval(backend, device, busy_begin, busy_end);
}

void Metrics::AddBusyInterval(absl::string_view backend, absl::string_view device, SteadyTime begin,
                              SteadyTime end) {
  Impl::DeviceSeries& series = impl_->Of(backend, device);
  absl::MutexLock lock(&series.mutex);
  series.busy_ns += series.busy.Add(begin, end).count();
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

void Metrics::DeviceLost(absl::string_view device) { impl_->Of(device).losses.Add(1); }

void Metrics::AddSource(std::function<void(MetricPage&)> source) {
  impl_->sources.push_back(std::move(source));
}

std::vector<prometheus::MetricFamily> Metrics::Collect() const { return impl_->Collect(); }

std::string Metrics::Render() const { return prometheus::TextSerializer().Serialize(Collect()); }

}  // namespace orbserve
