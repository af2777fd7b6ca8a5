// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Gathers the frames of many clients into batches.
//
// Life of a frame. Admit() counts it as received and either refuses it at once (its status says
// why) or gives it a ticket. The caller then prepares it, decoding into a leased slot, and calls
// Ready() with the plan and the job, or Fail(). A ready frame waits in the queue of its plan until
// a batch takes it. From Admit() on the frame is owed exactly one answer: `done` is called once,
// from whichever thread ends its life, and never under a lock. Whatever is called for a ticket
// after that has no effect.
//
// Admission. At most `max_frames` frames and `max_bytes` of their messages are admitted and not yet
// launched, over all clients (QUEUE_FULL beyond; a message larger than `max_bytes` is taken while
// no frame waits), and at most `max_frames_per_client` of one client (QUOTA_EXCEEDED beyond).
// Frames being prepared count, as they hold memory too.
//
// When a batch is launched. Never more than `max_batches_in_flight` batches are with the backend;
// while it is that busy, frames gather, and this is what makes batches form under load. A plan may
// launch when it has a full batch, or when its oldest frame has waited for `max_delay`. With
// `max_delay` zero an idle backend gets a frame at once, inside Ready().
//
// Who is in it. Inside a plan clients take turns frame by frame, each with its oldest frame. Among
// the plans that may launch, the one goes first whose next client was served least recently. So a
// client with one frame waits for the batches in flight and at most one batch per plan that waits,
// however many frames another client has queued.
//
// Deadlines and cancellation. Up to its launch a frame is answered DEADLINE_EXCEEDED at the moment
// of its deadline, busy backend or not, and CANCELLED inside Cancel(); both free its place at once.
// A frame whose deadline has passed is never launched. After its launch Cancel() only raises the
// job's flag, and a frame that comes back after its deadline is answered DEADLINE_EXCEEDED. So is
// one that is cancelled after its deadline: gRPC cancels calls then, perhaps before the alarm.
//
// Accounting. Received = OK + each rejection, at every moment when no frame is open, also after
// shutdown; see counts().
//
// Threads. There is no batch thread: batches are formed by whichever thread makes the next step
// possible (Ready(), the end of a batch, the alarm). The backend is never called under the lock.
// At the end of a batch the next one is launched before answers go out.

#ifndef ORBSERVE_SERVER_SERVING_BATCHER_H_
#define ORBSERVE_SERVER_SERVING_BATCHER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "features/errors.h"
#include "server/serving/clock.h"
#include "server/serving/fair_queue.h"
#include "server/serving/observer.h"
#include "server/serving/queue_use.h"

namespace orbserve {

struct BatcherOptions {
  int max_batch_frames = 16;              // >= 1; a plan may allow fewer
  std::chrono::microseconds max_delay{};  // >= 0
  int max_batches_in_flight = 2;          // >= 1
  int max_frames = 1024;                  // >= 1
  int max_frames_per_client = 256;        // >= 1
  int64_t max_bytes = int64_t{1} << 30;   // >= 1
};

// What became of a frame.
struct FrameOutcome {
  absl::Status status;
  std::shared_ptr<const Features> features;  // when OK
  std::shared_ptr<const FrameState> state;   // when OK and asked for
  // The batch that it was part of; zero when it never was in one.
  BatchCost cost;
  int batch_frames = 0;
  std::chrono::nanoseconds queued{};  // from Ready() to the launch
  StageTimes stages;                  // as in FrameAnswer
  // Estimate of this frame's share of the batch's energy, where the device's power is known.
  std::optional<double> energy_joules;
};
using FrameDone = absl::AnyInvocable<void(FrameOutcome) &&>;

struct FrameAdmission {
  std::string client;            // whose turn it takes
  SteadyTime deadline = kNever;  // answered no later than this unless launched before
  int64_t image_bytes = 0;       // its pixels and mask as they were sent
  int64_t message_bytes = 0;     // what it holds in memory until it is launched
  FrameDone done;
};

class Batcher {
 public:
  using Ticket = uint64_t;  // never 0

