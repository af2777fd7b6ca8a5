// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_MEMORY_HEAP_TRIMMER_H_
#define ORBSERVE_SERVER_PROCESS_MEMORY_HEAP_TRIMMER_H_

#include <cstddef>

namespace orbserve {

// Sets what the libraries of a busy server leave at the defaults of an ordinary program: memory of
// messages that were answered is kept for the next ones, threads have stacks of a size that many of
// them can have, and locks are not searched for cycles. For programs, at their start, before they
// have a second thread.
void TuneProcess();

// Gives the memory that is free inside glibc's heaps back to the system, where much of it has been
// free for a while, or less of it for a longer one: a heap shrinks by itself only from its end, and
// keeps some there. Memory that a steady load takes and frees again stays. Giving back takes up to
// a second for gigabytes, in which other threads wait for memory. Not thread-safe.
class HeapTrimmer {
 public:
  // Memory that was free at so many looks in a row goes back.
  static constexpr int kLooks = 5;
  static constexpr size_t kMuch = size_t{16} << 20;
  static constexpr int kManyLooks = 4 * kLooks;
  static constexpr size_t kSome = size_t{1} << 20;

  // To be called every second.
  void Look();
  int trims() const { return trims_; }

 private:
  int trims_ = 0;
  int looks_with_much_ = 0;
  int looks_with_some_ = 0;
  size_t trimmed_ = 0;  // free, and given back already
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_MEMORY_HEAP_TRIMMER_H_
