// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// From readings of a rail to its energy, and from that to the energy of batches. None of the
// classes is thread-safe.

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_ENERGY_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_ENERGY_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "features/backend.h"
#include "server/telemetry/busy_time.h"
#include "server/telemetry/power/power_reader.h"

namespace orbserve {

// Energy that a rail delivered in a stretch of time.
struct EnergySegment {
  SteadyTime begin;
  SteadyTime end;     // > begin
  double joules = 0;  // >= 0

  double seconds() const { return std::chrono::duration<double>(end - begin).count(); }
};

// Makes energy that only grows of one rail's readings.
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
  struct Point {
    SteadyTime time;
    double value = 0;
  };

  std::optional<Point> last_power_;  // watts
  std::optional<Point> last_count_;  // joules, where the counter last moved
  double bridge_joules_ = 0;         // by power, since then
  double total_joules_ = 0;
};

// The measured energy of one device, shared out to the batches that it worked for.
//
// At every moment the device's power belongs in equal parts to the batches that are busy on it
// (lanes overlap); the time in which none is belongs to nobody. Within a segment power counts as
// constant. So a frame pays for the whole board while it works, at rest nobody pays, and the sum
// over all batches is never more than what was measured.
//
// Intervals of batches arrive when the batches end, in any order, and energy later still. A segment
// is therefore shared out once it is kLag old. A batch is charged when energy covers all of its
// interval; one that is longer than kLag, or was there before measuring began, is charged nothing,
// rather than a part.
class BatchEnergyShares {
 public:
  static constexpr std::chrono::milliseconds kLag{1000};
  // Batches remembered; more than a device ends within kLag. Those beyond are charged nothing.
  static constexpr size_t kMaxBatches = size_t{1} << 17;

  struct Batch {
    SteadyTime begin;
    SteadyTime end;
    int frames = 0;     // 0 = a batch of matches
    double joules = 0;  // charged so far
    std::chrono::nanoseconds covered{};
    double level = 0;  // see Share()
  };

  void AddBatch(SteadyTime begin, SteadyTime end, int frames);
  // Segments come in order and do not overlap.
  void AddEnergy(const EnergySegment& segment) { segments_.push_back(segment); }

  // Shares out what is old enough and calls `charge(batch)` for each batch that is complete.
  template <typename Charge>
  void Settle(SteadyTime now, Charge charge) {
    while (!segments_.empty() && segments_.front().end + kLag <= now) {
      const EnergySegment segment = segments_.front();
      segments_.pop_front();
      Share(segment);
      for (const Batch& batch : TakeEnded(segment.end)) charge(batch);
    }
  }

 private:
  // Moments at which the number of busy batches changes.
  struct Edge {
    SteadyTime time;
    size_t batch = 0;
    bool is_end = false;
  };

  void Share(const EnergySegment& segment);
  // Removes the batches that ended by `time`; returns those that are covered.
  std::vector<Batch> TakeEnded(SteadyTime time);

  std::deque<EnergySegment> segments_;
  std::vector<Batch> batches_;
  std::vector<Edge> edges_;  // scratch of Share()
};

// Estimate of a batch's energy, made when it ends. The sensors have not measured it then: they
// are slower than batches by a factor of a thousand. The estimate is
//
//   mean power of the device, over the last second that was measured
//   x the batch's busy interval
//   / how many batches of the device were busy at once, on average over the last second or so
//     (the sum of their intervals over the union of them).
//
// While the load is steady, the sum of the estimates is the measured energy of the device's busy
// time; they lag behind a load that changes, by about a second.
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

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_ENERGY_H_