  // One entry per ErrorReason.
  struct Counts {
    int64_t received = 0;
    int64_t ok = 0;
    std::array<int64_t, kErrorReasons.size()> failed{};
  };

  // All three must outlive the batcher.
  Batcher(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
          const BatcherOptions& options);
  // Answers DRAINING to whatever is not launched and waits for the batches in flight.
  ~Batcher();

  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // When refused, `admission.done` has been called with the returned status.
  absl::StatusOr<Ticket> Admit(FrameAdmission admission) ABSL_LOCKS_EXCLUDED(mutex_);

  // The frame may be launched from now on. `job.cancelled` is set by the batcher.
  void Ready(Ticket ticket, std::shared_ptr<FeaturePlan> plan, FrameJob job)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The frame cannot be prepared. `status` must not be OK.
  void Fail(Ticket ticket, absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody waits for the frame any more.
  void Cancel(Ticket ticket) ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses new frames (DRAINING) and launches without delay what is there.
  void BeginDrain() ABSL_LOCKS_EXCLUDED(mutex_);

  // Answers `status`, which is not OK, to every frame that is not launched, also to those that are
  // still being prepared.
  void FailWaiting(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Frames that are owed an answer.
  int open_frames() const ABSL_LOCKS_EXCLUDED(mutex_);
  Counts counts() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Frames that are admitted and not launched, and the bytes of their messages.
  QueueUse use() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Frame;
  struct PlanQueue;
  struct Launch;
  struct Work;  // what a change of state makes possible

  // The frame is owed its answer no more: Close(), then, without the lock, Answer().
  void Close(const Frame& frame, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(Frame& frame, FrameOutcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);
  void FinishUnlaunched(std::unique_ptr<Frame> frame, absl::Status status);
  void Count(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a frame that is not launched out of every structure.
  std::unique_ptr<Frame> Withdraw(Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnAlarm();
  bool MayLaunch(const PlanQueue& queue, SteadyTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next batches to launch, as many as the backend may have.
  std::vector<Launch> FormBatches(SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Launch FormBatch(PlanQueue& queue, SteadyTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes what is past its deadline.
  std::vector<std::unique_ptr<Frame>> TakeExpired(SteadyTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime NextAlarm() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Every change of state ends with these two: what has expired and what may be launched, and the
  // alarm for what comes next; then, without the lock, the doing.
  Work TakeWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(Work work) ABSL_LOCKS_EXCLUDED(mutex_);
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnBatchDone(std::vector<std::unique_ptr<Frame>> frames, FrameBatchAnswer answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return batches_in_flight_ == 0 && callers_inside_ == 0;
  }

  FeatureBackend* const backend_;
  Clock* const clock_;
  ServingObserver* const observer_;
  const BatcherOptions options_;

  mutable absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // the destructor runs: nothing is launched
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_turn_ ABSL_GUARDED_BY(mutex_) = 1;
  int batches_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int callers_inside_ ABSL_GUARDED_BY(mutex_) = 0;  // threads in Do() or OnBatchDone()
  int open_frames_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  // Admitted and not launched.
  absl::flat_hash_map<Ticket, std::unique_ptr<Frame>> waiting_ ABSL_GUARDED_BY(mutex_);
  // Launched and not answered: their cancellation flags.
  absl::flat_hash_map<Ticket, std::shared_ptr<std::atomic<bool>>> launched_ ABSL_GUARDED_BY(mutex_);
  // What a client has waiting, and when it was last served; forgotten with its last open frame.
  struct Client {
    int waiting = 0;
    int open = 0;
    uint64_t last_turn = 0;
  };
  absl::flat_hash_map<std::string, Client> clients_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const FeaturePlan*, std::unique_ptr<PlanQueue>> plans_
      ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<SteadyTime, Ticket>> deadlines_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Alarm> alarm_;  // last: its callback uses everything above
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_BATCHER_H_
