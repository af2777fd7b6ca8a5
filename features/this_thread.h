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

// Processor time of the calling thread.
std::chrono::nanoseconds TimeOfThisThread();

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_THIS_THREAD_H_
