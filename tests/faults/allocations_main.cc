// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve-server-allocations --control FILE ARGUMENT...: orbserve-server, in which the allocations
// fail that the AllocationControl in FILE names.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "server/memory/memory_reserve.h"
#include "server/program.h"
#include "tests/faults/allocation_control.h"

namespace orbserve::faults {
namespace {

AllocationControl* control = nullptr;

bool Fails(size_t bytes) {
  if (control->countdown.load(std::memory_order_relaxed) <= 0 ||
      static_cast<int64_t>(bytes) < control->least_bytes.load(std::memory_order_relaxed) ||
      static_cast<int64_t>(bytes) > control->most_bytes.load(std::memory_order_relaxed)) {
    return false;
  }
  if (control->countdown.fetch_sub(1) != 1) return false;
  control->failures.fetch_add(1);
  return true;
}

int Run(int argc, char** argv) {
  constexpr int kExitUsage = 2;
  const char* path = "";
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--control") == 0 && i + 1 < argc) {
      path = argv[++i];
    } else {
      rest.push_back(argv[i]);
    }
  }
  const int file = open(path, O_RDWR | O_CLOEXEC);
  void* const mapping =
      mmap(nullptr, sizeof(AllocationControl), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    std::fputs(
        "usage: orbserve-server-allocations --control FILE [argument of orbserve-server]...\n",
        stderr);
    return kExitUsage;
  }
  close(file);
  control = static_cast<AllocationControl*>(mapping);
  SetAllocationFault(&Fails);
  return RunServerProgram(static_cast<int>(rest.size()), rest.data(), nullptr);
}

}  // namespace
}  // namespace orbserve::faults

int main(int argc, char** argv) { return orbserve::faults::Run(argc, argv); }
