// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_METRIC_DEVICES_H_
#define ORBSERVE_SERVER_TELEMETRY_METRIC_DEVICES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace orbserve {

// A device of a backend: a pair of label values.
struct MetricDevice {
  std::string backend;  // "cpu"
  std::string device;   // "cpu", "cuda:0"

  bool operator==(const MetricDevice&) const = default;
};

// The devices that have series of their own, and after them one named "other" for all the rest.
// Immutable.
class MetricDevices {
 public:
  explicit MetricDevices(std::vector<MetricDevice> known);

  // The known devices, then {"other", "other"}.
  const std::vector<MetricDevice>& all() const { return devices_; }
  size_t count() const { return devices_.size(); }
  size_t other() const { return devices_.size() - 1; }

  // Index into all(); other() for a device that is not known.
  size_t IndexOf(absl::string_view backend, absl::string_view device) const;
  // The first backend's, where several share the device.
  size_t IndexOf(absl::string_view device) const;

 private:
  std::vector<MetricDevice> devices_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_METRIC_DEVICES_H_
