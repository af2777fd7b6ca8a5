// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_PROCESS_METRICS_H_
#define ORBSERVE_SERVER_TELEMETRY_PROCESS_METRICS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace orbserve {

// The families process_* that Prometheus' client libraries agree on, read from /proc. A family that
// cannot be read is absent. Thread-safe.
class ProcessMetrics : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_PROCESS_METRICS_H_
