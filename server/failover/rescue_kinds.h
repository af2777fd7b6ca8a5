// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A kind of work is one struct (FrameRescue, MatchRescue, TrackRescue) that says what a batch
// consists of and how the fallback computes it. Rescue and FailoverBackend know nothing else of it.
// A further kind is one more such struct, its place in Rescue::Kinds and its three lines at the end
// of rescue.cc.

#ifndef ORBSERVE_SERVER_FAILOVER_RESCUE_KINDS_H_
#define ORBSERVE_SERVER_FAILOVER_RESCUE_KINDS_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "features/backend.h"
#include "server/failover/rescuable_plan.h"

namespace orbserve {

// A part of a batch that goes to the fallback as one batch.
template <typename Job>
struct RescuePart {
  std::vector<size_t> places;  // of the jobs in the whole batch
  std::vector<Job> jobs;
};

// Frames. Each frame goes to the fallback alone, because the fallback's plan may allow smaller
// batches than the primary's.
struct FrameRescue {
  using Job = FrameJob;
  using Answer = FrameBatchAnswer;
  using Done = FrameBatchDone;
  // Everything that the jobs of a batch share. Null: not a plan of this backend, and no rescue.
  using Common = std::shared_ptr<RescuablePlan>;

  static std::vector<FrameAnswer>& Items(Answer& answer) { return answer.frames; }
  // Makes the jobs at `missing` fit for the fallback. Jobs that the fallback cannot compute are in
  // no part. May make a plan, and wait for that.
  static std::vector<RescuePart<Job>> Divide(FeatureBackend& primary, FeatureBackend& fallback,
                                             const Common& plan, std::vector<Job> jobs,
                                             const std::vector<size_t>& missing);
  static void SubmitToPrimary(FeatureBackend& primary, const Common& plan, std::vector<Job> jobs,
                              Done done);
  static void SubmitToFallback(FeatureBackend& fallback, const Common& plan, std::vector<Job> jobs,
                               Done done);
};

// Matches. Their states move to the fallback, and all jobs of a batch stay together.
struct MatchRescue {
  using Job = MatchJob;
  using Answer = MatchBatchAnswer;
  using Done = MatchBatchDone;
  struct Common {};  // nothing

  static std::vector<MatchAnswer>& Items(Answer& answer) { return answer.pairs; }
  static std::vector<RescuePart<Job>> Divide(FeatureBackend& primary, FeatureBackend& fallback,
                                             const Common&, std::vector<Job> jobs,
                                             const std::vector<size_t>& missing);
  static void SubmitToPrimary(FeatureBackend& primary, const Common&, std::vector<Job> jobs,
                              Done done) {
    primary.SubmitMatches(std::move(jobs), std::move(done));
  }
  static void SubmitToFallback(FeatureBackend& fallback, const Common&, std::vector<Job> jobs,
                               Done done) {
    fallback.SubmitMatches(std::move(jobs), std::move(done));
  }
};

// Searches for tracks. All jobs of a batch stay together.
struct TrackRescue {
  using Job = TrackJob;
  using Answer = TrackBatchAnswer;
  using Done = TrackBatchDone;
  struct Common {};  // nothing

  static std::vector<TrackAnswer>& Items(Answer& answer) { return answer.jobs; }
  static std::vector<RescuePart<Job>> Divide(FeatureBackend& primary, FeatureBackend& fallback,
                                             const Common&, std::vector<Job> jobs,
                                             const std::vector<size_t>& missing);
  static void SubmitToPrimary(FeatureBackend& primary, const Common&, std::vector<Job> jobs,
                              Done done) {
    primary.SubmitTracks(std::move(jobs), std::move(done));
  }
  static void SubmitToFallback(FeatureBackend& fallback, const Common&, std::vector<Job> jobs,
                               Done done) {
    fallback.SubmitTracks(std::move(jobs), std::move(done));
  }
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_FAILOVER_RESCUE_KINDS_H_
