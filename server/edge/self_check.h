// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Proves again and again that a call to the server's own address is answered. Readiness that is a
// flag alone stays true when nobody accepts connections any more.

#ifndef ORBSERVE_SERVER_EDGE_SELF_CHECK_H_
#define ORBSERVE_SERVER_EDGE_SELF_CHECK_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "server/process/file_descriptor.h"

namespace orbserve {

struct SelfCheckOptions {
  std::chrono::milliseconds period{5'000};  // between calls that nobody asks for
  // The self-check fails when every call has failed for so long, and three at least. A call that
  // was refused because the server is full (RESOURCE_EXHAUSTED) has reached it.
  std::chrono::milliseconds failing_time{30'000};
  std::chrono::milliseconds call_time{5'000};  // time in which a call must be answered
  std::chrono::milliseconds end_time{5'500};   // and in which gRPC must tell that it was not
  // Check() makes another call when the last one ended so long ago, and waits for it if no call was
  // answered that began within `good_time`.
  std::chrono::milliseconds cache_time{1'000};
  std::chrono::milliseconds good_time{5'000};
  std::chrono::milliseconds wait_time{1'000};
};

// Thread-safe.
class SelfCheck {
 public:
  using Done = std::function<void(const absl::Status&)>;
  // Begins a call and does not wait for its end, of which any thread tells `done`: OK when it was
  // answered within `limit`. May do so at once, and after the SelfCheck is gone.
  using Call = std::function<void(std::chrono::milliseconds limit, Done done)>;

  static constexpr std::chrono::milliseconds kLookPeriod{1'000};

  // `on_self_check_failed` is called once, by Look().
  SelfCheck(const SelfCheckOptions& options, Call call, std::function<void()> on_self_check_failed);
  ~SelfCheck();
  SelfCheck(const SelfCheck&) = delete;
  SelfCheck& operator=(const SelfCheck&) = delete;

  // Makes a call where one is due. To be called every kLookPeriod, by one thread; does not wait.
  void Look();
  // OK when a call was answered lately, or is answered now. Waits for `wait_time` at most.
  // RESOURCE_EXHAUSTED: a new client would be refused. UNAVAILABLE: the call failed, or has no
  // answer yet.
  absl::Status Check();
  // True while the last call was not answered. Does not wait.
  bool last_failed() const;
  // Makes no further call. The server is about to stop.
  void Stop();

 private:
  struct State;

  // Begins a call, unless one is under way.
  void Begin();

  const Call call_;
  const std::function<void()> on_self_check_failed_;
  const std::shared_ptr<State> state_;  // lives until the last call has ended
};

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

#endif  // ORBSERVE_SERVER_EDGE_SELF_CHECK_H_
