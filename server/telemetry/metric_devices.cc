// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/metric_devices.h"

#include <algorithm>
#include <utility>

namespace orbserve {

MetricDevices::MetricDevices(std::vector<MetricDevice> known) : devices_(std::move(known)) {
  devices_.push_back({"other", "other"});
}

// A server has a handful of devices: a linear search is faster than hashing.
size_t MetricDevices::IndexOf(absl::string_view backend, absl::string_view device) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const MetricDevice& known) {
    return known.device == device && known.backend == backend;
  });
  return found == devices_.end() ? other() : static_cast<size_t>(found - devices_.begin());
}

size_t MetricDevices::IndexOf(absl::string_view device) const {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const MetricDevice& known) {
    return known.device == device;
  });
  return found == devices_.end() ? other() : static_cast<size_t>(found - devices_.begin());
}

}  // namespace orbserve
