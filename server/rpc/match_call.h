// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RPC_MATCH_CALL_H_
#define ORBSERVE_SERVER_RPC_MATCH_CALL_H_

#include <atomic>
#include <memory>
#include <vector>

#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/unary_call.h"

namespace orbserve {

// Matches between two sides, each an image, a feature set, or (train only) a stored reference.
// Images are extracted first, both at the same time.
class MatchCall final : public MessageCall<v1::MatchRequest, v1::MatchResponse> {
 public:
  using MessageCall::MessageCall;

  void OnCancel() override;

 private:
  struct Side {
    absl::Status status;
    std::shared_ptr<const FrameState> state;
    FrameOutcome outcome;  // set for an image
    bool is_image = false;
    Batcher::Ticket ticket = 0;
  };

  void Start() override;
  absl::Status ReadOptions();
  int64_t ExpectedWireBytes() const;
  // `frame`: the side's image; null if it is none.
  void Prepare(Side& side, const v1::Frame* frame, const v1::FeatureSet& features);
  // The state of a side that is no image.
  absl::Status SetState(Side& side, const v1::FeatureSet& features);
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
  // Whoever writes one of these then reads the other: the request is withdrawn in any case.
  std::atomic<bool> cancelled_{false};
  std::atomic<MatchQueue::Ticket> match_ticket_{0};
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_MATCH_CALL_H_
