// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_reserve.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace orbserve {
namespace {

// Before each block: its class. As large as the alignment of malloc.
constexpr size_t kHeaderBytes = 16;

constinit MemoryReserve reserve;
constinit std::atomic<bool (*)(size_t)> fault{nullptr};

}  // namespace

bool MemoryReserve::Map(size_t bytes) {
  if (size_.load() != 0) return true;
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return false;
  begin_.store(reinterpret_cast<uintptr_t>(mapping));
  size_.store(bytes);
  return true;
}

void* MemoryReserve::Take(size_t bytes) {
  if (bytes > kLargestBlockBytes) return nullptr;
  const size_t size =
      std::bit_ceil(std::max(std::max(bytes, size_t{1}) + kHeaderBytes, size_t{1} << kFirstClass));
  const auto place = static_cast<size_t>(std::countr_zero(size) - kFirstClass);
  Lock();
  char* block = nullptr;
  if (Free* const free = free_[place]; free != nullptr) {
    free_[place] = free->next;
    block = reinterpret_cast<char*>(free) - kHeaderBytes;
  } else if (size <= size_.load(std::memory_order_relaxed) - used_) {
    block = reinterpret_cast<char*>(begin_.load(std::memory_order_relaxed)) + used_;
    used_ += size;
  }
  Unlock();
  if (block == nullptr) return nullptr;
  blocks_.fetch_add(1, std::memory_order_relaxed);
  takes_.fetch_add(1, std::memory_order_relaxed);
  bytes_out_.fetch_add(size, std::memory_order_relaxed);
  *reinterpret_cast<size_t*>(block) = place;
  return block + kHeaderBytes;
}

void MemoryReserve::GiveBack(void* block) {
  const size_t place = *reinterpret_cast<size_t*>(static_cast<char*>(block) - kHeaderBytes);
  auto* const free = static_cast<Free*>(block);
  Lock();
  free->next = free_[place];
  free_[place] = free;
  Unlock();
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  bytes_out_.fetch_sub(size_t{1} << (place + kFirstClass), std::memory_order_relaxed);
}

bool HeapExhaustion::Look(std::chrono::steady_clock::time_point now) {
  const int64_t takes = reserve_.takes();
  if (takes != takes_) end_ = now + kTime;
  takes_ = takes;
  return now < end_ || reserve_.is_low();
}

MemoryReserve& ProcessReserve() { return reserve; }

void SetAllocationFault(bool (*fails)(size_t bytes)) { fault.store(fails); }

}  // namespace orbserve

// `operator new` and `operator delete` of the program: an allocation that the heap refuses comes
// from the reserve if it is small, and throws std::bad_alloc if not. The forms for arrays, and
// those that do not throw, call these by themselves; those with an alignment stay as they are.
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
