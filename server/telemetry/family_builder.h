// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_FAMILY_BUILDER_H_
#define ORBSERVE_SERVER_TELEMETRY_FAMILY_BUILDER_H_

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "server/telemetry/metric_devices.h"

namespace orbserve {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

inline MetricLabels LabelsOf(const MetricDevice& device) {
  return {{"backend", device.backend}, {"device", device.device}};
}

// One family of a page of metrics, series by series.
class FamilyBuilder {
 public:
  FamilyBuilder(const char* name, const char* help, prometheus::MetricType type)
      : family_{name, help, type, {}} {}

  void AddCounter(double value, MetricLabels labels = {}) {
    Add(std::move(labels)).counter.value = value;
  }
  void AddGauge(double value, MetricLabels labels = {}) {
    Add(std::move(labels)).gauge.value = value;
  }
  void AddHistogram(prometheus::ClientMetric::Histogram histogram, MetricLabels labels = {}) {
    Add(std::move(labels)).histogram = std::move(histogram);
  }

  // Appends the family to `families`, unless it has no series. Once only.
  void MoveTo(std::vector<prometheus::MetricFamily>& families) {
    if (!family_.metric.empty()) families.push_back(std::move(family_));
  }

 private:
  prometheus::ClientMetric& Add(MetricLabels labels) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  prometheus::MetricFamily family_;
};

// Appends a family of one series without labels.
template <typename Number>
void AddCounter(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help,
                Number value) {
  FamilyBuilder family(name, help, prometheus::MetricType::Counter);
  family.AddCounter(static_cast<double>(value));
  family.MoveTo(families);
}
template <typename Number>
void AddGauge(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help,
              Number value) {
  FamilyBuilder family(name, help, prometheus::MetricType::Gauge);
  family.AddGauge(static_cast<double>(value));
  family.MoveTo(families);
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_FAMILY_BUILDER_H_
