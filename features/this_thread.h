// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_FEATURES_THIS_THREAD_H_
#define ORBSERVE_FEATURES_THIS_THREAD_H_

#include <chrono>

namespace orbserve {

// Lets the calling thread run behind the other threads of the process: they get five sixths of a
// processor that both want, and preempt it when they wake up. An ordinary process cannot take that
// back, so that only threads with nothing else to do call it. A thread that has a real-time policy
// keeps it.
void LowerPriorityOfThisThread();

// Lets the calling thread run as soon as it wakes up, as far as the process may: with a smaller
// nice value where RLIMIT_NICE or CAP_SYS_NICE allow it, and with short slices, which a Linux from
// 6.12 on grants to everybody. For threads that are asleep nearly always. A thread that has a
// real-time policy keeps it.
void RaisePriorityOfThisThread();

// Processor time of the calling thread.
std::chrono::nanoseconds TimeOfThisThread();

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_THIS_THREAD_H_
