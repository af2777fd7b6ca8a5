// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_POWER_MONITOR_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_POWER_MONITOR_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/telemetry/metric_page.h"
#include "server/telemetry/power/energy.h"
#include "server/telemetry/power/power_reader.h"
#include "server/telemetry/series.h"

namespace orbserve {

// Figures of a rail at one moment.
struct RailFigures {
  PowerRail rail;
  // Both are absent while the rail cannot be read.
  std::optional<double> watts;
  std::optional<double> joules;  // since the monitor exists
  int64_t read_errors = 0;
  // Measured energy of the frames of the rail's device.
  uint64_t frames = 0;
  double frame_joules = 0;
};

// Power and energy of every rail, and what of it each frame took.
//
// Two figures of a frame's energy are kept apart. The one in its answer is an estimate, as the
// answer does not wait for the sensor (BatchEnergyEstimate). The one in the histogram
// orbserve_frame_energy_joules is measured: a second later the energy of the device is shared out
// to the batches that were busy (BatchEnergyShares), and a batch's part in equal parts to its
// frames.
//
// Families: orbserve_power_watts, orbserve_energy_joules_total, orbserve_frame_energy_joules,
// orbserve_power_read_errors_total, orbserve_power_source_info (docs/metrics.md). A rail that
// cannot be read loses its series until it can.
//
// Thread-safe, but for Poll(), which one thread calls.
class PowerMonitor {
 public:
  using Now = std::function<SteadyTime()>;

  // Period of Poll(): an H200's counter moves every 100 ms, a look at it takes 3 ms.
  static constexpr std::chrono::milliseconds kPeriod{100};

  // Reads every rail once, so that there are figures from the start.
  explicit PowerMonitor(
      std::vector<PowerReader> readers, Now now = [] { return std::chrono::steady_clock::now(); });

  // Source of the first rail; "none" without rails.
  absl::string_view source() const;

  // Reads every rail and shares out what was measured. To be called every kPeriod.
  void Poll() ABSL_LOCKS_EXCLUDED(mutex_);

  // A batch of `frames` frames (0 = of matches) has ended. Returns an estimate of the joules that
  // the whole of it took; nothing when no rail belongs to the device, or none can be read. Takes a
  // short lock.
  std::optional<double> AddBatch(absl::string_view device, int frames, SteadyTime begin,
                                 SteadyTime end) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<RailFigures> Figures() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Collect(MetricPage& page) const;

 private:
  // State that several threads use, under the lock.
  struct RailState {
    EnergyMeter meter;
    BatchEnergyEstimate estimate;
    bool readable = false;
    SteadyTime read_at;
    std::optional<double> watts;
    int64_t read_errors = 0;
    std::vector<BatchEnergyShares::Batch> ended;  // since the last Poll()
  };

  struct Rail {
    PowerReader reader;
    RailState state;
    DurationHistogram frame_joules;
    // Used by the thread that polls.
    BatchEnergyShares shares;
    std::vector<BatchEnergyShares::Batch> ended;
  };

  static std::optional<EnergySegment> Take(RailState& state,
                                           const absl::StatusOr<PowerReading>& reading,
                                           SteadyTime time);

  const Now now_;
  mutable absl::Mutex mutex_;  // of every Rail::state
  std::deque<Rail> rails_;     // fixed after construction
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_POWER_MONITOR_H_
