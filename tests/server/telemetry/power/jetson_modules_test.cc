// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Power and energy of every Jetson module, from its tree of files to the page of metrics.

#include <map>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/power/power_monitor.h"
#include "server/telemetry/power/power_reader.h"
#include "tests/server/telemetry/sensors/jetson_trees.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedPointwise;

// Values of a family on a page, by rail.
std::map<std::string, double> Series(const std::string& page, const std::string& family) {
  std::map<std::string, double> values;
  for (size_t at = 0; (at = page.find("\n" + family + "{rail=\"", at)) != std::string::npos;) {
    at += family.size() + 8;
    const std::string rail = page.substr(at, page.find('"', at) - at);
    const size_t value = page.find("} ", at) + 2;
    double number = 0;
    EXPECT_TRUE(absl::SimpleAtod(page.substr(value, page.find('\n', value) - value), &number));
    values[rail] = number;
  }
  return values;
}

MATCHER(IsSameRail, "") {
  const auto& [read, expected] = arg;
  return read.first == expected.first && std::abs(read.second - expected.second) < 1e-9;
}

class JetsonModulesTest : public ::testing::TestWithParam<JetsonModule> {
 protected:
  void SetUp() override {
    GetParam().build(tree_);
    PowerReaders found = FindJetsonPowerReaders("cuda:0", tree_.root());
    EXPECT_THAT(found.failures, IsEmpty());
    monitor_ = std::make_shared<PowerMonitor>(std::move(found.readers), [this] { return now_; });
    metrics_.AddSource([monitor = monitor_](MetricPage& page) { monitor->Collect(page); });
  }

  void PollAfter(milliseconds time) {
    now_ += time;
    monitor_->Poll();
  }
  std::map<std::string, double> Watts() {
    return Series(metrics_.Render(), "orbserve_power_watts");
  }
  std::map<std::string, double> Joules() {
    return Series(metrics_.Render(), "orbserve_energy_joules_total");
  }

  const FakeTree tree_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::shared_ptr<PowerMonitor> monitor_;
  Metrics metrics_{{.version = "1", .devices = {{"cuda", "cuda:0"}}}};
};

TEST_P(JetsonModulesTest, EveryRailHasItsWattsAndOneIsTheTotal) {
  EXPECT_THAT(Watts(), UnorderedPointwise(IsSameRail(), GetParam().watts));
  const std::string page = metrics_.Render();
  EXPECT_THAT(page,
              ::testing::HasSubstr(absl::StrCat("orbserve_power_watts{rail=\"", GetParam().total,
                                                "\",source=\"ina\",scope=\"total\"} ")));
  size_t totals = 0;
  for (size_t at = 0; (at = page.find("scope=\"total\"} ", at)) != std::string::npos; ++at)
    ++totals;
  EXPECT_EQ(totals, 3u) << "watts, joules and read errors of one rail";
}

// Ten polls of 100 ms: a second of every rail's power. Below zero counts as zero.
TEST_P(JetsonModulesTest, JoulesAreWattsTimesTime) {
  for (int i = 0; i < 10; ++i) PollAfter(milliseconds(100));
  std::map<std::string, double> joules = GetParam().watts;
  for (auto& [rail, one] : joules) one = std::max(one, 0.0);
  EXPECT_THAT(Joules(), UnorderedPointwise(IsSameRail(), joules));
}

// Power that changes between two readings counts by the mean of both.
TEST_P(JetsonModulesTest, JoulesFollowPowerThatChanges) {
  const JetsonModule& module = GetParam();
  const double before = module.watts.at(module.total);
  std::string text;
  tree_.Write(module.total_file, "2000");
  PollAfter(milliseconds(100));
  const double after = Watts().at(module.total);
  EXPECT_NE(after, before);
  PollAfter(milliseconds(100));
  EXPECT_NEAR(Joules().at(module.total), (before + after) / 2 * 0.1 + after * 0.1, 1e-9);
  tree_.Write(module.total_file, "1000");
  PollAfter(milliseconds(100));
  EXPECT_NEAR(Watts().at(module.total), after - 1000 * module.total_watts_per_unit, 1e-9);
}

// A file that fails takes away the figures of its rail and of the total, and nothing else.
// Afterwards they go on, without energy for the time between.
TEST_P(JetsonModulesTest, AFileThatCannotBeReadIsAbsentUntilItCan) {
  const JetsonModule& module = GetParam();
  tree_.Write(module.total_file, "1000");
  PollAfter(milliseconds(100));
  PollAfter(milliseconds(100));
  const double joules = Joules().at(module.total);
  const size_t rails = Watts().size();
  tree_.Write(module.total_file, "none");
  PollAfter(milliseconds(500));
  EXPECT_EQ(Watts().count(module.total), 0u);
  EXPECT_EQ(Joules().count(module.total), 0u);
  const bool is_sum = module.total.find('+') != std::string::npos;
  EXPECT_EQ(Watts().size(), rails - (is_sum ? 2 : 1));
  EXPECT_EQ(Joules().size(), Watts().size());
  EXPECT_EQ(Series(metrics_.Render(), "orbserve_power_read_errors_total").at(module.total), 1);
  tree_.Write(module.total_file, "1000");
  PollAfter(milliseconds(500));
  EXPECT_NEAR(Joules().at(module.total), joules, 1e-9);
  const double watts = Watts().at(module.total);
  PollAfter(milliseconds(100));
  EXPECT_NEAR(Joules().at(module.total), joules + watts * 0.1, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Modules, JetsonModulesTest, ::testing::ValuesIn(JetsonModules()),
                         [](const auto& module) { return module.param.name; });

}  // namespace
}  // namespace orbserve
