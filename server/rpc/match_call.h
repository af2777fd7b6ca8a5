// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_MATCH_CALL_H_
#define ORBSERVE_SERVER_RPC_MATCH_CALL_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/message_call.h"

namespace orbserve {

// Matches between two sides, each an image, a feature set, or (train only) a stored reference.
// Images are extracted first, both at the same time.
class MatchCall final : public MessageCall<v1::MatchRequest, v1::MatchResponse> {
 public:
  using MessageCall::MessageCall;

  void Start();
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Side {
    absl::Status status;
    std::shared_ptr<const FrameState> state;
    FrameOutcome outcome;  // set for an image
    bool is_image = false;
    Batcher::Ticket ticket = 0;
  };

  absl::Status ReadOptions();
  int64_t ExpectedWireBytes() const;
  void PrepareQuery();
  void PrepareTrain();
  void SetFeatures(Side& side, const v1::FeatureSet& features);
  void SetReference();
  void ExtractSide(Side& side, const v1::Frame& frame);
  // Called when a side is prepared, and at the end of Start(). The last call submits the match.
  void OnePrepared();
  // The error of a side, with the name of its field before a text that may be about either side.
  absl::Status NamingSide(const Side& side) const;
  void OnMatched(MatchOutcome outcome);
  void End(const absl::Status& status);
  // Adds the phases of the matching to the times of the frames, or records them if there are none.
  void AddPhases(const MatchOutcome& outcome);
  void FillTimings(const MatchOutcome& outcome);

  std::shared_ptr<const ResolvedPipeline> pipeline_;
  MatchOptions options_;
  bool options_read_ = false;  // errors of sides are their own
  Side query_;
  Side train_;
  std::atomic<int> preparing_{3};  // both sides, and Start() itself
  SteadyTime matching_begin_;

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  MatchQueue::Ticket match_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_MATCH_CALL_H_
