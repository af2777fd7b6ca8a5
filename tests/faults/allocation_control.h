// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_FAULTS_ALLOCATION_CONTROL_H_
#define ORBSERVE_TESTS_FAULTS_ALLOCATION_CONTROL_H_

#include <atomic>
#include <cstdint>

namespace orbserve::faults {

// Lies in a file that a test and orbserve-server-allocations map both.
struct AllocationControl {
  std::atomic<int64_t> countdown;    // the allocation that brings it to zero fails; <= 0: none
  std::atomic<int64_t> least_bytes;  // smaller allocations are not counted,
  std::atomic<int64_t> most_bytes;   // nor are larger ones
  std::atomic<int64_t> of_tbb;       // 1: those of oneTBB's tasks are counted; 0: the others
  std::atomic<int64_t> failures;     // allocations that failed
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace orbserve::faults

#endif  // ORBSERVE_TESTS_FAULTS_ALLOCATION_CONTROL_H_
