// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Notices from the outside that a backend does not answer. The backend cannot be trusted to notice,
// because a driver that hangs may block the backend's own threads.
//
// A backend is silent when it holds work and has given no answer for `silence`.
//
// Before that, it stalls: it holds work and has given no answer for four times the time that was
// usual lately, and for `stall` at least. A driver may take hundreds of milliseconds to report a
// fault, and a hang counts as a loss only after `silence`; meanwhile new work should go elsewhere.
// A stall ends with the next answer. Nothing counts as a stall while a plan is made, which may
// delay all other work, nor before the first few answers. Progress that the backend reports counts
// as an answer, because a match may take longer than all of these times.

#ifndef ORBSERVE_SERVER_FAILOVER_DEVICE_WATCH_H_
#define ORBSERVE_SERVER_FAILOVER_DEVICE_WATCH_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "server/process/clock.h"

namespace orbserve {

struct DeviceWatchOptions {
  std::chrono::milliseconds stall{60};
  std::chrono::milliseconds silence{10'500};
  // Called with true at the beginning of a stall and with false at its end, in order, from any
  // thread. Called under the watch's lock, so it must not call the watch. Neither callback may
  // block.
  absl::AnyInvocable<void(bool)> on_stall;
  // Called from the clock's thread, and again while the silence lasts, until Stop().
  absl::AnyInvocable<void()> on_silence;
  // Returns FeatureBackend::progress(). Called under the watch's lock.
  absl::AnyInvocable<uint64_t()> progress;
};

enum class DeviceWork { kBatch, kPlan };

// Thread-safe.
class DeviceWatch {
 public:
  // `clock` must outlive Close().
  DeviceWatch(Clock* clock, DeviceWatchOptions options);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The caller reports the backend's work: a batch from its submission to its answer, and a plan
  // while it is made.
  void Begin(DeviceWork work);
  void End(DeviceWork work);
  // Takes the Begin() of a batch back: the backend did not take the batch, which is no answer.
  void BatchRefused();

  // No callback is called after this, except calls that have begun. Work that is reported later is
  // ignored.
  void Stop();
  // Stop(), and waits for calls that have begun; the clock is not used any more. Not to be called
  // from a callback.
  void Close();

 private:
  // An answer came, or the first work.
  void Hear(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime::duration StallLimit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Looks again when the silence since the last answer may be a stall or a loss.
  void Arm(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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

#endif  // ORBSERVE_SERVER_FAILOVER_DEVICE_WATCH_H_
