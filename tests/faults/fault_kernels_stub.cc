// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/faults/fault_kernels.h"

namespace orbserve::faults {

absl::Status LaunchTrap(int) { return absl::UnimplementedError("built without CUDA"); }

absl::Status LaunchHang(int, std::chrono::seconds) {
  return absl::UnimplementedError("built without CUDA");
}

}  // namespace orbserve::faults
