// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_MEMORY_THREAD_SCRATCH_H_
#define ORBSERVE_CPU_MEMORY_THREAD_SCRATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/memory/aligned_buffer.h"
#include "features/host_device.h"
#include "oneapi/tbb/task_arena.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace orbserve::cpu {

// Threads that can run tasks in an arena made for `threads`: oneTBB gives it two slots at least. In
// one of a single thread, the worker that takes enqueued tasks has index 1.
constexpr int ArenaSlots(int threads) { return std::max(threads, 2); }

// Index of the calling thread, which runs in the arena: [0, ArenaSlots()).
inline size_t ArenaSlotOfThisThread() {
  return static_cast<size_t>(tbb::this_task_arena::current_thread_index());
}

// Scratch memory of each thread of the arena, shared by all frames of a plan, as a kernel never
// waits.
class ThreadScratch {
 public:
  // False when there is no memory for `bytes` for each of `threads`.
  [[nodiscard]] bool Allocate(size_t bytes, int threads) {
    // A line more, so that threads never share one. The address sanitizer watches it.
    stride_ = RoundUp<size_t>(bytes, AlignedBuffer::kAlignment) + AlignedBuffer::kAlignment;
    if (!memory_.Allocate(stride_ * static_cast<size_t>(ArenaSlots(threads)))) return false;
#ifdef __SANITIZE_ADDRESS__
    for (uint8_t* end = memory_.data() + bytes; end < memory_.data() + memory_.size();
         end += stride_) {
      ASAN_POISON_MEMORY_REGION(end, stride_ - bytes);
    }
#endif
    return true;
  }

  // Returns the memory of the calling thread, which must run in the arena. 64-byte aligned.
  uint8_t* OfThisThread() const { return memory_.data() + stride_ * ArenaSlotOfThisThread(); }

  size_t size() const { return memory_.size(); }

 private:
  AlignedBuffer memory_;
  size_t stride_ = 0;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MEMORY_THREAD_SCRATCH_H_
