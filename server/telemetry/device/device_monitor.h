// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_MONITOR_H_
#define ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_MONITOR_H_

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/telemetry/device/device_probe.h"
#include "server/telemetry/metric_page.h"

namespace orbserve {

// Condition of every device, read once a second.
//
// Families: orbserve_device_info, orbserve_device_clock_hertz, orbserve_device_clock_limit_hertz,
// orbserve_device_temperature_celsius, orbserve_device_throttled,
// orbserve_device_throttle_events_total (docs/metrics.md).
//
// Thread-safe, but for Poll(), which one thread calls.
class DeviceMonitor {
 public:
  using Now = std::function<SteadyTime()>;

  static constexpr std::chrono::milliseconds kPeriod{1000};  // of Poll()

  // `backend`: name of the backend that has these devices. `probes`: one for each device, null
  // where there is none. Reads every probe once.
  DeviceMonitor(
      absl::string_view backend, std::string board, const std::vector<DeviceDescription>& devices,
      std::vector<DeviceProbe> probes, Now now = [] { return std::chrono::steady_clock::now(); });

  const std::string& board() const { return board_; }

  void Poll() ABSL_LOCKS_EXCLUDED(mutex_);

  // The last condition of a device; nothing where it was not read in the last seconds.
  std::optional<DeviceCondition> ConditionOf(absl::string_view device) const;
  void Collect(MetricPage& page) const;

 private:
  struct Device {
    std::string name;
    std::string model;
    DeviceProbe probe;  // may be null
    std::optional<DeviceCondition> condition;
    SteadyTime read_at;
  };

  std::optional<DeviceCondition> Condition(const Device& device) const ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string backend_;
  const std::string board_;
  const Now now_;
  mutable absl::Mutex mutex_;   // of every condition and its time
  std::deque<Device> devices_;  // fixed after construction
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_MONITOR_H_
