// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Proves again and again that a call to the server's own address is answered. Readiness that is a
// flag alone stays true when nobody accepts connections any more.

#ifndef ORBSERVE_SERVER_EDGE_SELF_CHECK_H_
#define ORBSERVE_SERVER_EDGE_SELF_CHECK_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"

namespace orbserve {

struct SelfCheckOptions {
  std::chrono::milliseconds period{5'000};  // between calls that nobody asks for
  // The self-check fails when every call has failed for so long, and three at least. A call that
  // was refused because the server is full (RESOURCE_EXHAUSTED) has reached it.
  std::chrono::milliseconds failing_time{30'000};
  std::chrono::milliseconds call_time{5'000};  // time in which a call must be answered
  // Check() makes another call when the last one ended so long ago, and waits for it if no call was
  // answered that began within `good_time`.
  std::chrono::milliseconds cache_time{1'000};
  std::chrono::milliseconds good_time{5'000};
  std::chrono::milliseconds wait_time{1'000};
};

// Thread-safe.
class SelfCheck {
 public:
  // Makes one call; blocks for at most about the given time. OK when it was answered.
  using Call = std::function<absl::Status(std::chrono::milliseconds limit)>;

  // `call` runs in a thread of its own. `on_self_check_failed` is called once, by that thread.
  SelfCheck(const SelfCheckOptions& options, Call call, std::function<void()> on_self_check_failed);
  ~SelfCheck();
  SelfCheck(const SelfCheck&) = delete;
  SelfCheck& operator=(const SelfCheck&) = delete;

  // OK when a call was answered lately, or is answered now. Waits for `wait_time` at most.
  // RESOURCE_EXHAUSTED: a new client would be refused. UNAVAILABLE: the call failed, or has no
  // answer yet.
  absl::Status Check();
  // True while the last call was not answered. Does not wait.
  bool last_failed() const;
  // Makes no further call. The server is about to stop.
  void Stop();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void Run();
  // Records the result of a call; true when the self-check fails now.
  bool Record(const absl::Status& status, Time begin);

  const SelfCheckOptions options_;
  const Call call_;
  const std::function<void()> on_self_check_failed_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  bool is_wanted_ = false;
  bool is_failed_ = false;
  int64_t calls_ = 0;
  absl::Status last_;
  Time last_time_;    // the end of the last call
  Time good_begin_;   // the begin of the last one that was answered
  int failures_ = 0;  // in a row
  Time first_failure_;

  std::thread thread_;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_EDGE_SELF_CHECK_H_
