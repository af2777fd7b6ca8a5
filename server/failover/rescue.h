// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Keeps every batch that was submitted to a backend that may be lost, the primary, until the batch
// is answered. Once the primary is lost, the fallback computes these batches from the same input
// slots and with the same bits. States that a match needs are exported from the primary and
// imported into the fallback, which makes the pyramids that tracks need again from the input slots.

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUE_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "features/backend.h"
#include "server/failover/rescue_kinds.h"

namespace orbserve {

// Returns true for an answer that says that its device is lost.
bool IsDeviceLoss(const absl::Status& status);

// A batch is open from Add() to its answer. It has one of two owners: the primary, or, once it is
// rescued, the fallback. The thread that takes it out of its table answers it, exactly once and
// never under a lock. Thread-safe.
class Rescue {
 public:
  // Neither backend is owned. Both must live until the last batch is answered, and the rescue until
  // the fallback has called back for the last time. Of the primary only ExportState() is called.
  Rescue(FeatureBackend* primary, FeatureBackend* fallback);
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  // Opens a batch that is about to be submitted, and returns its number.
  template <typename Kind>
  uint64_t Add(typename Kind::Common common, std::vector<typename Kind::Job> jobs,
               typename Kind::Done done) ABSL_LOCKS_EXCLUDED(mutex_);

  // Closes a batch without an answer, because the primary did not take it. Returns false where it
  // is answered or in rescue already: then it keeps its owner.
  template <typename Kind>
  bool Withdraw(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes the primary's answer to a batch. Passes it on and returns OK, unless it says that the
  // device is lost: then the answers that it does contain are kept for the rescue, and the loss is
  // returned. An answer to a batch that is answered or in rescue already is dropped, which is OK.
  template <typename Kind>
  absl::Status Done(uint64_t id, typename Kind::Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  // Has the fallback compute the items of a batch that the primary has not answered. Does nothing
  // when that has begun, or when the batch is not open any more. May wait for a plan to be made.
  template <typename Kind>
  void RescueBatch(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Rescues all open batches, kind by kind as in Kinds, otherwise in the order of their opening.
  void RescueAll() ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers all open batches, with DEVICE_LOST for items that have no answer yet. Batches that are
  // rescued later are answered in this way at once.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until no batch is open.
  void WaitUntilEmpty() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  template <typename Kind>
  struct Batch {
    typename Kind::Common common;
    std::vector<typename Kind::Job> jobs;
    typename Kind::Done done;
    typename Kind::Answer answer;  // as far as it is known
    bool is_rescued = false;       // the fallback owns it
    bool is_cost_known = false;    // the fallback has answered a part
    size_t parts_missing = 0;      // parts that it has not answered yet
  };
  template <typename Kind>
  using Table = absl::flat_hash_map<uint64_t, std::unique_ptr<Batch<Kind>>>;
  template <typename... Kinds>
  using TablesOf = std::tuple<Table<Kinds>...>;

  // Matches and tracks are rescued first: they are short, and frames may have to wait for a plan.
  using Kinds = TablesOf<MatchRescue, TrackRescue, FrameRescue>;

  template <typename Kind>
  Table<Kind>& TableOf() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::get<Table<Kind>>(tables_);
  }
  // Takes a batch out of its table; null when it is not open any more.
  template <typename Kind>
  std::unique_ptr<Batch<Kind>> Take(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Kind>
  static void AnswerBatch(std::unique_ptr<Batch<Kind>> batch);
  template <typename Kind>
  void PartRescued(uint64_t id, const std::vector<size_t>& places, typename Kind::Answer answer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Kind>
  void RescueAllOf() ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Kind>
  static void GiveUpAll(Table<Kind>& batches);
  bool IsEmpty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FeatureBackend& primary_;
  FeatureBackend& fallback_;

  absl::Mutex mutex_;
  Kinds tables_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_given_up_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_RESCUE_H_
