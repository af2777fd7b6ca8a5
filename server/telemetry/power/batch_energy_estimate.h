// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_BATCH_ENERGY_ESTIMATE_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_BATCH_ENERGY_ESTIMATE_H_

#include <chrono>
#include <deque>
#include <optional>

#include "features/backend.h"
#include "server/telemetry/busy_time.h"
#include "server/telemetry/power/energy_meter.h"

namespace orbserve {

// Estimate of a batch's energy, made when it ends. The sensors have not measured it then: they
// are slower than batches by a factor of a thousand. The estimate is
//
//   mean power of the device, over the last second that was measured
//   x the batch's busy interval
//   / how many batches of the device were busy at once, on average over the last second or so
//     (the sum of their intervals over the union of them).
//
// While the load is steady, the sum of the estimates is the measured energy of the device's busy
// time; they lag behind a load that changes, by about a second. Not thread-safe.
class BatchEnergyEstimate {
 public:
  // Both: length of the past that counts.
  static constexpr std::chrono::milliseconds kMemory{1000};
  // Power that was measured longer ago than this says nothing about now.
  static constexpr std::chrono::seconds kStale{3};

  // Measured energy; segments come in order.
  void AddEnergy(const EnergySegment& segment);
  // Joules of a batch; nothing while no power is known. Called in the order in which batches end,
  // or nearly.
  std::optional<double> AddBatch(SteadyTime begin, SteadyTime end);

 private:
  std::optional<double> MeanWatts(SteadyTime now) const;

  std::deque<EnergySegment> recent_;
  double recent_joules_ = 0;
  double recent_seconds_ = 0;

  BusyTime busy_;
  // Sums over the batches so far; older ones fade away.
  double batch_seconds_ = 0;
  double busy_seconds_ = 0;
  SteadyTime last_end_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_BATCH_ENERGY_ESTIMATE_H_
