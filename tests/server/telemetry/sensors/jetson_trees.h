// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Trees of files as Jetson modules have them: rails, clocks, temperatures, throttling, power mode.

#ifndef ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_JETSON_TREES_H_
#define ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_JETSON_TREES_H_

#include <map>
#include <string>
#include <vector>

#include "tests/server/telemetry/sensors/fake_tree.h"

namespace orbserve {

// A module and what must be read from its tree.
struct JetsonModule {
  std::string name;  // "AgxOrin"
  void (*build)(const FakeTree& tree);
  std::string total;                    // name of the rail of scope "total"
  std::map<std::string, double> watts;  // of every rail, the total among them
  // File of a rail that is part of the total, and the watts of the total per unit of it.
  std::string total_file;
  double total_watts_per_unit = 0;

  std::string board;
  std::string power_mode;
  std::string clock_mode;
  double gpu_hertz = 0;
  double gpu_limit_hertz = 0;
  double cpu_hertz = 0;
  std::map<std::string, double> celsius;
  std::map<std::string, bool> throttled;
  std::map<std::string, int> throttle_events;
};

const std::vector<JetsonModule>& JetsonModules();

// Writes the tree of the module called `name`, which must exist.
void BuildJetson(const std::string& name, const FakeTree& tree);

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_JETSON_TREES_H_
