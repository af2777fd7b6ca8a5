// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keeps every batch that was submitted to a backend that may be lost, the primary, until the batch
// is answered. Once the primary is lost, the fallback computes these batches from the same input
// slots and with the same bits. States that a match needs are exported from the primary and
// imported into the fallback, which makes the pyramids that tracks need again from the input slots.

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUE_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/failover/rescue_kinds.h"

namespace orbserve {

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
    // Jobs that go to the fallback as one batch, and their places in their own.
    std::vector<std::pair<std::vector<size_t>, std::vector<typename Kind::Job>>> parts;
    for (const size_t place : missing) {
      if (!Kind::Move(primary_, fallback_, common, jobs[place])) continue;
      if (parts.empty() || Kind::kAlone) parts.emplace_back();
      parts.back().first.push_back(place);
      parts.back().second.push_back(std::move(jobs[place]));
    }
    jobs.clear();
    {
      absl::MutexLock lock(&mutex_);
      if (batch->owner == Owner::kNobody) return;  // given up
      batch->parts_missing = parts.size();
      if (parts.empty()) Close(*batch);
    }
    if (parts.empty()) batch->Answer();
    for (auto& [places, part] : parts) {
      Kind::SubmitTo(fallback_, true, common, std::move(part),
                     [this, batch, at = std::move(places)](typename Kind::Answer answer) {
                       PartRescued<Kind>(batch, at, std::move(answer));
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
  void PartRescued(const BatchPtr<Kind>& batch, const std::vector<size_t>& places,
                   typename Kind::Answer answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (batch->owner == Owner::kNobody) return;  // given up
      auto& from = Kind::Items(answer);
      auto& to = Kind::Items(batch->answer);
      for (size_t i = 0; i < std::min(places.size(), from.size()); ++i) {
        to[places[i]] = std::move(from[i]);
      }
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
