// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pinned host memory for the frames on their way to a device.

#ifndef ORBSERVE_GPU_MEMORY_INPUT_POOL_H_
#define ORBSERVE_GPU_MEMORY_INPUT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "gpu/jpeg/jpeg_upload.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// How an image lies in its slot: padding, rows, padding. A mask follows its image in the same way.
struct SlotLayout {
  int pitch_bytes;
  size_t image_bytes;  // padding included; a multiple of 64

  static SlotLayout For(int width_px, int height_px);
};

class PinnedSlot final : public InputSlot {
 public:
  uint8_t* memory = nullptr;  // image.data less the padding
  size_t image_bytes = 0;     // SlotLayout::image_bytes; a mask follows, if there is one
  bool takes_files = false;

  // The file lies in the image's memory, ready to go up. Files that need more are not taken.
  bool TakeFile(absl::Span<const uint8_t> file,
                const std::shared_ptr<const FileDecoder>& decoder) override;
  absl::Status EnsurePixels() override;
  // The file that the slot holds, or null.
  JpegUpload* file() const {
    absl::MutexLock lock(&mutex_);
    return file_;
  }

 private:
  mutable absl::Mutex mutex_;
  JpegUpload* file_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<const FileDecoder> decoder_ ABSL_GUARDED_BY(mutex_);
  absl::Status decoded_ ABSL_GUARDED_BY(mutex_);  // how that ended
};

// Slots of one size lie side by side in slabs and the lowest free one is leased first, so that the
// frames of a batch are mostly neighbours and go up in one copy. Thread-safe. Lives until its last
// slot is back.
class InputPool : public std::enable_shared_from_this<InputPool> {
 public:
  // `device`: the one that memory is pinned through; every device can read it. `takes_files`: the
  // slots do.
  InputPool(int device, int64_t budget_bytes, bool takes_files = false)
      : device_(device),
        takes_files_(takes_files),
        budget_(std::make_shared<MemoryBudget>(budget_bytes)) {}

  // INVALID_ARGUMENT when the size is no image's, and (TOO_LARGE) when no slot of the pool can have
  // it; RESOURCE_EXHAUSTED when the slots in use leave no room for another of this size.
  absl::StatusOr<std::shared_ptr<InputSlot>> Lease(int width_px, int height_px, bool with_mask);

  // Frees the slabs without a leased slot of which none was leased since the last call. Waits for
  // the device.
  void FreeIdle() ABSL_LOCKS_EXCLUDED(grow_mutex_, mutex_);

  // Pinned memory of all slots, leased or not.
  int64_t used_bytes() const { return budget_->used_bytes(); }
  int64_t budget_bytes() const { return budget_->limit_bytes(); }

 private:
  struct Slab {
    PinnedBuffer memory;
    std::set<size_t> free;  // offsets
    size_t slots = 0;
    uint64_t last_lease = 0;  // number of the pool's lease that took a slot of it last

    bool idle() const { return free.size() == slots; }
    // All of its memory as free slots of this size.
    void DivideInto(size_t slot_bytes);
  };
  using Slabs = std::list<Slab>;

  // Null when no slab has a free slot of this size.
  Slab* FindFree(size_t slot_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a slab with free slots of this size: of an idle slab of other slots where idle memory
  // abounds; of new memory; of an idle slab; of new memory that idle slabs made room for.
  absl::Status AddSlab(size_t slot_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(grow_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Divides the idle slab that was used least recently into slots of this size. False when no idle
  // slab can hold one.
  bool ConvertIdleSlab(size_t slot_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t IdleBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Slabs without a leased slot whose last lease has at most this number.
  Slabs TakeIdleSlabs(uint64_t last_lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(PinnedSlot* slot, Slab* slab);

  const int device_;
  const bool takes_files_;
  const std::shared_ptr<MemoryBudget> budget_;
  // CUDA is called under this one alone: freeing waits for the work of the device, and never
  // returns where it hangs, while slots of answered frames must still come back.
  absl::Mutex grow_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  absl::Mutex mutex_;
  // By bytes of a slot; no list is empty.
  std::map<size_t, Slabs> slabs_ ABSL_GUARDED_BY(mutex_);
  uint64_t leases_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t leases_before_ ABSL_GUARDED_BY(mutex_) = 0;  // at the last call of FreeIdle()
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MEMORY_INPUT_POOL_H_
