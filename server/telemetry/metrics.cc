// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/metrics.h"

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/telemetry/busy_time.h"
#include "server/telemetry/histogram.h"
#include "server/telemetry/process_metrics.h"

namespace orbserve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using SteadyTime = std::chrono::steady_clock::time_point;

// 0.1 ms to 1 s in steps of about 1.6: a quantile read from it is off by at most a quarter.
constexpr std::array<double, 21> kSecondsBounds = {
    1e-4,   1.6e-4, 2.5e-4, 4e-4,   6.3e-4, 1e-3, 1.6e-3, 2.5e-3, 4e-3, 6.3e-3, 1e-2,
    1.6e-2, 2.5e-2, 4e-2,   6.3e-2, 0.1,    0.16, 0.25,   0.4,    0.63, 1.0};
constexpr std::array<double, 12> kFramesBounds = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

using SecondsHistogram = Histogram<kSecondsBounds, 1'000'000'000>;
using FramesHistogram = Histogram<kFramesBounds, 1>;
// A line to itself, so that counters of different threads do not slow each other down.
struct alignas(64) Cell {
  std::atomic<int64_t> value = 0;

  // Release and acquire, so that who reads a later event of a frame also finds its earlier ones.
  void Add(int64_t change) { value.fetch_add(change, std::memory_order_release); }
  double Read() const { return static_cast<double>(value.load(std::memory_order_acquire)); }
};

constexpr absl::string_view kOther = "other";
constexpr absl::string_view kHost = "host";

constexpr std::array<absl::string_view, 8> kMethods = {
    "Extract",         "StreamFrames",   "Match",         "PutReference",
    "DeleteReference", "ListReferences", "GetServerInfo", kOther};
constexpr size_t kCodeCount = 17;  // gRPC's status codes, 0..16

constexpr std::array<absl::string_view, 7> kStages = {"decode",   "queue", "upload", "compute",
                                                      "download", "match", "encode"};
static_assert(kStages.size() == static_cast<size_t>(MetricStage::kEncode) + 1);

// Outcome of a frame: "ok", then the reasons in the order of their table.
constexpr size_t kOutcomeCount = 1 + kErrorReasons.size();

std::string Copy(absl::string_view text) { return std::string(text.data(), text.size()); }

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

class Family {
 public:
  Family(const char* name, const char* help, MetricType type) : family_{name, help, type, {}} {}

  ClientMetric& Add(std::vector<ClientMetric::Label> labels = {}) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }
  void AddCounter(double value, std::vector<ClientMetric::Label> labels = {}) {
    Add(std::move(labels)).counter.value = value;
  }
  void AddGauge(double value, std::vector<ClientMetric::Label> labels = {}) {
    Add(std::move(labels)).gauge.value = value;
  }
  void MoveTo(std::vector<MetricFamily>& families) {
    if (!family_.metric.empty()) families.push_back(std::move(family_));
  }

 private:
  MetricFamily family_;
};

}  // namespace

class Metrics::Impl : public prometheus::Collectable {
 public:
  explicit Impl(MetricsOptions options)
      : version_(std::move(options.version)),
        devices_(std::move(options.devices)),
        max_intervals_(std::max<size_t>(options.busy_intervals, 1)) {
    devices_.push_back({Copy(kOther), Copy(kOther)});
    for (size_t i = 0; i < devices_.size(); ++i) {
      batches_.emplace_back();
      lost_.emplace_back();
      busy_.emplace_back();
    }
    for (size_t i = 0; i < (devices_.size() + 1) * kStages.size(); ++i) stages_.emplace_back();
    intervals_.reserve(max_intervals_);
  }

  const std::vector<MetricDevice>& devices() const { return devices_; }

  void ObserveRequest(absl::string_view method, absl::StatusCode code, double seconds) {
    requests_[MethodIndex(method) * kCodeCount + CodeIndex(code)].Observe(seconds);
  }

  void ObserveStage(MetricStage stage, absl::string_view backend, absl::string_view device,
                    double seconds) {
    StageOf(DeviceIndex(backend, device), stage).Observe(seconds);
  }

