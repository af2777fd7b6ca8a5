// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_RUN_WORKER_LIMIT_H_
#define ORBSERVE_CPU_RUN_WORKER_LIMIT_H_

namespace orbserve::cpu {

// Lets oneTBB run `threads` workers more for as long as this object lives. TBB's workers belong to
// the process, by default one fewer than it has processors, as it expects the main thread to work
// too; here the caller never does, and a worker that arenas share finds out late that another one
// waits for it. TBB applies the smallest of all limits set, so the process has one, the sum of what
// the living objects want. Thread-safe.
class WorkerLimit {
 public:
  explicit WorkerLimit(int threads);
  ~WorkerLimit();
  WorkerLimit(const WorkerLimit&) = delete;
  WorkerLimit& operator=(const WorkerLimit&) = delete;

 private:
  const int threads_;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_RUN_WORKER_LIMIT_H_
