// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Counts the memory held for one purpose, so that metrics can tell it without a walk over objects.

#ifndef ORBSERVE_CPU_MEMORY_MEMORY_COUNT_H_
#define ORBSERVE_CPU_MEMORY_MEMORY_COUNT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace orbserve::cpu {

// Bytes that some objects hold together. Counts in its parent, too, if it has one. Thread-safe.
class MemoryCount {
 public:
  explicit MemoryCount(std::shared_ptr<MemoryCount> parent = nullptr,
                       int64_t limit_bytes = std::numeric_limits<int64_t>::max())
      : parent_(std::move(parent)), limit_bytes_(limit_bytes) {}
  MemoryCount(const MemoryCount&) = delete;
  MemoryCount& operator=(const MemoryCount&) = delete;

  void Add(int64_t bytes) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (parent_ != nullptr) parent_->Add(bytes);
  }
  // True if so many bytes more stay within this limit and the parent's. Threads that ask at the
  // same time may pass it together.
  bool Fits(size_t more_bytes) const {
    const auto more = static_cast<int64_t>(more_bytes);
    return more <= limit_bytes_ - bytes() && (parent_ == nullptr || parent_->Fits(more_bytes));
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> bytes_ = 0;
  const std::shared_ptr<MemoryCount> parent_;
  const int64_t limit_bytes_;
};

// Share of one object in a count; taken back when the object is destroyed. Not thread-safe.
class CountedBytes {
 public:
  explicit CountedBytes(std::shared_ptr<MemoryCount> count) : count_(std::move(count)) {}
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  ~CountedBytes() { Set(0); }

  void Set(size_t bytes) {
    const auto held = static_cast<int64_t>(bytes);
    if (held == bytes_) return;
    count_->Add(held - bytes_);
    bytes_ = held;
  }

 private:
  const std::shared_ptr<MemoryCount> count_;
  int64_t bytes_ = 0;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MEMORY_MEMORY_COUNT_H_
