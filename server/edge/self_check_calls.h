// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_EDGE_SELF_CHECK_CALLS_H_
#define ORBSERVE_SERVER_EDGE_SELF_CHECK_CALLS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>

#include "absl/status/status.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

// Calls of the server to itself. Thread-safe.
class SelfCheckCalls {
 public:
  SelfCheckCalls();
  // Cancels the calls that are open and waits for their ends: gRPC must not free a channel in one
  // of its own threads when the server no longer keeps these threads.
  ~SelfCheckCalls();
  SelfCheckCalls(const SelfCheckCalls&) = delete;
  SelfCheckCalls& operator=(const SelfCheckCalls&) = delete;

  // Asks for the server's health over `connection`, in plain text, and does not wait for the
  // answer. A thread of gRPC calls `done` within about `limit`, with OK when the call was answered,
  // whatever the health is.
  void Begin(FileDescriptor connection, std::chrono::milliseconds limit,
             std::function<void(const absl::Status&)> done);

 private:
  struct Call;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<Call> calls_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_SELF_CHECK_CALLS_H_
