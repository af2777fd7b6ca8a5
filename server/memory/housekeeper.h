// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Gives memory back after a burst. Pools keep what a burst of large frames has made them grow to,
// and the heap keeps what was freed.

#ifndef ORBSERVE_SERVER_MEMORY_HOUSEKEEPER_H_
#define ORBSERVE_SERVER_MEMORY_HOUSEKEEPER_H_

#include <chrono>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace orbserve {

// Calls functions on a thread of its own, which may take long and wait for devices.
class Housekeeper {
 public:
  struct Options {
    // Frees what pools have not needed since the call before. What a burst needed is free after
    // two periods.
    std::function<void()> free_idle;
    std::chrono::milliseconds idle_period{8'000};
    // Looks at the heap, and gives back what has long been free. May be null.
    std::function<void()> look_at_heap;
    std::chrono::milliseconds heap_period{1'000};
  };

  explicit Housekeeper(Options options);
  // Waits for a call that is running.
  ~Housekeeper();

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_MEMORY_HOUSEKEEPER_H_
