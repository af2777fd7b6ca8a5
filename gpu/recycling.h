// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_GPU_RECYCLING_H_
#define ORBSERVE_GPU_RECYCLING_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace orbserve::gpu {

// Objects that return to their pool when the last holder lets go, keeping what they have allocated.
// The pool lives until its last object is back. Thread-safe. Made by std::make_shared.
template <typename T>
class Recycling : public std::enable_shared_from_this<Recycling<T>> {
 public:
  std::shared_ptr<T> Lease() {
    std::unique_ptr<T> object;
    {
      absl::MutexLock lock(&mutex_);
      if (!idle_.empty()) {
        object = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (object == nullptr) object = std::make_unique<T>();
    return std::shared_ptr<T>(object.release(), [pool = this->shared_from_this()](T* used) {
      used->OnGiveBack();
      absl::MutexLock lock(&pool->mutex_);
      pool->idle_.emplace_back(used);
    });
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_RECYCLING_H_
