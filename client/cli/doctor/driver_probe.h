// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tries the library of NVIDIA's driver in a process of its own: a damaged library ends the process
// that loads it, and a driver that hangs never comes back.

#ifndef ORBSERVE_CLIENT_CLI_DOCTOR_DRIVER_PROBE_H_
#define ORBSERVE_CLIENT_CLI_DOCTOR_DRIVER_PROBE_H_

#include <functional>
#include <string>

#include "absl/time/time.h"

namespace orbserve::cli {

struct DriverProbe {
  enum class Result {
    kAnswers,    // it was loaded and has answered, an error maybe
    kNotLoaded,  // `text` is the loader's message
    kCrashes,    // `text` names the signal
    kHangs,      // no answer within the limit
  };
  Result result = Result::kAnswers;
  std::string text;
};

// Loads `library` and initialises the driver. To be called before this process has other threads.
DriverProbe ProbeDriver(const std::string& library = "libcuda.so.1",
                        absl::Duration limit = absl::Seconds(30));

// Runs `probe` in a child process, which ends with it.
DriverProbe ProbeInChild(const std::function<DriverProbe()>& probe, absl::Duration limit);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_DOCTOR_DRIVER_PROBE_H_
