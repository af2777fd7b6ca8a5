// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Small blocks for the moments in which the heap has none. Work that has begun needs many small
// objects to come to its end: the status that says what is wrong, the entry that takes a frame out
// of a queue. They come from the reserve then, so that only large allocations fail, at the few
// places that expect it.
//
// memory_reserve.cc replaces the program's `operator new` by one that falls back on the reserve.

#ifndef ORBSERVE_SERVER_PROCESS_MEMORY_MEMORY_RESERVE_H_
#define ORBSERVE_SERVER_PROCESS_MEMORY_MEMORY_RESERVE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace orbserve {

// Blocks in classes of powers of two, each with a header, in one mapping that is never given back.
// Thread-safe. Never allocates and never throws.
class MemoryReserve {
 public:
  static constexpr size_t kLargestBlockBytes = size_t{16} << 10;

  constexpr MemoryReserve() = default;
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  // Maps `bytes`, once. False when that fails; Take() then returns null.
  bool Map(size_t bytes);

  // A block of at least `bytes`, aligned as malloc's; null when that is too large, or the reserve
  // is used up.
  void* Take(size_t bytes);
  bool Owns(const void* block) const {
    const auto address = reinterpret_cast<uintptr_t>(block);
    return address - begin_.load(std::memory_order_relaxed) < size_.load(std::memory_order_relaxed);
  }
  void GiveBack(void* block);

  // Blocks that are out.
  int64_t blocks() const { return blocks_.load(std::memory_order_relaxed); }
  // Blocks that were ever taken.
  int64_t takes() const { return takes_.load(std::memory_order_relaxed); }
  // More than half of its bytes are out.
  bool is_low() const {
    return bytes_out_.load(std::memory_order_relaxed) > size_.load(std::memory_order_relaxed) / 2;
  }

 private:
  // Smallest block is 2^kFirstClass bytes.
  static constexpr int kFirstClass = 5;
  static constexpr int kClasses = 11;  // the largest is 32 KiB with its header
  struct Free {
    Free* next;
  };

  void Lock() {
    while (lock_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void Unlock() { lock_.clear(std::memory_order_release); }

  std::atomic<uintptr_t> begin_{0};
  std::atomic<size_t> size_{0};
  std::atomic<int64_t> blocks_{0};
  std::atomic<int64_t> takes_{0};
  std::atomic<size_t> bytes_out_{0};
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  size_t used_ = 0;                        // bytes that have been blocks
  std::array<Free*, kClasses> free_ = {};  // blocks that are back
};

// Says whether the heap has no memory: a block came from the reserve within the last second, or
// more than half of the reserve is out. A block that stays out says nothing, because libraries keep
// some for as long as the process lives. Used by one thread.
class HeapExhaustion {
 public:
  static constexpr std::chrono::seconds kTime{1};

  explicit HeapExhaustion(const MemoryReserve& reserve)
      : reserve_(reserve), takes_(reserve.takes()) {}
  // To be called some times a second.
  bool Look(std::chrono::steady_clock::time_point now);

 private:
  const MemoryReserve& reserve_;
  int64_t takes_;
  std::chrono::steady_clock::time_point end_{};
};

// The reserve of the process, which the replaced operators use.
MemoryReserve& ProcessReserve();

// Makes each allocation by `operator new` fail for which `fails` returns true, as if the heap had
// no memory. For tests. Null: none.
void SetAllocationFault(bool (*fails)(size_t bytes));

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_MEMORY_MEMORY_RESERVE_H_
