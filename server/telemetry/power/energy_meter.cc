// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/telemetry/power/energy_meter.h"

#include <algorithm>

namespace orbserve {

std::optional<EnergySegment> EnergyMeter::Add(SteadyTime time, const PowerReading& reading) {
  const std::optional<SteadyTime> power_begin =
      last_power_.has_value() ? std::optional<SteadyTime>(last_power_->time) : std::nullopt;
  const std::optional<double> by_power = Trapezoid(time, reading);
  if (!reading.energy_joules.has_value()) {
    if (!by_power.has_value()) return std::nullopt;
    return Segment(*power_begin, time, *by_power);
  }
  const double counted = *reading.energy_joules;
  bridge_joules_ += by_power.value_or(0);
  if (last_count_.has_value() && counted == last_count_->joules) return std::nullopt;
  std::optional<EnergySegment> segment;
  if (last_count_.has_value()) {
    const bool went_back = counted < last_count_->joules;
    const double joules = went_back ? bridge_joules_ : counted - last_count_->joules;
    // Without power to bridge it the gap is unknown, which is not the same as no energy.
    if (joules > 0) segment = Segment(last_count_->time, time, joules);
  }
  last_count_ = Count{time, counted};
  bridge_joules_ = 0;
  return segment;
}

std::optional<double> EnergyMeter::Trapezoid(SteadyTime time, const PowerReading& reading) {
  if (!reading.power_watts.has_value()) return std::nullopt;
  const Power now{time, std::max(*reading.power_watts, 0.0)};
  const std::optional<Power> before = last_power_;
  last_power_ = now;
  if (!before.has_value() || time - before->time > kLongestGap) return std::nullopt;
  const double seconds = std::chrono::duration<double>(time - before->time).count();
  return (before->watts + now.watts) / 2 * seconds;
}

std::optional<EnergySegment> EnergyMeter::Segment(SteadyTime begin, SteadyTime end, double joules) {
  total_joules_ += joules;
  if (end <= begin) return std::nullopt;
  return EnergySegment{begin, end, joules};
}

}  // namespace orbserve
