// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Notices that a backend does not answer, from the outside: a driver that hangs may block the
// backend's own threads, so it is not trusted to notice.
//
// A backend is silent when it holds work and has answered nothing at all for `silence`.
//
// Before that, it stalls: it holds work and has answered nothing for four times as long as was
// usual lately, and for `stall` at least. A driver takes its time to report a fault (hundreds of
// milliseconds were seen), and a hang counts as a loss only after `silence`; meanwhile new work
// should go elsewhere. A stall ends with the next answer. While a plan is made, which may hold up
// everything else, and before the first few answers nothing counts as a stall. Progress that the
// backend tells of counts as an answer: a match may take longer than all of this.

#ifndef ORBSERVE_SERVER_SERVING_DEVICE_WATCH_H_
#define ORBSERVE_SERVER_SERVING_DEVICE_WATCH_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/serving/clock.h"

namespace orbserve {

struct DeviceWatchOptions {
  std::chrono::milliseconds stall{60};
  std::chrono::milliseconds silence{10'500};
  // The beginning, true, and the end of each stall, in order; under the watch's lock, so it must
  // not call the watch. From any thread; neither callback may block.
  absl::AnyInvocable<void(bool)> on_stall;
  // From the clock's thread. May be called again for as long as the silence lasts, until Stop().
  absl::AnyInvocable<void()> on_silence;
  // FeatureBackend::progress(); may be empty. Under the watch's lock.
  absl::AnyInvocable<uint64_t()> progress;
};

// Thread-safe.
class DeviceWatch {
 public:
  // `clock` must outlive Close().
  DeviceWatch(Clock* clock, DeviceWatchOptions options);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Around the backend's work: a batch from its submission to its answer, a plan while it is made.
  void BatchBegins();
  void BatchEnds();
  void PlanBegins();
  void PlanEnds();

  // Nothing is told after this, but for calls that have begun. What begins and ends is ignored.
  void Stop();
  // Stop(), and waits for calls that have begun; the clock is not used any more. Not to be called
  // from a callback.
  void Close();

 private:
  void WorkBegins() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WorkEnds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An answer came, or the first work.
  void Hear(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime::duration StallLimit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When to look again, with the last answer at `heard`.
  SteadyTime NextLook(SteadyTime heard) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Arm(SteadyTime when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetStalled(bool stalled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_);

  Clock* const clock_;
  DeviceWatchOptions options_;

  absl::Mutex mutex_;
  int working_ ABSL_GUARDED_BY(mutex_) = 0;        // batches and plans that the backend has
  SteadyTime heard_at_ ABSL_GUARDED_BY(mutex_){};  // when it last gave one back, or got the first
  uint64_t progress_ ABSL_GUARDED_BY(mutex_) = 0;  // of the backend then
  SteadyTime::duration usual_ ABSL_GUARDED_BY(mutex_){};  // longest wait for an answer lately
  int answers_ ABSL_GUARDED_BY(mutex_) = 0;               // up to as many as are not judged
  int plans_in_making_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyTime due_ ABSL_GUARDED_BY(mutex_){};  // of the alarm that was set last
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Alarm> alarm_;  // last: its callback uses everything above
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_DEVICE_WATCH_H_
