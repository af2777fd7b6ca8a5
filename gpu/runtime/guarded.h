// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_RUNTIME_GUARDED_H_
#define ORBSERVE_GPU_RUNTIME_GUARDED_H_

#include <new>
#include <utility>

#include "absl/status/status.h"
#include "features/errors.h"

namespace orbserve::gpu {

// Status of `work`, which may find no memory of the host.
template <typename Work>
absl::Status Guarded(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorReason::kOutOfMemory, "no memory left for this job");
  }
}

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_GUARDED_H_
