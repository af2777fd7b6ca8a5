// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_RECYCLING_POOL_H_
#define ORBSERVE_FEATURES_RECYCLING_POOL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace orbserve {

// What a backend keeps of results that wait to be used again: some hundred of 5,000 features, or
// ten of the largest.
inline constexpr size_t kMaxIdleResultBytes = size_t{64} << 20;

// Fixed-size blocks that are given out again and again: the control blocks of the shared pointers
// of a RecyclingPool. Thread-safe.
class BlockPool {
 public:
  static constexpr size_t kBlockBytes = 128;

  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    for (void* block : idle_) ::operator delete(block);
  }

  void* Take() {
    {
      absl::MutexLock lock(&mutex_);
      if (!idle_.empty()) {
        void* block = idle_.back();
        idle_.pop_back();
        return block;
      }
      ++made_;
      idle_.reserve(made_);  // so that giving back never allocates
    }
    return ::operator new(kBlockBytes);
  }
  void GiveBack(void* block) {
    absl::MutexLock lock(&mutex_);
    idle_.push_back(block);
  }

 private:
  absl::Mutex mutex_;
  std::vector<void*> idle_ ABSL_GUARDED_BY(mutex_);
  size_t made_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Standard allocator over a BlockPool.
template <typename T>
class BlockAllocator {
 public:
  using value_type = T;

  explicit BlockAllocator(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {}
  template <typename U>
  BlockAllocator(const BlockAllocator<U>& other)  // NOLINT(google-explicit-constructor): rebinding
      : pool_(other.pool()) {}

  T* allocate(size_t count) {
    static_assert(sizeof(T) <= BlockPool::kBlockBytes);
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (count != 1) throw std::bad_alloc();
    return static_cast<T*>(pool_->Take());
  }
  void deallocate(T* block, size_t /*count*/) { pool_->GiveBack(block); }

  const std::shared_ptr<BlockPool>& pool() const { return pool_; }
  template <typename U>
  bool operator==(const BlockAllocator<U>& other) const {
    return pool_ == other.pool();
  }

 private:
  std::shared_ptr<BlockPool> pool_;
};

// Objects that return to their pool when the last holder lets go, so that a warm pool allocates
// nothing. T::OnGiveBack(), where there is one, is called then. The pool lives until its last
// object is back. Thread-safe. Made by std::make_shared.
//
// Idle objects keep what they have grown to. T::HeldBytes(), where there is one, says how much, and
// an object that would bring the idle ones above `max_idle_bytes` is freed instead: a burst of
// large ones is not paid for ever after.
template <typename T>
class RecyclingPool : public std::enable_shared_from_this<RecyclingPool<T>> {
 public:
  explicit RecyclingPool(size_t max_idle_bytes = std::numeric_limits<size_t>::max())
      : max_idle_bytes_(max_idle_bytes) {}

  // An idle object in the state in which it was given back, or what `make()` returns (a
  // std::unique_ptr<T>; null makes Lease() return null).
  template <typename Make>
  std::shared_ptr<T> Lease(Make&& make) {
    std::unique_ptr<T> object;
    {
      absl::MutexLock lock(&mutex_);
      if (!idle_.empty()) {
        object = std::move(idle_.back().object);
        idle_.pop_back();
        idle_bytes_ -= HeldBytes(*object);
      }
    }
    if (object == nullptr) {
      object = make();
      if (object == nullptr) return nullptr;
      absl::MutexLock lock(&mutex_);
      ++made_;
      idle_.reserve(made_);
    }
    return std::shared_ptr<T>(object.release(), GiveBack{this->shared_from_this()},
                              BlockAllocator<T>(blocks_));
  }

  // Frees the objects that have been idle since the last call. The object that was given back last
  // is leased first, so that those are more than were needed at any time between.
  void FreeIdle() {
    std::vector<Idle> freed;  // after the lock
    absl::MutexLock lock(&mutex_);
    const auto end = std::find_if(idle_.begin(), idle_.end(),
                                  [this](const Idle& idle) { return idle.period == period_; });
    for (auto idle = idle_.begin(); idle != end; ++idle) idle_bytes_ -= HeldBytes(*idle->object);
    made_ -= static_cast<size_t>(end - idle_.begin());
    freed.assign(std::make_move_iterator(idle_.begin()), std::make_move_iterator(end));
    idle_.erase(idle_.begin(), end);
    ++period_;
  }

  // Frees all idle objects.
  void FreeAllIdle() {
    std::vector<Idle> freed;  // after the lock
    absl::MutexLock lock(&mutex_);
    made_ -= idle_.size();
    idle_bytes_ = 0;
    freed.swap(idle_);
    idle_.reserve(made_);
  }

  // Objects that exist, idle or leased.
  size_t made() const {
    absl::MutexLock lock(&mutex_);
    return made_;
  }

 private:
  struct GiveBack {
    std::shared_ptr<RecyclingPool> pool;
    void operator()(T* object) const {
      std::unique_ptr<T> owned(object);  // freed after the lock
      if constexpr (requires { object->OnGiveBack(); }) object->OnGiveBack();
      const size_t bytes = HeldBytes(*object);
      absl::MutexLock lock(&pool->mutex_);
      if (bytes > pool->max_idle_bytes_ - pool->idle_bytes_) {
        --pool->made_;
        return;
      }
      pool->idle_bytes_ += bytes;
      pool->idle_.push_back({std::move(owned), pool->period_});
    }
  };
  struct Idle {
    std::unique_ptr<T> object;
    uint64_t period = 0;  // in which it was given back
  };

  // The same until the object is leased again.
  static size_t HeldBytes(const T& object) {
    if constexpr (requires { object.HeldBytes(); }) return object.HeldBytes();
    return 0;
  }

  const std::shared_ptr<BlockPool> blocks_ = std::make_shared<BlockPool>();
  const size_t max_idle_bytes_;
  mutable absl::Mutex mutex_;
  std::vector<Idle> idle_ ABSL_GUARDED_BY(mutex_);  // in the order in which they were given back
  uint64_t period_ ABSL_GUARDED_BY(mutex_) = 0;     // number of calls of FreeIdle()
  size_t idle_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t made_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_RECYCLING_POOL_H_
