// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A library with NVML's symbols whose answers a test writes. It is loaded by path, as the real one
// is, and its script reached by `fake_nvml_script`.

#ifndef ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_FAKE_NVML_H_
#define ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_FAKE_NVML_H_

namespace orbserve {

// NVML's results that tests use.
enum FakeNvmlResult : int {
  kNvmlSuccess = 0,
  kNvmlNotSupported = 3,
  kNvmlNotFound = 6,
  kNvmlDriverNotLoaded = 9,
  kNvmlGpuIsLost = 15,
};

struct FakeNvmlBoard {
  const char* pci_bus_id = "";  // "" = there is no such board
  int energy_result = kNvmlSuccess;
  unsigned long long energy_millijoules = 0;  // NOLINT(google-runtime-int): NVML's type
  int power_result = kNvmlSuccess;
  unsigned int power_milliwatts = 0;
  int condition_result = kNvmlSuccess;                                // of the queries below
  unsigned int clock_megahertz[3] = {}, max_clock_megahertz[3] = {};  // [clock type]
  unsigned int celsius = 0;
  int memory_celsius_result = kNvmlSuccess;
  unsigned int memory_celsius = 0;
  unsigned long long throttle_reasons = 0;            // NOLINT(google-runtime-int)
  unsigned long long supported_throttle_reasons = 0;  // NOLINT(google-runtime-int)
};

struct FakeNvmlScript {
  int init_result = kNvmlSuccess;
  int open = 0;  // successful nvmlInit_v2() less nvmlShutdown()
  FakeNvmlBoard boards[2];
};

using FakeNvmlScriptFunction = FakeNvmlScript* (*)();

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_TELEMETRY_SENSORS_FAKE_NVML_H_
