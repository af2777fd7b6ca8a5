// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_DECODE_DEVICE_JPEGS_H_
#define ORBSERVE_TESTS_DECODE_DEVICE_JPEGS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace orbserve {

// JPEG files to grey on the first CUDA device.
class DeviceJpegs {
 public:
  static constexpr size_t kMaxFiles = 32;  // of one batch

  // UNAVAILABLE without a device, UNIMPLEMENTED in a build without CUDA.
  static absl::StatusOr<std::unique_ptr<DeviceJpegs>> Create();
  virtual ~DeviceJpegs() = default;

  // The pixels of each file, rows without padding; none where the file is left to the host. Ends
  // the program if the device fails.
  virtual std::vector<std::optional<std::vector<uint8_t>>> Decode(
      const std::vector<const std::vector<uint8_t>*>& files) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_DECODE_DEVICE_JPEGS_H_
