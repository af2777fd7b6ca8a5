// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/power_sensor.h"

#include <utility>

#include "features/errors.h"

namespace orbserve {
namespace {

// Adds a figure to a sum that has it so far; the sum loses it where one part lacks it.
void AddTo(std::optional<double>& sum, const std::optional<double>& part) {
  if (sum.has_value() && part.has_value()) {
    *sum += *part;
  } else {
    sum.reset();
  }
}

class SumReader final : public PowerReader {
 public:
  SumReader(PowerRail rail, std::vector<std::shared_ptr<PowerSensor>> sensors)
      : rail_(std::move(rail)), sensors_(std::move(sensors)) {}

  const PowerRail& rail() const override { return rail_; }

  absl::StatusOr<PowerReading> Read() override {
    PowerReading sum{.power_watts = 0, .energy_joules = 0};
    for (const auto& sensor : sensors_) {
      ORBSERVE_ASSIGN_OR_RETURN(const PowerReading part, sensor->Read());
      AddTo(sum.power_watts, part.power_watts);
      AddTo(sum.energy_joules, part.energy_joules);
    }
    return sum;
  }

 private:
  const PowerRail rail_;
  const std::vector<std::shared_ptr<PowerSensor>> sensors_;
};

}  // namespace

absl::StatusOr<PowerReading> PowerSensor::Read() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (!last_.has_value() || now - last_time_ > kSharedFor) {
    last_ = Measure();
    last_time_ = now;
  }
  return *last_;
}

std::unique_ptr<PowerReader> MakeSumReader(PowerRail rail,
                                           std::vector<std::shared_ptr<PowerSensor>> sensors) {
  return std::make_unique<SumReader>(std::move(rail), std::move(sensors));
}

}  // namespace orbserve
