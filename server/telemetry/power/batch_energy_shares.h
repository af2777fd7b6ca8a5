// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_POWER_BATCH_ENERGY_SHARES_H_
#define ORBSERVE_SERVER_TELEMETRY_POWER_BATCH_ENERGY_SHARES_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "features/backend.h"
#include "server/telemetry/power/energy_meter.h"

namespace orbserve {

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
//
// Not thread-safe.
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

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_POWER_BATCH_ENERGY_SHARES_H_
