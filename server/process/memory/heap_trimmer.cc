// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/memory/heap_trimmer.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>  // defines __GLIBC__ where there is one
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)  // mallinfo() of earlier ones counts to 2 GiB only
#define ORBSERVE_HAS_MALLINFO2
#endif
#endif

#include "absl/synchronization/mutex.h"

namespace orbserve {
namespace {

#ifdef __GLIBC__
constexpr int kKeptBytes = 16 << 20;  // at the end of a heap

// There are as many heaps as processors. A heap takes 64 MiB of addresses before it has a byte in
// use, so that where addresses are limited, heaps get a quarter of them.
int Heaps() {
  constexpr rlim_t kHeapAddresses = 64 << 20;
  rlim_t most = std::thread::hardware_concurrency();
  rlimit addresses = {};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
    most = std::min(most, addresses.rlim_cur / 4 / kHeapAddresses);
  }
  return std::max(2, static_cast<int>(most));
}

// The system's default, 8 MiB, is a gigabyte of addresses for the threads of 32 processors. Nothing
// here comes near the 1 MiB that threads have on other systems. Sanitizers need more than others.
void LimitStacks() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr size_t kStackBytes = 2 << 20;
  pthread_attr_t attributes;
  size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes > kStackBytes &&
      pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
#endif
}
#endif

#ifdef ORBSERVE_HAS_MALLINFO2
// malloc_trim() leaves the end of every heap but the first. A heap looks at its end where a block
// of it is freed. A new thread takes a heap that no thread has, then a new heap while there are
// fewer than allowed, then the next one in turn: twice as many threads as heaps come to each.
void ShrinkEndsOfHeaps() {
  constexpr size_t kBlockBytes = 128 << 10;  // the end is not looked at for less than 64 KiB
  mallopt(M_TRIM_THRESHOLD, 0);
  const int count = 2 * Heaps();
  std::latch all_have_one(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&all_have_one] {
        void* const volatile block = std::malloc(kBlockBytes);
        all_have_one.arrive_and_wait();
        std::free(block);
      });
    }
  } catch (const std::system_error&) {  // no more threads: the other heaps keep their ends
    all_have_one.count_down(count - static_cast<int>(threads.size()));
  }
  for (std::thread& thread : threads) thread.join();
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}
#endif

}  // namespace

void TuneProcess() {
#ifdef __GLIBC__
  // By default glibc gives the memory of a large message back to the system when it is freed, and
  // takes it page by page for the next one: with 300 KB frames a fifth of the server's time went
  // there. Frames up to the largest of glibc's own heaps come from it, and some of what is free
  // stays: so much at the end of a heap, and as many heaps as there are processors instead of eight
  // times as many. What stays free goes back by HeapTrimmer.
  constexpr int kLargestHeapBlock = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestHeapBlock);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_ARENA_MAX, Heaps());
  LimitStacks();
#endif
#ifdef NDEBUG
  // Debian's Abseil is compiled with its assertions, which keep a graph of all locks under one
  // lock of their own.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

void HeapTrimmer::Look() {
#ifdef ORBSERVE_HAS_MALLINFO2
  const size_t free = mallinfo2().fordblks;
  // Memory that went back still counts as free, until it is used again.
  trimmed_ = std::min(trimmed_, free);
  looks_with_much_ = free - trimmed_ >= kMuch ? looks_with_much_ + 1 : 0;
  looks_with_some_ = free - trimmed_ >= kSome ? looks_with_some_ + 1 : 0;
  if (looks_with_much_ < kLooks && looks_with_some_ < kManyLooks) return;
  malloc_trim(0);
  ShrinkEndsOfHeaps();
  trimmed_ = mallinfo2().fordblks;
  looks_with_much_ = 0;
  looks_with_some_ = 0;
  ++trims_;
#endif
}

}  // namespace orbserve
