// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// For builds with ThreadSanitizer only, as abseil_tsan.cc. The distribution's oneTBB is not
// instrumented, so the sanitizer does not see how tasks travel between threads. Here the entry
// points of the library tell it: a task begins after it was spawned and after those that ran at its
// thread's place in the arena, waiting ends after the tasks, and memory that one task frees is not
// the next one's.

#include <dlfcn.h>
#include <oneapi/tbb/detail/_small_object_pool.h>
#include <oneapi/tbb/detail/_task.h>
#include <oneapi/tbb/task_arena.h>
#include <sanitizer/tsan_interface.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tbb::detail::r1 {
namespace {

template <typename Function>
Function* Real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "tbb_tsan: no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

// A thread that takes the place of another one in an arena has what belongs to the place.
class PlaceInArena {
 public:
  PlaceInArena() : place_(&places[Index()]) { __tsan_acquire(place_); }
  ~PlaceInArena() { __tsan_release(place_); }

 private:
  static constexpr int kPlaces = 1024;
  static int Index() {
    static auto* const slot = Real<d1::slot_id(const d1::execution_data*)>(
        "_ZN3tbb6detail2r114execution_slotEPKNS0_2d114execution_dataE");
    return std::min<int>(slot(nullptr), kPlaces - 1);
  }

  static inline char places[kPlaces];
  char* const place_;
};

// Takes the place of a spawned task and begins after its spawner.
class AcquiringTask : public d1::task {
 public:
  static AcquiringTask& For(d1::task& inner) {
    auto* const task = new AcquiringTask(inner);
    __tsan_release(task);
    return *task;
  }
  d1::task* execute(d1::execution_data& data) override {
    const PlaceInArena place;
    return Unwrap().execute(data);
  }
  d1::task* cancel(d1::execution_data& data) override {
    const PlaceInArena place;
    return Unwrap().cancel(data);
  }

 private:
  explicit AcquiringTask(d1::task& inner) : inner_(inner) {}
  d1::task& Unwrap() {
    __tsan_acquire(this);
    d1::task& inner = inner_;
    delete this;
    return inner;
  }

  d1::task& inner_;
};

// Does the same for a function that an arena may run on another thread while the caller waits.
class OrderedDelegate : public d1::delegate_base {
 public:
  explicit OrderedDelegate(d1::delegate_base& inner) : inner_(inner) {}
  bool operator()() const override {
    void* const ordered = const_cast<OrderedDelegate*>(this);
    __tsan_acquire(ordered);
    const PlaceInArena place;
    const bool result = inner_();
    __tsan_release(ordered);
    return result;
  }

 private:
  d1::delegate_base& inner_;
};

// Tasks say that they are done by an atomic counter, the second word of the context, in a header,
// where the sanitizer sees it.
void AcquireFrom(d1::wait_context& context) {
  static_assert(sizeof(context) == 2 * sizeof(uint64_t));
  __tsan_acquire(reinterpret_cast<uint64_t*>(&context) + 1);
}

alignas(64) char no_pool[64];

void* Allocate(d1::small_object_pool*& pool, std::size_t size) {
  pool = reinterpret_cast<d1::small_object_pool*>(no_pool);
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, size) != 0) std::abort();
  return memory;
}

}  // namespace

void spawn(d1::task& task, d1::task_group_context& context) {
  static auto* const real = Real<void(d1::task&, d1::task_group_context&)>(
      "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE");
  real(AcquiringTask::For(task), context);
}

void spawn(d1::task& task, d1::task_group_context& context, d1::slot_id slot) {
  static auto* const real = Real<void(d1::task&, d1::task_group_context&, d1::slot_id)>(
      "_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt");
  real(AcquiringTask::For(task), context, slot);
}

void enqueue(d1::task& task, d1::task_arena_base* arena) {
  static auto* const real = Real<void(d1::task&, d1::task_arena_base*)>(
      "_ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE");
  real(AcquiringTask::For(task), arena);
}

void enqueue(d1::task& task, d1::task_group_context& context, d1::task_arena_base* arena) {
  static auto* const real = Real<void(d1::task&, d1::task_group_context&, d1::task_arena_base*)>(
      "_ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE");
  real(AcquiringTask::For(task), context, arena);
}

void execute(d1::task_arena_base& arena, d1::delegate_base& delegate) {
  static auto* const real = Real<void(d1::task_arena_base&, d1::delegate_base&)>(
      "_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE");
  OrderedDelegate ordered(delegate);
  __tsan_release(&ordered);
  real(arena, ordered);
  __tsan_acquire(&ordered);
}

void execute_and_wait(d1::task& task, d1::task_group_context& task_context,
                      d1::wait_context& context, d1::task_group_context& wait_context) {
  static auto* const real =
      Real<void(d1::task&, d1::task_group_context&, d1::wait_context&, d1::task_group_context&)>(
          "_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_"
          "contextES6_");
  real(task, task_context, context, wait_context);
  AcquireFrom(context);
}

void wait(d1::wait_context& context, d1::task_group_context& group) {
  static auto* const real = Real<void(d1::wait_context&, d1::task_group_context&)>(
      "_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE");
  real(context, group);
  AcquireFrom(context);
}

void* allocate(d1::small_object_pool*& pool, std::size_t size, const d1::execution_data&) {
  return Allocate(pool, size);
}
void* allocate(d1::small_object_pool*& pool, std::size_t size) { return Allocate(pool, size); }
void deallocate(d1::small_object_pool&, void* memory, std::size_t, const d1::execution_data&) {
  std::free(memory);
}
void deallocate(d1::small_object_pool&, void* memory, std::size_t) { std::free(memory); }

}  // namespace tbb::detail::r1
