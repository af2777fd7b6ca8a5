// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_PROCESS_METRICS_H_
#define ORBSERVE_SERVER_TELEMETRY_PROCESS_METRICS_H_

#include "server/telemetry/metric_page.h"

namespace orbserve {

// Adds the families process_* that Prometheus' client libraries agree on. A family that cannot
// be read is absent. Thread-safe.
void CollectProcess(MetricPage& page);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_PROCESS_METRICS_H_
