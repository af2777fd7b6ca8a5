// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_BENCH_PRINT_DEVICES_H_
#define ORBSERVE_BENCH_PRINT_DEVICES_H_

#include <cstdio>

#include "features/backend.h"

namespace orbserve::bench {

// Prints a line for each device that a backend computes on: "cuda:0: NAME, DETAILS".
inline void PrintDevices(const FeatureBackend& backend) {
  for (const DeviceDescription& device : backend.devices()) {
    std::printf("%s: %s, %s\n", device.device.c_str(), device.name.c_str(), device.details.c_str());
  }
}

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PRINT_DEVICES_H_
