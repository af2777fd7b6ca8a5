// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Gathers the frames of many clients into batches. Tickets, bounds, deadlines, cancellation and
// draining are those of every queue of work (work_queue.h). This page is about what only frames
// have.
//
// Life of a frame. Admit() either refuses the frame at once, with a status that says why, or gives
// it a ticket. The caller then prepares the frame: it decodes into a leased slot and calls Ready()
// with the plan and the job, or Fail(). A ready frame waits in the queue of its plan until a batch
// takes it. From Admit() on the frame is owed exactly one answer: its `done` is called once, from
// whichever thread ends the frame's life, and never under a lock.
//
// Admission. Frames being prepared count towards `queue.max_items`, `max_items_per_client` and
// `max_bytes`, because they hold memory, too. A frame holds the bytes of its message.
//
// When a batch is launched. The backend never has more than `max_batches_in_flight` batches. While
// it is that busy, frames gather, and this is what makes batches form under load. A plan may launch
// when it has a full batch, or when its oldest frame has waited for `max_delay`. With `max_delay`
// zero an idle backend gets a frame at once, inside Ready(). A queue that drains waits for nothing.
// Batches of large plans (FeaturePlan::is_large()) have places of their own,
// `max_large_batches_in_flight`, so that small frames find theirs. One more place is for frames
// that take an eighth of `max_batch_time` or less in all: where the client that is served next has
// such frames, it does not wait for the batches of others.
//
// Who is in a batch. Inside a plan clients are served by their shares, each with its oldest frame.
// Among the plans that may launch, the one goes first whose next client has taken least. A batch is
// full at `max_batch_frames`, or when one more frame would bring its expected time above
// `max_batch_time`. A client with one frame therefore waits for the batches in flight and for at
// most one batch per plan that waits, however much work another client has queued.
//
// Cost. What a frame is expected to take follows from its size (features/work.h) and from what the
// last frames of its plan took, or of all plans while its own has had none.

#ifndef ORBSERVE_SERVER_SERVING_BATCHER_H_
#define ORBSERVE_SERVER_SERVING_BATCHER_H_

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "features/backend.h"
#include "server/clients/fair_queue.h"
#include "server/process/clock.h"
#include "server/serving/frame/frame_record.h"
#include "server/serving/observer.h"
#include "server/serving/work_queue.h"
#include "server/telemetry/frame_times.h"

namespace orbserve {

struct BatcherOptions {
  int max_batch_frames = 16;  // >= 1; a plan may allow fewer
  // A batch takes so long at most on this backend; > 0. One frame may take longer.
  std::chrono::nanoseconds max_batch_time = std::chrono::milliseconds(25);
  std::chrono::microseconds max_delay{};  // >= 0
  int max_batches_in_flight = 2;          // >= 1
  int max_large_batches_in_flight = 2;    // >= 1
  WorkQueueOptions queue;                 // answerers: for many late frames at once
};

// The frames of one plan that are ready. Internal to the batcher.
struct PlanOfFrames {
  std::shared_ptr<FeaturePlan> plan;
  FairQueue<FrameRecord*> frames;
  std::list<FrameRecord*> by_age;  // oldest first
  double work = 0.0;               // sum of the frames
};

struct FrameBatch {
  std::shared_ptr<FeaturePlan> plan;
  double work = 0.0;      // sum of its frames
  bool is_quick = false;  // has the place for quick ones
  std::vector<std::shared_ptr<FrameRecord>> items;
};

class Batcher final : public WorkQueue<FrameRecord, FrameBatch> {
 public:
  // All three must outlive the batcher.
  Batcher(FeatureBackend* backend, Clock* clock, ServingObserver* observer,
          const BatcherOptions& options);
  // Answers DRAINING to every frame that is not launched and waits for the batches in flight.
  ~Batcher() override { Shut(); }

  // Sets the frame's ticket. False when it is refused: then it has ended with the reason.
  using WorkQueue::Admit;

  // The frame, which is being prepared, enters the phase.
  void Enter(Ticket ticket, FramePhase phase) ABSL_LOCKS_EXCLUDED(mutex_);
  // The frame may be launched from now on. Its input is freed; with `memory`, which may be null,
  // its message counts no more in the queue. The batcher sets `job.cancelled`, and holds `memory`
  // until the backend is done with the frame. `decode_time`: of the time since the last change of
  // phase.
  void Ready(Ticket ticket, std::shared_ptr<FeaturePlan> plan, FrameJob job,
             std::shared_ptr<TaskMemory> memory = nullptr,
             std::chrono::nanoseconds decode_time = {}) ABSL_LOCKS_EXCLUDED(mutex_);

  // True if a device left a file of this owner to the host in the last kHostDecodingTime. The
  // frames of a batch wait for such a file, so that a worker should decode what this owner sends.
  bool ShouldDecodeOnHost(const std::string& owner) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  int64_t StartsWaiting(const FrameRecord& frame) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return frame.message_bytes;
  }
  void Dequeue(FrameRecord& frame) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<FrameBatch> NextBatch(SteadyTime now) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime NextBatchTime() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(FrameBatch& batch) override ABSL_LOCKS_EXCLUDED(mutex_);
  void FreePlace(const FrameBatch& batch) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerFailed(FrameRecord& frame, const absl::Status& status) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Assigns the time since the launch.
  void EndCompute(FrameOutcome& outcome) const;
  static void Answer(FrameRecord& frame) {
    FrameDone done = std::move(frame.done);
    std::move(done)(frame);
  }
  // True if the backend has a place for one more batch of the plan.
  bool HasPlace(const FeaturePlan& plan) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return plan.is_large() ? large_in_flight_ < options_.max_large_batches_in_flight
                           : batches_in_flight() - large_in_flight_ - quick_in_flight_ <
                                 options_.max_batches_in_flight;
  }
  // Expected time of work of this size.
  double ExpectedNs(const FeaturePlan& plan, double work) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The plan whose client is served next, of those that may launch and that `is_candidate` accepts;
  // null if there is none.
  template <typename IsCandidate>
  PlanOfFrames* NextPlan(SteadyTime now, const IsCandidate& is_candidate)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double MaxBatchNs() const { return static_cast<double>(options_.max_batch_time.count()); }
  // Takes a frame out of the queue of its plan, where it stands no more.
  void LeavePlan(FrameRecord& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayLaunch(const PlanOfFrames& queue, SteadyTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes the owners whose files the device left to the host.
  void NoteHostDecoding(const FrameBatch& batch, const FrameBatchAnswer& answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnBatchDone(FrameBatch batch, FrameBatchAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  FeatureBackend* const backend_;
  const BatcherOptions options_;
  // Only plans with frames that are ready.
  std::map<const FeaturePlan*, PlanOfFrames> plans_ ABSL_GUARDED_BY(mutex_);
  int large_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;  // batches of large plans
  int quick_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // Batches by plan; none is 0.
  absl::btree_map<const FeaturePlan*, int> plans_in_flight_ ABSL_GUARDED_BY(mutex_);
  // By owner: until when files are decoded by workers. Those of everybody are while it is full.
  absl::flat_hash_map<std::string, SteadyTime> host_decoding_ ABSL_GUARDED_BY(mutex_);
  WorkRate rate_;  // of all plans
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_BATCHER_H_
