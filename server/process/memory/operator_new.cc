// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Replaces `operator new` and `operator delete` of the program: an allocation that the heap refuses
// comes from the reserve if it is small, and throws std::bad_alloc if not. The forms for arrays,
// and those that do not throw, call these by themselves; those with an alignment stay as they are.

#include <atomic>
#include <cstdlib>
#include <new>

#include "server/process/memory/memory_reserve.h"

namespace orbserve {
namespace {

constinit MemoryReserve reserve;
constinit std::atomic<bool (*)(size_t)> fault{nullptr};

}  // namespace

MemoryReserve& ProcessReserve() { return reserve; }

void SetAllocationFault(bool (*fails)(size_t bytes)) { fault.store(fails); }

}  // namespace orbserve

// Sanitizers have operators of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* operator new(std::size_t bytes) {
  const auto fails = orbserve::fault.load(std::memory_order_relaxed);
  if (fails == nullptr || !fails(bytes)) [[likely]] {
    if (void* const block = std::malloc(bytes == 0 ? 1 : bytes); block != nullptr) return block;
  }
  if (void* const block = orbserve::reserve.Take(bytes); block != nullptr) return block;
  throw std::bad_alloc();
}

void operator delete(void* block) noexcept {
  if (orbserve::reserve.Owns(block)) {
    orbserve::reserve.GiveBack(block);
  } else {
    std::free(block);
  }
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

#endif
