// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_LOAD_RATE_SEARCH_H_
#define ORBSERVE_CLIENT_CLI_LOAD_RATE_SEARCH_H_

#include <functional>

#include "absl/status/statusor.h"

namespace orbserve::cli {

// Returns the highest rate that `holds` accepts: doubles the rate from `first` until it does not
// hold, or halves it until it does, and then divides the gap until it is at most 3 % of the rate.
// 0: not even a thousandth of `first` holds. Errors: those of `holds`.
absl::StatusOr<double> FindHighestRate(
    double first, const std::function<absl::StatusOr<bool>(double rate)>& holds);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_LOAD_RATE_SEARCH_H_
