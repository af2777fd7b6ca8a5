// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_EXECUTOR_H_
#define ORBSERVE_SERVER_SERVING_EXECUTOR_H_

#include <chrono>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "server/clients/client_id.h"
#include "server/serving/task_memory.h"

namespace orbserve {

// A task will need this.
struct TaskNeeds {
  std::chrono::nanoseconds time{};     // of a processor, as far as it is known
  std::shared_ptr<TaskMemory> memory;  // null = none
};

// Runs tasks on other threads, soon. Thread-safe.
class Executor {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  virtual ~Executor() = default;
  // Never runs `task` inside the call. Clients share the threads by the time of their tasks.
  virtual void Run(const ClientId& client, const TaskNeeds& needs, Task task) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_EXECUTOR_H_
