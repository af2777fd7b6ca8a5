// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_MONITOR_H_
#define ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_MONITOR_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "features/backend.h"
#include "server/telemetry/device/device_probe.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

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
      std::vector<std::unique_ptr<DeviceProbe>> probes,
      Now now = [] { return std::chrono::steady_clock::now(); });
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  const std::string& board() const;
  bool has_probes() const;

  void Poll();

  // The last condition of a device; nothing where it was not read in the last seconds.
  std::optional<DeviceCondition> ConditionOf(absl::string_view device) const;

  // The families, for Metrics::AddCollectable(). May outlive the monitor.
  std::shared_ptr<prometheus::Collectable> families() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DEVICE_DEVICE_MONITOR_H_
