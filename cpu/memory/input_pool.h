// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_MEMORY_INPUT_POOL_H_
#define ORBSERVE_CPU_MEMORY_INPUT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cpu/memory/aligned_buffer.h"
#include "features/backend.h"
#include "features/recycling_pool.h"

namespace orbserve::cpu {

// Slots for input images, bounded in bytes, used again for images that need as much or a little
// less. Lives until its last slot is back. Thread-safe. Made by std::make_shared.
class InputPool : public std::enable_shared_from_this<InputPool> {
 public:
  explicit InputPool(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  // INVALID_ARGUMENT when the size is no image's, and (TOO_LARGE) when no slot of the pool can have
  // it; RESOURCE_EXHAUSTED when the slots in use leave no room for another of this size.
  absl::StatusOr<std::shared_ptr<InputSlot>> Lease(int width_px, int height_px, bool with_mask);

  // Frees the slots that have been idle since the last call.
  void FreeIdle();

  // Bytes of all slots, idle or leased.
  int64_t held_bytes() const {
    absl::MutexLock lock(&mutex_);
    return held_bytes_;
  }

 private:
  struct Slot final : InputSlot {
    AlignedBuffer memory;
    uint64_t period = 0;  // in which it was given back
  };
  using Slots = std::list<std::unique_ptr<Slot>>;

  void GiveBack(Slot* slot);

  const int64_t budget_bytes_;
  const std::shared_ptr<BlockPool> blocks_ = std::make_shared<BlockPool>();
  mutable absl::Mutex mutex_;
  Slots idle_ ABSL_GUARDED_BY(mutex_);   // least recently used first
  Slots nodes_ ABSL_GUARDED_BY(mutex_);  // empty list nodes of slots in use, so that giving back
                                         // does not allocate
  int64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // by all slots
  uint64_t period_ ABSL_GUARDED_BY(mutex_) = 0;     // number of calls of FreeIdle()
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MEMORY_INPUT_POOL_H_
