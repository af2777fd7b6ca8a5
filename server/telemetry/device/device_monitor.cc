// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/device/device_monitor.h"

#include <utility>

#include "server/telemetry/metric_page.h"

namespace orbserve {
namespace {

// A condition older than this is not shown: the probe hangs.
constexpr std::chrono::seconds kStaleState{5};

}  // namespace

DeviceMonitor::DeviceMonitor(absl::string_view backend, std::string board,
                             const std::vector<DeviceDescription>& devices,
                             std::vector<DeviceProbe> probes, Now now)
    : backend_(backend), board_(std::move(board)), now_(std::move(now)) {
  for (size_t i = 0; i < devices.size(); ++i) {
    Device& device = devices_.emplace_back();
    device.name = devices[i].device;
    device.model = devices[i].name;
    if (i < probes.size()) device.probe = std::move(probes[i]);
  }
  Poll();
}

void DeviceMonitor::Poll() {
  for (Device& device : devices_) {
    if (device.probe == nullptr) continue;
    DeviceCondition condition = device.probe();
    absl::MutexLock lock(&mutex_);
    device.condition = std::move(condition);
    device.read_at = now_();
  }
}

std::optional<DeviceCondition> DeviceMonitor::ConditionOf(absl::string_view name) const {
  for (const Device& device : devices_) {
    if (device.name == name) return Condition(device);
  }
  return std::nullopt;
}

std::optional<DeviceCondition> DeviceMonitor::Condition(const Device& device) const {
  absl::MutexLock lock(&mutex_);
  if (now_() - device.read_at > kStaleState) return std::nullopt;
  return device.condition;
}

void DeviceMonitor::Collect(MetricPage& page) const {
  auto& info = page.Gauge("orbserve_device_info",
                          "1; the labels name a device, its board, power mode and kind of clocks.");
  auto& clocks = page.Gauge("orbserve_device_clock_hertz", "Clock of a device.");
  auto& limits =
      page.Gauge("orbserve_device_clock_limit_hertz", "Highest clock that a device may have now.");
  auto& temperatures =
      page.Gauge("orbserve_device_temperature_celsius", "Temperature of a sensor.");
  auto& throttled = page.Gauge("orbserve_device_throttled",
                               "1 while clocks of a device are held down for this reason, else 0.");
  auto& events = page.Counter("orbserve_device_throttle_events_total",
                              "Times that clocks were held down for this reason since the machine "
                              "started.");
  for (const Device& device : devices_) {
    const DeviceCondition now = Condition(device).value_or(DeviceCondition());
    const auto labels = [&device](const char* key, const std::string& value) {
      return MetricLabels{{"device", device.name}, {key, value}};
    };
    info.Add(1, {{"backend", backend_},
                 {"device", device.name},
                 {"model", device.model},
                 {"board", board_},
                 {"power_mode", now.power_mode},
                 {"clocks", now.clock_mode}});
    for (const auto& clock : now.clocks) {
      clocks.Add(clock.hertz, labels("clock", clock.clock));
      if (clock.limit_hertz.has_value()) {
        limits.Add(*clock.limit_hertz, labels("clock", clock.clock));
      }
    }
    for (const auto& one : now.temperatures) {
      temperatures.Add(one.celsius, labels("sensor", one.sensor));
    }
    for (const auto& one : now.throttles) {
      throttled.Add(one.is_active ? 1 : 0, labels("reason", one.reason));
    }
    for (const auto& one : now.throttle_events) {
      events.Add(one.count, labels("reason", one.reason));
    }
  }
}

}  // namespace orbserve
