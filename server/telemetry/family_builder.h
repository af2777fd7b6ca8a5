// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_FAMILY_BUILDER_H_
#define ORBSERVE_SERVER_TELEMETRY_FAMILY_BUILDER_H_

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace orbserve {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// One family of a page of metrics, series by series.
class FamilyBuilder {
 public:
  FamilyBuilder(const std::string& name, const std::string& help, prometheus::MetricType type)
      : family_{name, help, type, {}} {}

  // A series of a counter or gauge.
  template <typename Number>
  void Add(Number value, MetricLabels labels = {}) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    const bool is_counter = family_.type == prometheus::MetricType::Counter;
    (is_counter ? metric.counter.value : metric.gauge.value) = static_cast<double>(value);
  }
  void AddHistogram(prometheus::ClientMetric::Histogram histogram, MetricLabels labels = {}) {
    family_.metric.emplace_back().label = std::move(labels);
    family_.metric.back().histogram = std::move(histogram);
  }

  // Appends the family to `families`, unless it has no series. Once only.
  void MoveTo(std::vector<prometheus::MetricFamily>& families) {
    if (!family_.metric.empty()) families.push_back(std::move(family_));
  }

 private:
  prometheus::MetricFamily family_;
};

// Appends a family of one series without labels.
template <typename Number>
void AddCounter(std::vector<prometheus::MetricFamily>& families, const std::string& name,
                const std::string& help, Number value) {
  FamilyBuilder family(name, help, prometheus::MetricType::Counter);
  family.Add(value);
  family.MoveTo(families);
}
template <typename Number>
void AddGauge(std::vector<prometheus::MetricFamily>& families, const std::string& name,
              const std::string& help, Number value) {
  FamilyBuilder family(name, help, prometheus::MetricType::Gauge);
  family.Add(value);
  family.MoveTo(families);
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_FAMILY_BUILDER_H_
