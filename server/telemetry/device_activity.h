// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DEVICE_ACTIVITY_H_
#define ORBSERVE_SERVER_TELEMETRY_DEVICE_ACTIVITY_H_

#include <prometheus/metric_family.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/telemetry/atomic_cell.h"
#include "server/telemetry/busy_time.h"
#include "server/telemetry/histogram.h"
#include "server/telemetry/metric_devices.h"

namespace orbserve {

// Keeps the use of the devices: the families orbserve_batch_size_frames,
// orbserve_device_busy_seconds_total and orbserve_device_lost_total. Devices are named by their
// index into MetricDevices::all(). Thread-safe.
class DeviceActivity {
 public:
  // `devices` must outlive it.
  explicit DeviceActivity(const MetricDevices* devices);

  void ObserveBatchSize(size_t device, int frames) { batches_[device].Observe(frames); }
  // The device worked for a batch from `begin` to `end`.
  void AddBusyInterval(size_t device, BusyTime::TimePoint begin, BusyTime::TimePoint end)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void DeviceLost(size_t device) { lost_[device].Add(1); }

  void Collect(std::vector<prometheus::MetricFamily>& families) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr std::array<double, 12> kFramesBounds = {1,  2,  3,  4,  6,  8,
                                                           12, 16, 24, 32, 48, 64};
  using FramesHistogram = Histogram<kFramesBounds, 1>;

  struct Busy {
    BusyTime time;
    int64_t total_ns = 0;
  };

  const MetricDevices& devices_;
  std::deque<FramesHistogram> batches_;  // [device]
  std::deque<AtomicCell> lost_;          // [device]

  mutable absl::Mutex mutex_;
  std::deque<Busy> busy_ ABSL_GUARDED_BY(mutex_);  // [device]
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DEVICE_ACTIVITY_H_
