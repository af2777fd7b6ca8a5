// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_TELEMETRY_METRICS_PAGE_H_
#define ORBSERVE_TESTS_SERVER_TELEMETRY_METRICS_PAGE_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace orbserve {

// Value of the line of a page of metrics that begins with `series` and a space; NaN when the page
// has no such line.
inline double ValueOf(const std::string& page, const std::string& series) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(page, '\n'))) {
    double value = 0;
    if (absl::StartsWith(line, series + " ") &&
        absl::SimpleAtod(line.substr(series.size() + 1), &value)) {
      return value;
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_TELEMETRY_METRICS_PAGE_H_
