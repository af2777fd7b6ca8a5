// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/tuning.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>  // defines __GLIBC__ where there is one
#include <limits>
#include <thread>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)  // mallinfo() of earlier ones counts to 2 GiB only
#define ORBSERVE_HAS_MALLINFO2
#endif
#endif

#include "absl/synchronization/mutex.h"

namespace orbserve {

void TuneProcess() {
#ifdef __GLIBC__
  // By default glibc gives the memory of a large message back to the system when it is freed, and
  // takes it page by page for the next one: with 300 KB frames a fifth of the server's time went
  // there. Frames up to the largest of glibc's own heaps come from it, and some of what is free
  // stays: so much at the end of a heap, and as many heaps as there are processors instead of eight
  // times as many. What is free in the middle of them goes back by HeapTrimmer.
  constexpr int kLargestHeapBlock = 32 << 20;
  constexpr int kKeptBytes = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestHeapBlock);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_ARENA_MAX, std::max(2, static_cast<int>(std::thread::hardware_concurrency())));
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
  trimmed_ = std::min(trimmed_, free);
  const bool is_much = Ends(short_, kLooks, kMuch, free);
  const bool is_long = Ends(long_, kManyLooks, kSome, free);
  if (!is_much && !is_long) return;
  malloc_trim(0);
  trimmed_ = mallinfo2().fordblks;
  ++trims_;
#endif
}

bool HeapTrimmer::Ends(Round& round, int looks, size_t bytes, size_t free) {
  round.least_free = std::min(round.least_free, free);
  if (++round.looks < looks) return false;
  // Memory that went back still counts as free, until it is used again.
  return std::exchange(round, {}).least_free >= trimmed_ + bytes;
}

}  // namespace orbserve
