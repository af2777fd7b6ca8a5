// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keeps every batch that was submitted to a backend that may be lost, the primary, until the batch
// is answered. Once the primary is lost, the fallback computes these batches from the same input
// slots and with the same bits. States that a match needs are exported from the primary and
// imported into the fallback, which makes the pyramids that tracks need again from the input slots.

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUE_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"

namespace orbserve {

// A kind of work is one struct (MatchRescue, TrackRescue, FrameRescue) that says what a batch
// consists of and how the fallback computes it. Rescue and the failover backend know nothing else
// of it.

// Holds `object` for the rest of the process' life, where leak checkers see that it is held.
// Freeing an object of a lost device could wait for the device without end.
void KeepUntilExit(std::shared_ptr<const void> object);

// Wraps the primary's plan and creates the fallback's on first use. A plan that is made after the
// loss has only the fallback's. Thread-safe.
class RescuablePlan final : public FeaturePlan {
 public:
  // At least one of the plans is not null. `lost` becomes true when the primary is lost; from then
  // on the primary's plan is not freed, and only constants are read of it.
  RescuablePlan(std::shared_ptr<FeaturePlan> primary, std::shared_ptr<FeaturePlan> fallback,
                std::shared_ptr<const std::atomic<bool>> lost);
  ~RescuablePlan() override;

  const PlanSpec& spec() const override { return first_.spec(); }
  int max_batch_frames() const override { return first_.max_batch_frames(); }
  bool is_large() const override { return first_.is_large(); }
  size_t frame_bytes(bool has_mask) const override { return first_.frame_bytes(has_mask); }
  // Bytes of the primary's plan until the loss, and of the fallback's plan when there is one. What
  // a lost device holds cannot be freed and is not counted.
  size_t size_bytes() const override ABSL_LOCKS_EXCLUDED(mutex_);

  // Null when there is none.
  const std::shared_ptr<FeaturePlan>& primary() const { return primary_; }
  // Returns the fallback's plan. The first call has `backend` make it, and waits for that.
  absl::StatusOr<std::shared_ptr<FeaturePlan>> Fallback(FeatureBackend& backend)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::shared_ptr<const std::atomic<bool>> lost_;
  std::shared_ptr<FeaturePlan> primary_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<FeaturePlan> fallback_ ABSL_GUARDED_BY(mutex_);
  const FeaturePlan& first_;  // the one that it was made with: the primary's, if there is one
};

// Matches. Their states move to the fallback.
struct MatchRescue {
  using Job = MatchJob;
  using Answer = MatchBatchAnswer;
  using Done = MatchBatchDone;
  struct Common {};                 // nothing that the jobs of a batch share
  static constexpr int kOrder = 0;  // among the kinds, in a rescue

  static std::vector<MatchAnswer>& Items(Answer& answer) { return answer.pairs; }
  // Makes a job fit for the fallback. Returns false where that cannot be done.
  static bool Move(FeatureBackend& primary, FeatureBackend& fallback, const Common&, Job& job);
  static void SubmitTo(FeatureBackend& backend, bool /*is_fallback*/, const Common&,
                       std::vector<Job> jobs, Done done) {
    backend.SubmitMatches(std::move(jobs), std::move(done));
  }
};

// Searches for tracks. The fallback makes their pyramids again.
struct TrackRescue {
  using Job = TrackJob;
  using Answer = TrackBatchAnswer;
  using Done = TrackBatchDone;
  struct Common {};
  static constexpr int kOrder = 1;

  static std::vector<TrackAnswer>& Items(Answer& answer) { return answer.jobs; }
  static bool Move(FeatureBackend& primary, FeatureBackend& fallback, const Common&, Job& job);
  static void SubmitTo(FeatureBackend& backend, bool /*is_fallback*/, const Common&,
                       std::vector<Job> jobs, Done done) {
    backend.SubmitTracks(std::move(jobs), std::move(done));
  }
};

// Frames. They come last, because they may have to wait for a plan.
struct FrameRescue {
  using Job = FrameJob;
  using Answer = FrameBatchAnswer;
  using Done = FrameBatchDone;
  using Common = std::shared_ptr<RescuablePlan>;  // null: not a plan of this backend, and no rescue
  static constexpr int kOrder = 2;

