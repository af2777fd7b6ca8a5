// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/device_activity.h"

#include <utility>

#include "server/telemetry/family_builder.h"

namespace orbserve {

using prometheus::MetricType;

DeviceActivity::DeviceActivity(const MetricDevices* devices)
    : devices_(*devices),
      batches_(devices->count()),
      lost_(devices->count()),
      busy_(devices->count()) {}

void DeviceActivity::AddBusyInterval(size_t device, BusyTime::TimePoint begin,
                                     BusyTime::TimePoint end) {
  absl::MutexLock lock(&mutex_);
  Busy& busy = busy_[device];
  busy.total_ns += busy.time.Add(begin, end).count();
}

void DeviceActivity::Collect(std::vector<prometheus::MetricFamily>& families) const {
  FamilyBuilder batches("orbserve_batch_size_frames", "Frames that went through a device together.",
                        MetricType::Histogram);
  FamilyBuilder busy("orbserve_device_busy_seconds_total",
                     "Time in which a device worked for at least one batch; overlaps count once.",
                     MetricType::Counter);
  FamilyBuilder lost("orbserve_device_lost_total", "Times that a device stopped answering.",
                     MetricType::Counter);
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < devices_.count(); ++i) {
    const MetricDevice& device = devices_.all()[i];
    const bool is_known = i != devices_.other();
    prometheus::ClientMetric::Histogram read = batches_[i].Read();
    if (is_known || read.sample_count > 0) {
      batches.AddHistogram(std::move(read), LabelsOf(device));
    }
    if (is_known || busy_[i].total_ns > 0) {
      busy.AddCounter(static_cast<double>(busy_[i].total_ns) * 1e-9, LabelsOf(device));
    }
    // Two backends may share a device; its losses are counted with the first.
    const int64_t losses = lost_[i].Read();
    if (devices_.IndexOf(device.device) == i && (is_known || losses > 0)) {
      lost.AddCounter(static_cast<double>(losses), {{"device", device.device}});
    }
  }
  batches.MoveTo(families);
  busy.MoveTo(families);
  lost.MoveTo(families);
}

}  // namespace orbserve
