// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_TELEMETRY_METRIC_PAGE_H_
#define ORBSERVE_SERVER_TELEMETRY_METRIC_PAGE_H_

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace orbserve {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// A page of metrics, which its parts fill family by family. A family without series is left out.
class MetricPage {
 public:
  struct Family : prometheus::MetricFamily {
    // Adds a series of a counter or gauge.
    template <typename Number>
    void Add(Number value, MetricLabels labels = {}) {
      const bool is_counter = type == prometheus::MetricType::Counter;
      prometheus::ClientMetric& series = metric.emplace_back();
      series.label = std::move(labels);
      (is_counter ? series.counter.value : series.gauge.value) = static_cast<double>(value);
    }
    void AddHistogram(prometheus::ClientMetric::Histogram histogram, MetricLabels labels = {}) {
      metric.emplace_back().label = std::move(labels);
      metric.back().histogram = std::move(histogram);
    }
  };

  // Begin a family, which lives as long as the page.
  Family& Counter(const std::string& name, const std::string& help) {
    return families_.emplace_back(Family{{name, help, prometheus::MetricType::Counter, {}}});
  }
  Family& Gauge(const std::string& name, const std::string& help) {
    return families_.emplace_back(Family{{name, help, prometheus::MetricType::Gauge, {}}});
  }
  Family& Histogram(const std::string& name, const std::string& help) {
    return families_.emplace_back(Family{{name, help, prometheus::MetricType::Histogram, {}}});
  }
  // Add a family of one series without labels.
  template <typename Number>
  void Counter(const std::string& name, const std::string& help, Number value) {
    Counter(name, help).Add(value);
  }
  template <typename Number>
  void Gauge(const std::string& name, const std::string& help, Number value) {
    Gauge(name, help).Add(value);
  }

  // The families that have series. Once only.
  std::vector<prometheus::MetricFamily> Take() {
    std::vector<prometheus::MetricFamily> families;
    for (Family& family : families_) {
      if (!family.metric.empty()) families.push_back(std::move(family));
    }
    return families;
  }

 private:
  std::deque<Family> families_;  // whose elements stay where they are
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_TELEMETRY_METRIC_PAGE_H_
