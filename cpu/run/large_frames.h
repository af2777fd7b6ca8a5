// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames that take so long that no other work may wait for them, on threads of low priority: other
// threads preempt them at any instruction, so nothing has to be divided into slices.
//
// oneTBB's own workers go from arena to arena, and an ordinary process cannot raise a priority
// again. Therefore every place of this arena is reserved for a thread of this class. A thread takes
// whole frames while there are any. A thread without one helps: it waits in the arena for a group
// of tasks that stays open as long as frames are being computed, and oneTBB gives tasks of these
// frames to threads that wait.

#ifndef ORBSERVE_CPU_RUN_LARGE_FRAMES_H_
#define ORBSERVE_CPU_RUN_LARGE_FRAMES_H_

#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "oneapi/tbb/task_arena.h"
#include "oneapi/tbb/task_group.h"

namespace orbserve::cpu {

// Thread-safe.
class LargeFrames {
 public:
  using Frame = absl::AnyInvocable<void() &&>;

  // The arena has `threads` places, >= 1. Threads are made when the first frame comes.
  explicit LargeFrames(int threads);
  // Waits for what was submitted.
  ~LargeFrames();

  // Calls `frame` in the arena, oldest first; it must not throw. Its tasks run in the arena, too.
  // Throws std::bad_alloc, and drops the frame, where there is no memory for it or for a thread.
  void Submit(Frame frame) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A thread that helps, until its task is dropped.
  struct Helper {
    tbb::task_handle open;
  };

  void MakeThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void RunFrame() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Help() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasFrames() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !frames_.empty(); }
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !frames_.empty() || running_ > 0 || stopping_;
  }

  const int arena_threads_;
  tbb::task_arena arena_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Frame> frames_ ABSL_GUARDED_BY(mutex_);  // that no thread has begun
  int running_ ABSL_GUARDED_BY(mutex_) = 0;           // frames
  std::vector<Helper*> helpers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_RUN_LARGE_FRAMES_H_
