// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve-server-faults: orbserve-server, put together the same way, with a backend that fails:
//   orbserve-server-faults --fault trap|hang|error|silence [--fault-after FRAMES] ARGUMENT...
// With the first batch after so many frames, or after FaultSignal(). The other arguments are the
// server's.

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "server/program.h"
#include "tests/faults/fault_signal.h"
#include "tests/faults/faulty_backend.h"

namespace orbserve::faults {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // set by a signal's handler

constexpr int kExitUsage = 2;

int Usage() {
  std::fputs(
      "usage: orbserve-server-faults --fault trap|hang|error|silence [--fault-after FRAMES] "
      "[argument of orbserve-server]...\n",
      stderr);
  return kExitUsage;
}

int Run(int argc, char** argv) {
  absl::StatusOr<Fault> fault = absl::InvalidArgumentError("no fault");
  int64_t after_frames = -1;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--fault" && i + 1 < argc) {
      fault = FaultByName(argv[++i]);
    } else if (word == "--fault-after" && i + 1 < argc) {
      if (!absl::SimpleAtoi(argv[++i], &after_frames) || after_frames < 0) return Usage();
    } else {
      rest.push_back(argv[i]);
    }
  }
  if (!fault.ok()) return Usage();
  std::atexit(&std::abort);  // threads of gRPC and of drivers run until the end
  signal(orbserve::FaultSignal(), [](int) { requested = true; });
  return RunServerProgram(static_cast<int>(rest.size()), rest.data(),
                          [&](std::unique_ptr<FeatureBackend> backend)
                              -> absl::StatusOr<std::unique_ptr<FeatureBackend>> {
                            return std::make_unique<FaultyBackend>(std::move(backend), *fault,
                                                                   after_frames, &requested);
                          });
}

}  // namespace
}  // namespace orbserve::faults

int main(int argc, char** argv) { return orbserve::faults::Run(argc, argv); }
