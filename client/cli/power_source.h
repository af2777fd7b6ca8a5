// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_POWER_SOURCE_H_
#define ORBSERVE_CLIENT_CLI_POWER_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/options.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Figures of power and energy, and the condition of devices: a server's, or those of this machine.
class PowerSource {
 public:
  // Connects to `options.server`, or reads the sensors of this machine when it is empty.
  // UNAVAILABLE when the server cannot be reached; NOT_FOUND when no rail can be read, with the
  // reasons. `root`: before every path of a local sensor, for tests.
  static absl::StatusOr<std::unique_ptr<PowerSource>> Open(const CommonOptions& options,
                                                           const std::string& root = "");
  virtual ~PowerSource() = default;

  // Only devices, rails and energy of frames are set.
  virtual absl::StatusOr<v1::GetServerInfoResponse> Read() = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_POWER_SOURCE_H_
