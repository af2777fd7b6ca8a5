// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/device_jpegs.h"

namespace orbserve {

absl::StatusOr<std::unique_ptr<DeviceJpegs>> DeviceJpegs::Create() {
  return absl::UnimplementedError("this program was built without CUDA");
}

}  // namespace orbserve
