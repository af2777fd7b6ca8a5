// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_HEALTH_H_
#define ORBSERVE_GPU_HEALTH_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {

// State of the backend's devices: lost or not, and their progress. A loss is final.
// Thread-safe.
class Health {
 public:
  bool lost() const { return lost_.load(std::memory_order_acquire); }

  // DEVICE_LOST once a device is.
  absl::Status Check() const {
    return lost() ? MakeError(ErrorReason::kDeviceLost, "the device does not answer any more")
                  : absl::OkStatus();
  }

  // Takes note when `status` says that a device is lost.
  void Note(const absl::Status& status) {
    if (!status.ok() && ReasonOf(status) == ErrorReason::kDeviceLost) {
      lost_.store(true, std::memory_order_release);
      LeakFromNowOn();
    }
  }

  // Part of a long piece of work is done.
  void NoteProgress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t progress() const { return progress_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> lost_{false};
  std::atomic<uint64_t> progress_{0};
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_HEALTH_H_
