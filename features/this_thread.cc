// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/this_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace orbserve {
#ifdef __linux__
namespace {

// struct sched_attr of sched_setattr(2) as Linux 3.14 had it. The C library lacks it.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // nanoseconds; of SCHED_OTHER the slice
  uint64_t deadline = 0;
  uint64_t period = 0;
};

}  // namespace
#endif

void LowerPriorityOfThisThread() {
#ifdef __linux__
  // In steps of `nice`: each is a quarter less of the processor.
  constexpr int kSteps = 7;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  errno = 0;
  const int present = getpriority(PRIO_PROCESS, thread);
  // Failures are ignored: everything works at one priority, too, only less well.
  if (errno == 0) (void)setpriority(PRIO_PROCESS, thread, present + kSteps);
  // A batch thread never preempts another one, and is preempted by those that wake up.
  if (sched_getscheduler(0) == SCHED_OTHER) {
    const sched_param parameters{};
    (void)sched_setscheduler(0, SCHED_BATCH, &parameters);
  }
#endif
}

void RaisePriorityOfThisThread() {
#ifdef __linux__
  // Each step of `nice` is a quarter more of the processor.
  constexpr int kSteps = 10;
  constexpr uint64_t kSliceNs = 100'000;  // the shortest that Linux has
  constexpr uint64_t kResetOnFork = 1;    // threads that this one starts do not inherit it
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  const int32_t present = attributes.nice;
  attributes.flags |= kResetOnFork;
  attributes.runtime = kSliceNs;
  attributes.nice = std::max(present - kSteps, -20);
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
  attributes.nice = present;
  // Failures are ignored: everything works at one priority, too, only less promptly.
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
#endif
}

std::chrono::nanoseconds TimeOfThisThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace orbserve
