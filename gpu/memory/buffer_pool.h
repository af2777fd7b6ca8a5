// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Device memory of states, used again and again: allocating takes the driver some hundred
// microseconds, and freeing waits for everything that the device is doing.

#ifndef ORBSERVE_GPU_MEMORY_BUFFER_POOL_H_
#define ORBSERVE_GPU_MEMORY_BUFFER_POOL_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gpu/runtime/memory.h"

namespace orbserve::gpu {

// Buffers of one device, in classes of powers of two. Those that are idle are kept up to a fortieth
// of the budget, and given up when a lease would fail for want of memory. Thread-safe. Lives until
// its last buffer is back. Made by std::make_shared.
class DeviceBufferPool : public std::enable_shared_from_this<DeviceBufferPool> {
 public:
  DeviceBufferPool(int device, std::shared_ptr<MemoryBudget> budget);

  // Bytes of the buffer that Lease(bytes) gives.
  static size_t ClassBytes(size_t bytes);

  // A buffer of at least `bytes`, which returns to the pool when the last holder lets go; work of
  // the device with it must be over then. Null when memory ran out.
  std::shared_ptr<DeviceBuffer> Lease(size_t bytes);

  // Gives up what is idle, for others who would not find memory. Waits for the device.
  void FreeIdle() ABSL_LOCKS_EXCLUDED(reclaim_mutex_);

 private:
  struct Class {
    std::vector<DeviceBuffer> idle;
    size_t made = 0;  // idle or leased
  };
  static constexpr size_t kClasses = 64;

  void GiveBack(size_t index, DeviceBuffer* used) noexcept;
  void FreeIdleAlone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(reclaim_mutex_);

  const int device_;
  const std::shared_ptr<MemoryBudget> budget_;
  const size_t max_idle_bytes_;
  absl::Mutex reclaim_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);  // one thread frees at a time
  absl::Mutex mutex_;
  std::array<Class, kClasses> classes_ ABSL_GUARDED_BY(mutex_);
  size_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MEMORY_BUFFER_POOL_H_
