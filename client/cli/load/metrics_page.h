// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Reads the /metrics page of a running server.

#ifndef ORBSERVE_CLIENT_CLI_LOAD_METRICS_PAGE_H_
#define ORBSERVE_CLIENT_CLI_LOAD_METRICS_PAGE_H_

#include <map>
#include <string>

namespace orbserve::cli {

// Value of each series, by its name with labels as on the page: `orbserve_streams`,
// `orbserve_power_watts{rail="gpu",...}`.
using MetricsPage = std::map<std::string, double>;

// GET http://HOST:PORT/metrics. Empty when it cannot be had.
MetricsPage FetchMetrics(const std::string& host, const std::string& port);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_LOAD_METRICS_PAGE_H_
