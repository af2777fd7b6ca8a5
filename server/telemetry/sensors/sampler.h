// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_SENSORS_SAMPLER_H_
#define ORBSERVE_SERVER_TELEMETRY_SENSORS_SAMPLER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace orbserve {

// A thread that reads sensors as long as it lives.
//
// Sensors are read through drivers, and a driver whose device is lost may not come back. So that
// this never holds up the end of the process, the destructor waits for a reading in progress for
// kStopTime at most, then leaves the thread to itself, with everything that `poll` holds.
class Sampler {
 public:
  static constexpr std::chrono::milliseconds kStopTime{500};

  Sampler(std::function<void()> poll, std::chrono::milliseconds period);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_SENSORS_SAMPLER_H_
