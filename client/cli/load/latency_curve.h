// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_LOAD_LATENCY_CURVE_H_
#define ORBSERVE_CLIENT_CLI_LOAD_LATENCY_CURVE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve::cli {

// One measurement: answers per second, and latencies.
struct CurvePoint {
  double rate = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
};

// Returns an SVG picture of latency over rate: three lines, on a logarithmic scale of milliseconds.
// `limit_ms`: a line to draw, 0 = none.
std::string DrawLatencyCurve(absl::Span<const CurvePoint> points, absl::string_view title,
                             double limit_ms);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_LOAD_LATENCY_CURVE_H_
