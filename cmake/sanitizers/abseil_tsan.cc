// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// For builds with ThreadSanitizer only. The distribution's Abseil is not instrumented, so the
// sanitizer does not see that absl::Mutex orders anything and reports every use of it, nor who was
// the last to let go of an absl::Status. This library stands before Abseil's in the order of
// symbols; it calls the real functions and tells the sanitizer what they mean: a lock comes after
// the last unlock. Waiting for a condition becomes polling, so that conditions are evaluated by the
// waiting thread under the lock.

#include <absl/base/config.h>
#include <absl/base/options.h>
#include <absl/status/status.h>
#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

#define ORBSERVE_STRING_INNER(x) #x
#define ORBSERVE_STRING(x) ORBSERVE_STRING_INNER(x)

// A mangled name repeats the namespace like this in its parameters.
#if ABSL_OPTION_USE_INLINE_NAMESPACE
#define ORBSERVE_ABSL_AGAIN "NS0_"
#else
#define ORBSERVE_ABSL_AGAIN "NS_"
#endif

// The next definition of absl::`suffix`, a mangled name without its namespaces.
template <typename Function>
Function* Real(const char* suffix) {
#if ABSL_OPTION_USE_INLINE_NAMESPACE
  const std::string inner = ORBSERVE_STRING(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  const std::string name = "_ZN4absl" + std::to_string(inner.size()) + inner + suffix;
#else
  const std::string name = std::string("_ZN4absl") + suffix;
#endif
  void* found = dlsym(RTLD_NEXT, name.c_str());
  if (found == nullptr) {
    std::fprintf(stderr, "abseil_tsan: no %s: is Abseil a static library?\n", name.c_str());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

using MutexVoid = void(absl::Mutex*);
using MutexBool = bool(absl::Mutex*);

constexpr absl::Duration kPoll = absl::Microseconds(100);
constexpr absl::Duration kSlice = absl::Milliseconds(50);

// Runs the handlers of signals that came meanwhile: the sanitizer does that inside functions of the
// C library that it knows, of which this is one, and Abseil waits in none of them.
void DeliverSignals() { usleep(0); }

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static MutexVoid* const real = Real<MutexVoid>("5Mutex4LockEv");
  real(this);
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static MutexVoid* const real = Real<MutexVoid>("5Mutex6UnlockEv");
  __tsan_release(this);
  real(this);
}

bool Mutex::TryLock() {
  static MutexBool* const real = Real<MutexBool>("5Mutex7TryLockEv");
  const bool locked = real(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::ReaderLock() {
  static MutexVoid* const real = Real<MutexVoid>("5Mutex10ReaderLockEv");
  real(this);
  __tsan_acquire(this);
}

void Mutex::ReaderUnlock() {
  static MutexVoid* const real = Real<MutexVoid>("5Mutex12ReaderUnlockEv");
  __tsan_release(this);
  real(this);
}

bool Mutex::ReaderTryLock() {
  static MutexBool* const real = Real<MutexBool>("5Mutex13ReaderTryLockEv");
  const bool locked = real(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

bool Mutex::AwaitWithDeadline(const Condition& cond, Time deadline) {
  while (!cond.Eval()) {
    if (absl::Now() >= deadline) return false;
    Unlock();
    absl::SleepFor(kPoll);
    Lock();
  }
  return true;
}

bool Mutex::AwaitWithTimeout(const Condition& cond, Duration timeout) {
  return AwaitWithDeadline(cond, absl::Now() + timeout);
}

void Mutex::Await(const Condition& cond) { AwaitWithDeadline(cond, absl::InfiniteFuture()); }

void Mutex::LockWhen(const Condition& cond) {
  Lock();
  Await(cond);
}

bool Mutex::LockWhenWithTimeout(const Condition& cond, Duration timeout) {
  Lock();
  return AwaitWithTimeout(cond, timeout);
}

bool Mutex::LockWhenWithDeadline(const Condition& cond, Time deadline) {
  Lock();
  return AwaitWithDeadline(cond, deadline);
}

// Waiting unlocks and locks inside the library. It is cut into slices, after each of which it looks
// as if somebody had woken the waiter by mistake.
void CondVar::Wait(Mutex* mu) { WaitWithDeadline(mu, absl::InfiniteFuture()); }

bool CondVar::WaitWithTimeout(Mutex* mu, Duration timeout) {
  return WaitWithDeadline(mu, absl::Now() + timeout);
}

bool CondVar::WaitWithDeadline(Mutex* mu, Time deadline) {
  static auto* const real = Real<bool(CondVar*, Mutex*, Time)>(
      "7CondVar16WaitWithDeadlineEP" ORBSERVE_ABSL_AGAIN "5MutexE" ORBSERVE_ABSL_AGAIN "4TimeE");
  const Time slice_end = absl::Now() + kSlice;
  __tsan_release(mu);
  const bool timed_out = real(this, mu, std::min(deadline, slice_end));
  __tsan_acquire(mu);
  DeliverSignals();
  return timed_out && deadline <= slice_end;
}

#if ABSL_LTS_RELEASE_VERSION < 20230802
// The last to let go deletes what others have read: counted inside the library.
void Status::UnrefNonInlined(uintptr_t rep) {
  static auto* const real = Real<void(uintptr_t)>("6Status15UnrefNonInlinedEm");
  __tsan_release(RepToPointer(rep));
  __tsan_acquire(RepToPointer(rep));
  real(rep);
}
#endif

void Notification::Notify() {
  static auto* const real = Real<void(Notification*)>("12Notification6NotifyEv");
  __tsan_release(this);
  real(this);
}

void Notification::WaitForNotification() const {
  WaitForNotificationWithDeadline(absl::InfiniteFuture());
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  return WaitForNotificationWithDeadline(absl::Now() + timeout);
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  while (!HasBeenNotified()) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(kPoll);
  }
  __tsan_acquire(const_cast<Notification*>(this));
  return true;
}

bool BlockingCounter::DecrementCount() {
  static auto* const real = Real<bool(BlockingCounter*)>("15BlockingCounter14DecrementCountEv");
  __tsan_release(this);
  return real(this);
}

void BlockingCounter::Wait() {
  static auto* const real = Real<void(BlockingCounter*)>("15BlockingCounter4WaitEv");
  real(this);
  __tsan_acquire(this);
}

ABSL_NAMESPACE_END
}  // namespace absl
