// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Built three times: whole, without what old drivers lack (FAKE_NVML_OLD), and without a function
// that is needed (FAKE_NVML_BROKEN).

#include "tests/server/telemetry/sensors/fake_nvml.h"

#include <cstdio>
#include <cstring>

namespace {

orbserve::FakeNvmlScript script;

}  // namespace

extern "C" {

orbserve::FakeNvmlScript* fake_nvml_script() { return &script; }

int nvmlInit_v2() {
  if (script.init_result == orbserve::kNvmlSuccess) ++script.open;
  return script.init_result;
}

int nvmlShutdown() {
  --script.open;
  return orbserve::kNvmlSuccess;
}

#ifndef FAKE_NVML_BROKEN
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  for (orbserve::FakeNvmlBoard& board : script.boards) {
    if (std::strcmp(board.pci_bus_id, pci_bus_id) == 0) {
      *device = &board;
      return orbserve::kNvmlSuccess;
    }
  }
  return orbserve::kNvmlNotFound;
}
#endif

int nvmlDeviceGetPowerUsage(void* device, unsigned int* milliwatts) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  *milliwatts = board.power_milliwatts;
  return board.power_result;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 0;
  for (const orbserve::FakeNvmlBoard& board : script.boards) *count += *board.pci_bus_id != '\0';
  return orbserve::kNvmlSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = &script.boards[index];
  return orbserve::kNvmlSuccess;
}

// nvmlPciInfo_t as nvml.h lays it out.
struct FakePciInfo {
  char legacy[16];
  unsigned int numbers[5];
  char bus_id[32];
};

int nvmlDeviceGetPciInfo_v3(void* device, FakePciInfo* info) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  std::snprintf(info->bus_id, sizeof(info->bus_id), "%s", board.pci_bus_id);
  return orbserve::kNvmlSuccess;
}

int nvmlDeviceGetName(void*, char* name, unsigned int length) {
  std::snprintf(name, length, "Some Board");
  return orbserve::kNvmlSuccess;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned int* megahertz) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  *megahertz = board.clock_megahertz[type];
  return board.condition_result;
}

int nvmlDeviceGetMaxClockInfo(void* device, int type, unsigned int* megahertz) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  *megahertz = board.max_clock_megahertz[type];
  return board.condition_result;
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned int* celsius) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  if (sensor != 0) return orbserve::kNvmlNotSupported;
  *celsius = board.celsius;
  return board.condition_result;
}

// NOLINTNEXTLINE(google-runtime-int): NVML's type
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  *reasons = board.throttle_reasons;
  return board.condition_result;
}

#ifndef FAKE_NVML_OLD
// NOLINTNEXTLINE(google-runtime-int): NVML's type
int nvmlDeviceGetSupportedClocksThrottleReasons(void* device, unsigned long long* reasons) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  *reasons = board.supported_throttle_reasons;
  return board.condition_result;
}

// nvmlFieldValue_t as nvml.h lays it out.
struct FakeFieldValue {
  unsigned int field, scope;
  long long timestamp, latency;  // NOLINT(google-runtime-int): NVML's type
  int type, result;
  union {
    double real;
    unsigned int number;
  } value;
};

int nvmlDeviceGetFieldValues(void* device, int count, FakeFieldValue* values) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  for (int i = 0; i < count; ++i) {
    const bool is_known = values[i].field == 82;  // NVML_FI_DEV_MEMORY_TEMP
    values[i].result = is_known ? board.memory_celsius_result : orbserve::kNvmlNotSupported;
    values[i].value.number = board.memory_celsius;
  }
  return board.condition_result;
}

const char* nvmlErrorString(int result) {
  return result == orbserve::kNvmlNotSupported ? "Not Supported" : "Some Error";
}

int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::snprintf(version, length, "999.1");
  return orbserve::kNvmlSuccess;
}

// NOLINTNEXTLINE(google-runtime-int): NVML's type
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  const auto& board = *static_cast<orbserve::FakeNvmlBoard*>(device);
  *millijoules = board.energy_millijoules;
  return board.energy_result;
}
#endif

}  // extern "C"
