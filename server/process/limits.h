// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The memory and the processors that this process may use, by every limit that its surroundings
// set. `root` is where /proc and /sys lie, for tests.

#ifndef ORBSERVE_SERVER_PROCESS_LIMITS_H_
#define ORBSERVE_SERVER_PROCESS_LIMITS_H_

#include <cstdint>
#include <string>

namespace orbserve {

// Address space that the program takes beside its resident memory: code, stacks of threads, and
// heaps that are not in use.
inline constexpr int64_t kAddressOverheadBytes = int64_t{384} << 20;
// Smallest limit that is told. The server does not run with less.
inline constexpr int64_t kLeastMemoryBytes = int64_t{64} << 20;

// Bytes of resident memory: the smallest of
//  - the memory of the machine;
//  - the limits of the cgroups that the process is in, version 1 or 2, theirs and their parents';
//  - RLIMIT_AS, less kAddressOverheadBytes.
int64_t FindMemoryLimit(const std::string& root = "");

// Processors, > 0, maybe a fraction: those that the process may run on, or less by the quotas of
// its cgroups and of their parents.
double FindProcessorLimit(const std::string& root = "");

// RLIMIT_AS; 0 = none.
int64_t AddressSpaceLimit();

// Memory of the process and of the machine at one moment. Negative: cannot be read.
struct MemoryState {
  int64_t resident_bytes = -1;
  int64_t address_bytes = -1;
  int64_t available_bytes = -1;  // of the machine
};
MemoryState ReadMemoryState(const std::string& root = "");

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_LIMITS_H_