  static std::vector<FrameAnswer>& Items(Answer& answer) { return answer.frames; }
  // May make a plan, and wait for that.
  static bool Move(FeatureBackend& primary, FeatureBackend& fallback, const Common& plan, Job& job);
  static void SubmitTo(FeatureBackend& backend, bool is_fallback, const Common& plan,
                       std::vector<Job> jobs, Done done);
};

// Returns true for an answer that says that its device is lost.
bool IsDeviceLoss(const absl::Status& status);

// Says of items without an answer that there was no time left to compute them.
absl::Status TooLateToRescue();

// A batch is open from Add() to its answer. It has one of two owners: the primary, or, once it is
// rescued, the fallback. The thread that closes it answers it, exactly once and never under a lock.
// Thread-safe.
class Rescue {
  enum class Owner { kPrimary, kFallback, kNobody };

 public:
  // A batch of any kind. Its members are guarded by the lock of the rescue.
  struct AnyBatch {
    virtual ~AnyBatch() = default;
    virtual void BeRescued(Rescue& rescue) = 0;
    // Gives the items that the primary has not computed a status of their own.
    virtual void MarkMissing() = 0;
    virtual void Answer() = 0;

    std::pair<int, uint64_t> place;  // among those that are open
    Owner owner = Owner::kPrimary;
    std::vector<size_t> missing;  // set by MarkMissing()
    bool is_cost_known = false;   // the fallback has answered a part
    size_t parts_missing = 0;     // parts that it has not answered yet
  };

  template <typename Kind>
  struct Batch final : AnyBatch, std::enable_shared_from_this<Batch<Kind>> {
    void BeRescued(Rescue& rescue) override { rescue.RescueBatch<Kind>(this->shared_from_this()); }
    void MarkMissing() override {
      auto& items = Kind::Items(answer);
      const size_t answered = items.size();
      items.resize(jobs.size());
      for (size_t i = 0; i < items.size(); ++i) {
        if (i < answered && !IsDeviceLoss(items[i].status)) continue;
        items[i].status = TooLateToRescue();
        this->missing.push_back(i);
      }
    }
    void Answer() override {
      jobs.clear();  // the slots go back before the next frames ask for some
      common = {};
      std::move(done)(std::move(answer));
    }

    typename Kind::Common common;
    std::vector<typename Kind::Job> jobs;  // until the rescue
    typename Kind::Done done;
    typename Kind::Answer answer;  // as far as it is known
  };
  template <typename Kind>
  using BatchPtr = std::shared_ptr<Batch<Kind>>;

  // Neither backend is owned. Both must live until the last batch is answered, and the rescue until
  // the fallback has called back for the last time. Of the primary only ExportState() is called.
  Rescue(FeatureBackend* primary, FeatureBackend* fallback)
      : primary_(*primary), fallback_(*fallback) {}
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  // Opens a batch that is about to be submitted.
  template <typename Kind>
  BatchPtr<Kind> Add(typename Kind::Common common, std::vector<typename Kind::Job> jobs,
                     typename Kind::Done done) ABSL_LOCKS_EXCLUDED(mutex_) {
    auto batch = std::make_shared<Batch<Kind>>();
    batch->common = std::move(common);
    batch->jobs = std::move(jobs);
    batch->done = std::move(done);
    absl::MutexLock lock(&mutex_);
    batch->place = {Kind::kOrder, ++last_id_};
    open_.emplace(batch->place, batch);
    return batch;
  }

