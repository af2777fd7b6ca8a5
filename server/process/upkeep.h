// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Processor time of threads that work also while no client calls.

#ifndef ORBSERVE_SERVER_PROCESS_UPKEEP_H_
#define ORBSERVE_SERVER_PROCESS_UPKEEP_H_

#include <chrono>

namespace orbserve {

// Adds the processor time that the calling thread has taken since its last call, or its start, to
// the upkeep of the process. Such a thread calls it now and then, and before it ends.
void CountUpkeep();

// Sum of all threads since the start of the process; never decreases.
std::chrono::nanoseconds UpkeepTime();

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_UPKEEP_H_
