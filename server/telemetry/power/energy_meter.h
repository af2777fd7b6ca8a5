// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_ENERGY_METER_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_ENERGY_METER_H_

#include <chrono>
#include <optional>

#include "features/backend.h"
#include "server/telemetry/power/power_reader.h"

namespace orbserve {

// Energy that a rail delivered in a stretch of time.
struct EnergySegment {
  SteadyTime begin;
  SteadyTime end;     // > begin
  double joules = 0;  // >= 0

  double seconds() const { return std::chrono::duration<double>(end - begin).count(); }
};

// Makes energy that only grows of one rail's readings. Not thread-safe.
//
// Where the source counts energy, a segment reaches from one movement of the counter to the next:
// counters move in steps of their own (an H200's every 100 ms), and a look between two steps says
// nothing. A counter that goes back (the driver was loaded anew) is begun again from its new value,
// and what the power was meanwhile fills the gap, if the source tells power too.
// Where it does not, power is integrated by trapezoids between readings. Negative power, which some
// sensors report at rest, is no energy. Nothing is made up for gaps: readings further apart than
// kLongestGap, or with a failure between them, are not connected.
class EnergyMeter {
 public:
  static constexpr std::chrono::seconds kLongestGap{2};

  // `time`: when the reading was made; not before the one before it.
  std::optional<EnergySegment> Add(SteadyTime time, const PowerReading& reading);
  // A reading failed.
  void Interrupt() { last_power_.reset(); }

  double total_joules() const { return total_joules_; }

 private:
  struct Power {
    SteadyTime time;
    double watts = 0;
  };
  struct Count {
    SteadyTime time;
    double joules = 0;
  };

  // Energy since the last reading by its power; nothing when the two are not connected.
  std::optional<double> Trapezoid(SteadyTime time, const PowerReading& reading);
  std::optional<EnergySegment> Segment(SteadyTime begin, SteadyTime end, double joules);

  std::optional<Power> last_power_;
  std::optional<Count> last_count_;  // where the counter last moved
  double bridge_joules_ = 0;         // by power, since then
  double total_joules_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_ENERGY_METER_H_