  void ObserveHostStage(MetricStage stage, double seconds) {
    StageOf(host_index(), stage).Observe(seconds);
  }

  void ObserveBatchSize(absl::string_view backend, absl::string_view device, int frames) {
    batches_[DeviceIndex(backend, device)].Observe(frames);
  }

  void AddBusyInterval(absl::string_view backend, absl::string_view device, int frames,
                       SteadyTime begin, SteadyTime end) ABSL_LOCKS_EXCLUDED(mutex_) {
    const size_t index = DeviceIndex(backend, device);
    const BusyInterval interval{begin, end, static_cast<int>(index), frames};
    absl::MutexLock lock(&mutex_);
    if (intervals_.size() < max_intervals_) {
      intervals_.push_back(interval);
    } else {
      intervals_[oldest_] = interval;
      oldest_ = (oldest_ + 1) % intervals_.size();
    }
    busy_[index].seconds_ns += busy_[index].time.Add(begin, end).count();
  }

  std::vector<BusyInterval> BusyIntervals() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::vector<BusyInterval> ordered(intervals_.begin() + oldest_, intervals_.end());
    ordered.insert(ordered.end(), intervals_.begin(), intervals_.begin() + oldest_);
    return ordered;
  }

  void DeviceLost(absl::string_view device) {
    const auto found =
        std::find_if(devices_.begin(), devices_.end(),
                     [&](const MetricDevice& known) { return known.device == device; });
    lost_[found == devices_.end() ? devices_.size() - 1 : found - devices_.begin()].Add(1);
  }

  void CountOutcome(size_t outcome) { outcomes_[outcome].Add(1); }

  void AddCollectable(std::shared_ptr<prometheus::Collectable> collectable) {
    others_.push_back(std::move(collectable));
  }

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> families;
    CollectRequests(families);
    CollectDevices(families);
    CollectFrames(families);
    Family build("orbserve_build_info", "1; the label names the running version.",
                 MetricType::Gauge);
    build.AddGauge(1, {{"version", version_}});
    build.MoveTo(families);
    return families;
  }

  std::string Render() const {
    std::vector<MetricFamily> families = Collect();
    const auto append = [&](const prometheus::Collectable& collectable) {
      for (MetricFamily& family : collectable.Collect()) families.push_back(std::move(family));
    };
    append(process_);
    for (const auto& other : others_) append(*other);
    return prometheus::TextSerializer().Serialize(families);
  }

  Cell received;
  Cell received_bytes;
  Cell keypoints;
  Cell queue_frames;
  Cell streams;
  Cell stream_answer_bytes;
  Cell call_answer_bytes;

 private:
  struct Busy {
    BusyTime time;
    int64_t seconds_ns = 0;
  };

  size_t host_index() const { return devices_.size(); }

  // A handful of devices: looking through them is faster than hashing.
  size_t DeviceIndex(absl::string_view backend, absl::string_view device) const {
    const auto found =
        std::find_if(devices_.begin(), devices_.end(), [&](const MetricDevice& known) {
          return known.device == device && known.backend == backend;
        });
    return found == devices_.end() ? devices_.size() - 1 : found - devices_.begin();
  }

  SecondsHistogram& StageOf(size_t device, MetricStage stage) {
    return stages_[device * kStages.size() + static_cast<size_t>(stage)];
  }

  std::vector<ClientMetric::Label> DeviceLabels(size_t index) const {
    return {{"backend", devices_[index].backend}, {"device", devices_[index].device}};
  }

  void CollectRequests(std::vector<MetricFamily>& families) const {
    Family family("orbserve_request_duration_seconds",
                  "Time from the arrival of a call to its end, by method and gRPC status.",
                  MetricType::Histogram);
    for (size_t method = 0; method < kMethods.size(); ++method) {
      for (size_t code = 0; code < kCodeCount; ++code) {
        ClientMetric::Histogram read = requests_[method * kCodeCount + code].Read();
        const bool always = code == 0 && kMethods[method] != kOther;
        if (read.sample_count == 0 && !always) continue;
        family
            .Add({{"method", Copy(kMethods[method])},
                  {"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}})
            .histogram = std::move(read);
      }
    }
    family.MoveTo(families);
  }

  void CollectDevices(std::vector<MetricFamily>& families) const ABSL_LOCKS_EXCLUDED(mutex_) {
    Family stages("orbserve_stage_duration_seconds",
                  "Time of one frame in one stage; a stage of a batch counts once for each frame.",
                  MetricType::Histogram);
    Family batches("orbserve_batch_size_frames", "Frames that went through a device together.",
                   MetricType::Histogram);
    Family busy("orbserve_device_busy_seconds_total",
                "Time in which a device worked for at least one batch; overlaps count once.",
                MetricType::Counter);
    Family lost("orbserve_device_lost_total", "Times that a device stopped answering.",
                MetricType::Counter);
    for (size_t device = 0; device <= host_index(); ++device) {
      for (size_t stage = 0; stage < kStages.size(); ++stage) {
        ClientMetric::Histogram read = stages_[device * kStages.size() + stage].Read();
        if (read.sample_count == 0) continue;  // most pairs of device and stage do not exist
        std::vector<ClientMetric::Label> labels = {{"stage", Copy(kStages[stage])}};
        if (device == host_index()) {
          labels.insert(labels.end(), {{"backend", Copy(kHost)}, {"device", Copy(kHost)}});
        } else {
          const std::vector<ClientMetric::Label> of_device = DeviceLabels(device);
          labels.insert(labels.end(), of_device.begin(), of_device.end());
        }
        stages.Add(std::move(labels)).histogram = std::move(read);
      }
    }
    absl::MutexLock lock(&mutex_);
    for (size_t device = 0; device < devices_.size(); ++device) {
      const bool is_other = device + 1 == devices_.size();
      ClientMetric::Histogram read = batches_[device].Read();
      if (read.sample_count > 0 || !is_other) {
        batches.Add(DeviceLabels(device)).histogram = std::move(read);
      }
      if (busy_[device].seconds_ns > 0 || !is_other) {
        busy.AddCounter(static_cast<double>(busy_[device].seconds_ns) * 1e-9, DeviceLabels(device));
      }
      // Two backends may share a device; its losses are counted with the first.
      const bool is_first = std::none_of(
          devices_.begin(), devices_.begin() + device,
          [&](const MetricDevice& before) { return before.device == devices_[device].device; });
      if (is_first && (lost_[device].Read() > 0 || !is_other)) {
        lost.AddCounter(lost_[device].Read(), {{"device", devices_[device].device}});
      }
    }
    stages.MoveTo(families);
    batches.MoveTo(families);
    busy.MoveTo(families);
    lost.MoveTo(families);
  }

  void CollectFrames(std::vector<MetricFamily>& families) const {
    const auto single = [&](const char* name, const char* help, MetricType type, double value) {
      Family family(name, help, type);
      if (type == MetricType::Counter) {
        family.AddCounter(value);
      } else {
        family.AddGauge(value);
      }
      family.MoveTo(families);
    };
    // Outcomes are read before arrivals: a scrape never shows more of the former.
    Family outcomes("orbserve_frames_total",
                    "Frames that ended, by outcome: ok, or the reason of the error.",
                    MetricType::Counter);
    outcomes.AddCounter(outcomes_[0].Read(), {{"outcome", "ok"}});
    for (size_t i = 0; i < kErrorReasons.size(); ++i) {
      outcomes.AddCounter(outcomes_[1 + i].Read(), {{"outcome", Copy(kErrorReasons[i].name)}});
    }
    outcomes.MoveTo(families);
    single("orbserve_frames_received_total", "Frames that arrived.", MetricType::Counter,
           received.Read());
    single("orbserve_received_bytes_total", "Bytes of the images that arrived, as sent.",
           MetricType::Counter, received_bytes.Read());
    single("orbserve_keypoints_total", "Keypoints in the answers.", MetricType::Counter,
           keypoints.Read());
    single("orbserve_queue_frames", "Frames that wait for a batch.", MetricType::Gauge,
           queue_frames.Read());
    single("orbserve_streams", "Open streams.", MetricType::Gauge, streams.Read());
    single("orbserve_stream_answer_bytes", "Answers that streams owe or have not sent yet.",
           MetricType::Gauge, stream_answer_bytes.Read());
    single("orbserve_call_answer_bytes",
           "Answers that unary calls owe or have not sent yet, as messages and as bytes.",
           MetricType::Gauge, call_answer_bytes.Read());
  }

  const std::string version_;
  std::vector<MetricDevice> devices_;  // those given, then "other"; fixed after construction
  const size_t max_intervals_;
  std::array<SecondsHistogram, kMethods.size() * kCodeCount> requests_;
  std::deque<SecondsHistogram> stages_;  // [device, then host][stage]
  std::deque<FramesHistogram> batches_;  // [device]
  std::deque<Cell> lost_;                // [device]
  std::array<Cell, kOutcomeCount> outcomes_;
  ProcessMetrics process_;
  std::vector<std::shared_ptr<prometheus::Collectable>> others_;

  mutable absl::Mutex mutex_;
  std::deque<Busy> busy_ ABSL_GUARDED_BY(mutex_);                // [device]
  std::vector<BusyInterval> intervals_ ABSL_GUARDED_BY(mutex_);  // a ring once it is full
  size_t oldest_ ABSL_GUARDED_BY(mutex_) = 0;
};

Metrics::Metrics(MetricsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Metrics::~Metrics() = default;

void Metrics::ObserveRequest(absl::string_view method, absl::StatusCode code, double seconds) {
  impl_->ObserveRequest(method, code, seconds);
}

void Metrics::ObserveStage(MetricStage stage, absl::string_view backend, absl::string_view device,
                           double seconds) {
  impl_->ObserveStage(stage, backend, device, seconds);
}

void Metrics::ObserveStage(MetricStage stage, double seconds) {
  impl_->ObserveHostStage(stage, seconds);
}

void Metrics::ObserveBatch(absl::string_view backend, absl::string_view device, int frames,
                           SteadyTime busy_begin, SteadyTime busy_end) {
  impl_->ObserveBatchSize(backend, device, frames);
  impl_->AddBusyInterval(backend, device, frames, busy_begin, busy_end);
}

void Metrics::AddBusyInterval(absl::string_view backend, absl::string_view device, int frames,
                              SteadyTime begin, SteadyTime end) {
  impl_->AddBusyInterval(backend, device, frames, begin, end);
}

void Metrics::FrameReceived(int64_t bytes) {
  impl_->received.Add(1);
  impl_->received_bytes.Add(bytes);
}

void Metrics::FrameOk(int64_t keypoints) {
  impl_->CountOutcome(0);
  impl_->keypoints.Add(keypoints);
}

void Metrics::FrameFailed(ErrorReason reason) {
  impl_->CountOutcome(1 + static_cast<size_t>(reason));
}

void Metrics::FrameFinished(const absl::Status& status, int64_t keypoints) {
  if (status.ok()) {
    FrameOk(keypoints);
  } else {
    FrameFailed(ReasonOf(status));
  }
}

void Metrics::AddQueueFrames(int64_t change) { impl_->queue_frames.Add(change); }

void Metrics::SetQueueFrames(int64_t frames) {
  impl_->queue_frames.value.store(frames, std::memory_order_relaxed);
}

void Metrics::StreamOpened() { impl_->streams.Add(1); }
void Metrics::StreamClosed() { impl_->streams.Add(-1); }
void Metrics::AddStreamAnswerBytes(int64_t change) { impl_->stream_answer_bytes.Add(change); }
void Metrics::AddCallAnswerBytes(int64_t change) { impl_->call_answer_bytes.Add(change); }
void Metrics::DeviceLost(absl::string_view device) { impl_->DeviceLost(device); }

const std::vector<MetricDevice>& Metrics::devices() const { return impl_->devices(); }
std::vector<BusyInterval> Metrics::BusyIntervals() const { return impl_->BusyIntervals(); }

void Metrics::AddCollectable(std::shared_ptr<prometheus::Collectable> collectable) {
  impl_->AddCollectable(std::move(collectable));
}

std::string Metrics::Render() const { return impl_->Render(); }

}  // namespace orbserve
