// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Energy of many frames and of the devices that computed them: `orbserve extract --power`.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_ENERGY_SUMMARY_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_ENERGY_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Thread-safe.
class EnergySummary {
 public:
  struct Result {
    int64_t frames = 0;  // that were answered
    // Mean share of a frame, as the answers estimate it; nothing where they carry no energy.
    std::optional<double> joules_per_frame;
    // Everything that the engine's devices took, measured; nothing where it has no power source.
    std::optional<double> device_joules;
    double seconds = 0;
  };

  void Add(const v1::Execution& execution) ABSL_LOCKS_EXCLUDED(mutex_);

  // The devices' energy is the difference of both answers of the engine, `seconds` apart.
  Result Finish(const v1::GetServerInfoResponse& before, const v1::GetServerInfoResponse& after,
                double seconds) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  int64_t frames_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t frames_with_energy_ ABSL_GUARDED_BY(mutex_) = 0;
  double joules_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Two lines; docs/cli.md describes them.
std::string EnergyText(const EnergySummary::Result& result);
// One line without its end; docs/formats.md describes the keys.
std::string EnergyJson(const EnergySummary::Result& result);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_ENERGY_SUMMARY_H_
