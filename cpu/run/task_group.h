// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_RUN_TASK_GROUP_H_
#define ORBSERVE_CPU_RUN_TASK_GROUP_H_

#include <new>
#include <utility>

#include "oneapi/tbb/task_group.h"

namespace orbserve::cpu {

// This task group takes a task back for which there is no memory. oneTBB (up to 2021.11) counts a
// task before it has memory for it, and would wait for one that never began without end.
class TaskGroup : public tbb::task_group {
 public:
  // Both throw std::bad_alloc where there is no memory for the task, and then have not taken it.
  template <typename Work>
  void Run(Work&& work) {
    try {
      run(std::forward<Work>(work));
    } catch (const std::bad_alloc&) {
      TakeBack(*this);
      throw;
    }
  }
  template <typename Work>
  tbb::task_handle Defer(Work&& work) {
    try {
      return defer(std::forward<Work>(work));
    } catch (const std::bad_alloc&) {
      TakeBack(*this);
      throw;
    }
  }

 private:
  template <typename Group>
  static void TakeBack(Group& group) {
    if constexpr (requires { group.m_wait_ctx.release(); }) group.m_wait_ctx.release();
  }
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_RUN_TASK_GROUP_H_
