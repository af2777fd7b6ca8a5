// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_POWER_SAMPLER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_POWER_SAMPLER_H_

#include <chrono>
#include <memory>
#include <thread>

#include "server/telemetry/power/power_monitor.h"

namespace orbserve {

// A thread that polls a monitor as long as it lives.
//
// Sensors are read through drivers, and a driver whose device is lost may not come back. So that
// this never holds up the end of the process, the destructor waits for a reading in progress for
// kStopTime at most, then leaves the thread to itself, with its share of the monitor.
class PowerSampler {
 public:
  // An H200's counter moves every 100 ms, a look at it takes 3 ms.
  static constexpr std::chrono::milliseconds kPeriod{100};
  static constexpr std::chrono::milliseconds kStopTime{500};

  explicit PowerSampler(std::shared_ptr<PowerMonitor> monitor,
                        std::chrono::milliseconds period = kPeriod);
  ~PowerSampler();
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_POWER_SAMPLER_H_
