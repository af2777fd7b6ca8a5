// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/this_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace orbserve {

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

std::chrono::nanoseconds TimeOfThisThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace orbserve
