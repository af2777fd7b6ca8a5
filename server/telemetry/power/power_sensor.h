// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Readers made of sensors: a rail that one sensor measures, and a total that several make up.

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_POWER_SENSOR_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_POWER_SENSOR_H_

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"
#include "server/telemetry/power/power_reader.h"

namespace orbserve {

// A sensor measures in one place. A rail of its own and a total may share a sensor: it is asked
// once for both. Not thread-safe.
class PowerSensor {
 public:
  virtual ~PowerSensor() = default;

  // Answers within this time after a reading repeat it.
  static constexpr std::chrono::milliseconds kSharedFor{20};

  absl::StatusOr<PowerReading> Read();

 protected:
  virtual absl::StatusOr<PowerReading> Measure() = 0;

 private:
  std::optional<absl::StatusOr<PowerReading>> last_;
  SteadyTime last_time_;
};

// The rail is the sum of these sensors, one at least. It has a figure only while all of them have.
std::unique_ptr<PowerReader> MakeSumReader(PowerRail rail,
                                           std::vector<std::shared_ptr<PowerSensor>> sensors);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_POWER_SENSOR_H_