  // Closes a batch without an answer, because the primary did not take it. Returns false where it
  // is answered or in rescue already: then it keeps its owner.
  bool Withdraw(AnyBatch& batch) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes the primary's answer to a batch. Passes it on and returns OK, unless it says that the
  // device is lost: then the answers that it does contain are kept for the rescue, and the loss is
  // returned. An answer to a batch that is answered or in rescue already is dropped, which is OK.
  template <typename Kind>
  absl::Status Done(const BatchPtr<Kind>& batch, typename Kind::Answer answer)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::Status loss;
    for (const auto& item : Kind::Items(answer)) {
      if (loss.ok() && IsDeviceLoss(item.status)) loss = item.status;
    }
    {
      absl::MutexLock lock(&mutex_);
      if (batch->owner != Owner::kPrimary) return absl::OkStatus();
      batch->answer = std::move(answer);
      if (!loss.ok()) return loss;
      Close(*batch);
    }
    batch->Answer();
    return absl::OkStatus();
  }

  // Has the fallback compute the items of a batch that the primary has not answered. Does nothing
  // when that has begun, or when the batch is not open any more. May wait for a plan to be made.
  template <typename Kind>
  void RescueBatch(const BatchPtr<Kind>& batch) ABSL_LOCKS_EXCLUDED(mutex_) {
    typename Kind::Common common;
    std::vector<typename Kind::Job> jobs;
    std::vector<size_t> missing;
    {
      absl::MutexLock lock(&mutex_);
      if (batch->owner != Owner::kPrimary) return;
      batch->owner = Owner::kFallback;
      batch->MarkMissing();
      if (!has_given_up_) missing = batch->missing;
      common = batch->common;
      jobs = std::move(batch->jobs);
    }
    // Each job goes to the fallback alone, whose plan may allow smaller batches than the primary's.
    std::vector<std::pair<size_t, std::vector<typename Kind::Job>>> parts;  // by place in the batch
    for (const size_t place : missing) {
      if (Kind::Move(primary_, fallback_, common, jobs[place])) {
        parts.emplace_back(place, std::vector{std::move(jobs[place])});
      }
    }
    jobs.clear();
    {
      absl::MutexLock lock(&mutex_);
      if (batch->owner == Owner::kNobody) return;  // given up
      batch->parts_missing = parts.size();
      if (parts.empty()) Close(*batch);
    }
    if (parts.empty()) batch->Answer();
    for (auto& [place, part] : parts) {
      Kind::SubmitTo(fallback_, true, common, std::move(part),
                     [this, batch, place = place](typename Kind::Answer answer) {
                       PartRescued<Kind>(batch, place, std::move(answer));
                     });
    }
  }

  // Rescues all open batches in the order of their kinds, otherwise in that of their opening.
  void RescueAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers all open batches, with DEVICE_LOST for items that have no answer yet. Batches that are
  // rescued later are answered in this way at once.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until no batch is open.
  void WaitUntilEmpty() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Adds the cost of one more rescued part to that of its batch, `all`. The first part's cost
  // replaces the primary's.
  static void AddCost(const BatchCost& cost, bool is_first, BatchCost& all);
  void Close(AnyBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  template <typename Kind>
  void PartRescued(const BatchPtr<Kind>& batch, size_t place, typename Kind::Answer answer)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (batch->owner == Owner::kNobody) return;  // given up
      auto& items = Kind::Items(answer);
      if (!items.empty()) Kind::Items(batch->answer)[place] = std::move(items.front());
      AddCost(answer.cost, !std::exchange(batch->is_cost_known, true), batch->answer.cost);
      if (--batch->parts_missing > 0) return;
      Close(*batch);
    }
    batch->Answer();
  }

  FeatureBackend& primary_;
  FeatureBackend& fallback_;

  absl::Mutex mutex_;
  // In the order in which they are rescued.
  absl::btree_map<std::pair<int, uint64_t>, std::shared_ptr<AnyBatch>> open_
      ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_given_up_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_RESCUE_H_
