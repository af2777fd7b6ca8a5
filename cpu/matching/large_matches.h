// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Large matches beside work that must not wait for them.
//
// Two sets of 100,000 descriptors keep a processor busy for seconds. Such matches run in slices of
// a millisecond. While nothing else is to be done, all threads of the arena run slices. As soon as
// anything else is (frames and small matches: the urgent work), every thread leaves after its
// slice, so what is urgent waits for a slice at most and then has the arena for itself. Under
// urgent work that never ends the slices get a fifth of the time, so that every match ends.
//
// The parts that are not sliced (transposing a train set, sorting a cross-check, a few milliseconds
// for the largest) run on threads of this class.

#ifndef ORBSERVE_CPU_MATCHING_LARGE_MATCHES_H_
#define ORBSERVE_CPU_MATCHING_LARGE_MATCHES_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "cpu/matching/match_descriptors.h"
#include "oneapi/tbb/task_arena.h"

namespace orbserve::cpu {

// Thread-safe.
class LargeMatches final : private MatchSlices {
 public:
  using Task = absl::AnyInvocable<void(MatchSlices&) &&>;

  // `arena` has `threads` threads and must outlive the object.
  LargeMatches(tbb::task_arena* arena, int threads);
  // Waits for what was submitted.
  ~LargeMatches() override;

  // Calls `task` on a thread of this class, oldest first; it must not throw. What it does in
  // ForEach() runs in the arena.
  void Submit(Task task) ABSL_LOCKS_EXCLUDED(mutex_);

  // Around every other task of the arena: from before it is enqueued until it has ended, having
  // taken `time`.
  void UrgentBegins() ABSL_LOCKS_EXCLUDED(mutex_);
  void UrgentEnds(std::chrono::nanoseconds time) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // One call of ForEach().
  struct Pass {
    absl::FunctionRef<void(int, int)> slice;
    int count;
    int size;
    int next = 0;     // of what is not begun
    int running = 0;  // slices

    bool IsDone() const { return next >= count && running == 0; }
  };

  // The thread that waits for a pass.
  struct Waiter {
    LargeMatches& matches;
    Pass& pass;

    bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(matches.mutex_) {
      return pass.IsDone() || matches.stranded_runners_ > 0;
    }
  };

  void ForEach(int count, int size, absl::FunctionRef<void(int, int)> slice) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The threads of this class.
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasTaskOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !tasks_.empty() || stopping_;
  }
  // A task of the arena: slices, as long as they may run.
  void RunSlices() ABSL_LOCKS_EXCLUDED(mutex_);
  // The oldest pass with a slice that is not begun; null when there is none.
  Pass* NextPass() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the number of threads that may run slices now.
  int AllowedRunners() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the number of tasks that give every such thread one. They count as begun.
  int TakeNewRunners() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enqueue(int runners) ABSL_LOCKS_EXCLUDED(mutex_);

  tbb::task_arena& arena_;
  const int arena_threads_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::list<Pass*> passes_ ABSL_GUARDED_BY(mutex_);  // oldest first
  int runners_ ABSL_GUARDED_BY(mutex_) = 0;          // enqueued, stranded or running
  // The arena had no memory for these runners: threads that wait for passes run in their place.
  int stranded_runners_ ABSL_GUARDED_BY(mutex_) = 0;
  int urgent_ ABSL_GUARDED_BY(mutex_) = 0;
  // Time that slices may take beside urgent work.
  std::chrono::nanoseconds credit_ ABSL_GUARDED_BY(mutex_){};
  std::vector<std::thread> threads_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MATCHING_LARGE_MATCHES_H_
