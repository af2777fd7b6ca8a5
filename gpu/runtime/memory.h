// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Owners of device memory and of pinned host memory, and the budget that both kinds of buffers of
// one device are counted against.

#ifndef ORBSERVE_GPU_RUNTIME_MEMORY_H_
#define ORBSERVE_GPU_RUNTIME_MEMORY_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace orbserve::gpu {

// Bytes that may be held at a time. A part of a budget counts the bytes of one purpose and takes
// them from the whole, too. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // A part of `whole`, with its limit.
  static std::shared_ptr<MemoryBudget> PartOf(std::shared_ptr<MemoryBudget> whole);
  // Counts without a limit.
  static std::shared_ptr<MemoryBudget> Unlimited();

  // Takes `bytes`, or takes nothing and returns false.
  bool TryTake(int64_t bytes);
  void Return(int64_t bytes);

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  // Bytes that can be taken.
  int64_t left_bytes() const {
    const int64_t left = limit_bytes_ - used_bytes();
    return whole_ == nullptr ? left : std::min(left, whole_->left_bytes());
  }

 private:
  const int64_t limit_bytes_;
  std::shared_ptr<MemoryBudget> whole_;  // null unless this is a part
  std::atomic<int64_t> used_bytes_{0};
};

// Memory of one device, 256-byte aligned. Movable; freed by its destructor, which waits for work in
// flight on that device as cudaFree does: not for the batch thread.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // RESOURCE_EXHAUSTED (OUT_OF_MEMORY) when the budget or the device is used up. `bytes` may be 0.
  // `budget` may be null and must otherwise live longer than the buffer.
  static absl::StatusOr<DeviceBuffer> Create(int device, size_t bytes,
                                             std::shared_ptr<MemoryBudget> budget);
  // With a copy of `host`, which is there for every stream when this returns.
  static absl::StatusOr<DeviceBuffer> CreateCopyOf(int device, absl::Span<const uint8_t> host,
                                                   std::shared_ptr<MemoryBudget> budget);
  ~DeviceBuffer() { Reset(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  // Makes it `bytes` large, more than it is; the content is lost, and the memory moves. The budget
  // keeps the old block reserved until the new one exists. RESOURCE_EXHAUSTED (OUT_OF_MEMORY) as
  // above; the buffer then has its old size, or none if the device did not give that back.
  absl::Status Enlarge(size_t bytes);
  void Reset() noexcept;

 private:
  int device_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
  std::shared_ptr<MemoryBudget> budget_;
};

// Page-locked host memory that every device of the process can read and write at the same address.
// Made and freed through the device that is current when it is made.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  // As DeviceBuffer::Create. Zeroed.
  static absl::StatusOr<PinnedBuffer> Create(size_t bytes, std::shared_ptr<MemoryBudget> budget);
  ~PinnedBuffer() { Reset(); }
  PinnedBuffer(PinnedBuffer&& other) noexcept { *this = std::move(other); }
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  void Reset() noexcept;

 private:
  int device_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
  std::shared_ptr<MemoryBudget> budget_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RUNTIME_MEMORY_H_
