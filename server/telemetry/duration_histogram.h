// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_DURATION_HISTOGRAM_H_
#define ORBSERVE_SERVER_TELEMETRY_DURATION_HISTOGRAM_H_

#include <array>

#include "server/telemetry/histogram.h"

namespace orbserve {

// 0.1 ms to 10 s in steps of about 1.6: a quantile that is read from them is off by a quarter at
// most.
inline constexpr std::array<double, 26> kDurationBounds = {
    1e-4, 1.6e-4, 2.5e-4, 4e-4, 6.3e-4, 1e-3, 1.6e-3, 2.5e-3, 4e-3, 6.3e-3, 1e-2, 1.6e-2, 2.5e-2,
    4e-2, 6.3e-2, 0.1,    0.16, 0.25,   0.4,  0.63,   1.0,    1.6,  2.5,    4.0,  6.3,    10.0};

// In seconds, with a resolution of 1 ns.
using DurationHistogram = Histogram<kDurationBounds, 1'000'000'000>;

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_DURATION_HISTOGRAM_H_
