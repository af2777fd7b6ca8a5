// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/rate_search.h"

#include <cmath>

namespace orbserve::cli {
namespace {

constexpr double kPrecision = 0.03;
constexpr double kSmallestShare = 1e-3;  // of the first rate
constexpr double kHighest = 1e7;         // frames per second

}  // namespace

absl::StatusOr<double> FindHighestRate(
    double first, const std::function<absl::StatusOr<bool>(double rate)>& holds) {
  double low = 0;
  double high = 0;
  for (double rate = first; rate < kHighest;) {
    const absl::StatusOr<bool> held = holds(rate);
    if (!held.ok()) return held.status();
    (*held ? low : high) = rate;
    if (low > 0 && high > 0) break;
    if (*held) {
      rate *= 2;
    } else {
      rate /= 2;
      if (rate < first * kSmallestShare) return 0.0;
    }
  }
  while (high > low * (1 + kPrecision) && high > 0) {
    const double middle = std::sqrt(low * high);
    const absl::StatusOr<bool> held = holds(middle);
    if (!held.ok()) return held.status();
    (*held ? low : high) = middle;
  }
  return low;
}

}  // namespace orbserve::cli
