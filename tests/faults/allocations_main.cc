// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve-server-allocations --control FILE ARGUMENT...: orbserve-server, in which the allocations
// fail that the AllocationControl in FILE names: those by `operator new`, or those of tasks, for
// which oneTBB has memory of its own.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "oneapi/tbb/detail/_small_object_pool.h"
#include "server/process/memory/memory_reserve.h"
#include "server/program.h"
#include "tests/faults/allocation_control.h"

namespace orbserve::faults {
namespace {

AllocationControl* control = nullptr;

bool Fails(size_t bytes, bool of_tbb) {
  if ((control->of_tbb.load(std::memory_order_relaxed) != 0) != of_tbb) return false;
  if (control->countdown.load(std::memory_order_relaxed) <= 0 ||
      static_cast<int64_t>(bytes) < control->least_bytes.load(std::memory_order_relaxed) ||
      static_cast<int64_t>(bytes) > control->most_bytes.load(std::memory_order_relaxed)) {
    return false;
  }
  if (control->countdown.fetch_sub(1) != 1) return false;
  control->failures.fetch_add(1);
  return true;
}

bool FailsInNew(size_t bytes) { return Fails(bytes, /*of_tbb=*/false); }

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
  SetAllocationFault(&FailsInNew);
  return RunServerProgram(static_cast<int>(rest.size()), rest.data(), nullptr);
}

}  // namespace
}  // namespace orbserve::faults

// Tasks are made by these two functions of the library, which are called from its headers, and so
// by our own code. Under ThreadSanitizer they are those of cmake/sanitizers/.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace tbb::detail::r1 {
namespace {

void FailIfTold(std::size_t bytes) {
  if (orbserve::faults::Fails(bytes, /*of_tbb=*/true)) throw std::bad_alloc();
}

}  // namespace

void* allocate(d1::small_object_pool*& pool, std::size_t bytes) {
  using Allocate = void* (*)(d1::small_object_pool*&, std::size_t);
  static const auto own = reinterpret_cast<Allocate>(
      dlsym(RTLD_NEXT, "_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm"));
  FailIfTold(bytes);
  return own(pool, bytes);
}

void* allocate(d1::small_object_pool*& pool, std::size_t bytes, const d1::execution_data& data) {
  using Allocate = void* (*)(d1::small_object_pool*&, std::size_t, const d1::execution_data&);
  static const auto own = reinterpret_cast<Allocate>(
      dlsym(RTLD_NEXT,
            "_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE"));
  FailIfTold(bytes);
  return own(pool, bytes, data);
}

}  // namespace tbb::detail::r1

#endif

int main(int argc, char** argv) { return orbserve::faults::Run(argc, argv); }
