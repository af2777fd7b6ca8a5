// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_BENCH_DEVICE_POWER_H_
#define ORBSERVE_BENCH_DEVICE_POWER_H_

#include <chrono>
#include <optional>

#include "server/telemetry/power/power_reader.h"

namespace orbserve::bench {

// Returns after `duration` with the mean power of all rails together, in watts; nothing when there
// is no rail or one of them cannot be read. Counters of energy are looked at 50 times a second and
// taken between two of their movements, so that their steps (an H200's: 100 ms) do not blur it:
// `duration` should be many steps, 2 s or more.
std::optional<double> MeanWatts(const PowerReaders& power, std::chrono::duration<double> duration);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_DEVICE_POWER_H_
