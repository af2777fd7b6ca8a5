// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/tuning.h"

#include <cstdlib>  // defines __GLIBC__ where there is one

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "absl/synchronization/mutex.h"

namespace orbserve {

void TuneProcess() {
#ifdef __GLIBC__
  // By default glibc gives the memory of a large message back to the system when it is freed, and
  // takes it page by page for the next one: with 300 KB frames a fifth of the server's time went
  // there. Frames up to the largest of glibc's own heaps come from it, and what is free stays, as
  // much as a heap of each thread holds.
  constexpr int kLargestHeapBlock = 32 << 20;
  constexpr int kKeptBytes = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestHeapBlock);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
#endif
#ifdef NDEBUG
  // Debian's Abseil is compiled with its assertions, which keep a graph of all locks under one
  // lock of their own.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace orbserve
