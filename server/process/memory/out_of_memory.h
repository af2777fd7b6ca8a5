// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// An allocation that fails ends the call that it happened in, and nothing else.

#ifndef ORBSERVE_SERVER_PROCESS_MEMORY_OUT_OF_MEMORY_H_
#define ORBSERVE_SERVER_PROCESS_MEMORY_OUT_OF_MEMORY_H_

#include <new>

#include "absl/status/status.h"
#include "features/errors.h"

namespace orbserve {

// OUT_OF_MEMORY. A copy of it allocates nothing. The first call does.
inline const absl::Status& OutOfMemoryStatus() {
  static const absl::Status* const status = new absl::Status(
      MakeError(ErrorReason::kOutOfMemory, "no memory left for this request; try again"));
  return *status;
}

// Calls `work`, which returns an absl::Status, and makes one of a failed allocation.
template <typename Work>
absl::Status WithoutBadAlloc(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OutOfMemoryStatus();
  }
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_MEMORY_OUT_OF_MEMORY_H_
