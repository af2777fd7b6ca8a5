// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DURATION_HISTOGRAM_H_
#define ORBSERVE_SERVER_TELEMETRY_DURATION_HISTOGRAM_H_

#include <array>

#include "server/telemetry/histogram.h"

namespace orbserve {

// 0.1 ms to 100 s, ten to the decade: a quantile that is read from them is off by a quarter at
// worst.
inline constexpr std::array<double, 61> kDurationBounds = {
    1e-4,    1.25e-4, 1.6e-4,  2e-4,    2.5e-4,  3.15e-4, 4e-4,   5e-4,   6.3e-4, 8e-4,    1e-3,
    1.25e-3, 1.6e-3,  2e-3,    2.5e-3,  3.15e-3, 4e-3,    5e-3,   6.3e-3, 8e-3,   1e-2,    1.25e-2,
    1.6e-2,  2e-2,    2.5e-2,  3.15e-2, 4e-2,    5e-2,    6.3e-2, 8e-2,   1e-1,   1.25e-1, 1.6e-1,
    2e-1,    2.5e-1,  3.15e-1, 4e-1,    5e-1,    6.3e-1,  8e-1,   1,      1.25,   1.6,     2,
    2.5,     3.15,    4,       5,       6.3,     8,       10,     12.5,   16,     20,      25,
    31.5,    40,      50,      63,      80,      100};

// In seconds, with a resolution of 1 ns.
using DurationHistogram = Histogram<kDurationBounds, 1'000'000'000>;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DURATION_HISTOGRAM_H_
