// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Kernels that break a CUDA device for this process.

#ifndef ORBSERVE_TESTS_FAULTS_FAULT_KERNELS_H_
#define ORBSERVE_TESTS_FAULTS_FAULT_KERNELS_H_

#include <chrono>

#include "absl/status/status.h"

namespace orbserve::faults {

// Launches a kernel that traps on device number `device`: a sticky error. Does not wait for it.
// UNIMPLEMENTED in a build without CUDA, as below.
absl::Status LaunchTrap(int device);

// Launches a kernel that fills every multiprocessor of the device for `time`: what is launched
// after it, on any stream of this process, does not begin before. Does not wait for it.
absl::Status LaunchHang(int device, std::chrono::seconds time);

}  // namespace orbserve::faults

#endif  // ORBSERVE_TESTS_FAULTS_FAULT_KERNELS_H_
