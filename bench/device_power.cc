// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/device_power.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "server/telemetry/power/energy.h"

namespace orbserve::bench {
namespace {

constexpr std::chrono::milliseconds kLookEvery{20};

struct Rail {
  EnergyMeter meter;
  bool begun = false;  // the first movement of its counter was seen
  double joules = 0;
  double seconds = 0;
};

}  // namespace

std::optional<double> MeanWatts(const PowerReaders& power, std::chrono::duration<double> duration) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(duration);
  std::vector<Rail> rails(power.readers.size());
  bool readable = !rails.empty();
  while (readable && Clock::now() < end) {
    const auto next = Clock::now() + kLookEvery;
    for (size_t i = 0; i < rails.size(); ++i) {
      const absl::StatusOr<PowerReading> reading = power.readers[i].read();
      readable = readable && reading.ok();
      if (!reading.ok()) continue;
      const std::optional<EnergySegment> segment = rails[i].meter.Add(Clock::now(), *reading);
      if (!segment.has_value()) continue;
      // The first segment begins somewhere inside a step of the counter.
      if (rails[i].begun) {
        rails[i].joules += segment->joules;
        rails[i].seconds += segment->seconds();
      }
      rails[i].begun = true;
    }
    std::this_thread::sleep_until(std::min(next, end));
  }
  std::this_thread::sleep_until(end);
  double watts = 0;
  for (const Rail& rail : rails) {
    readable = readable && rail.seconds > 0;
    if (readable) watts += rail.joules / rail.seconds;
  }
  return readable ? std::optional<double>(watts) : std::nullopt;
}

}  // namespace orbserve::bench
