// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/memory_reserve.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace orbserve {
namespace {

// Before each block: its class. As large as the alignment of malloc.
constexpr size_t kHeaderBytes = 16;

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

}  // namespace orbserve
