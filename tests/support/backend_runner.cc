// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/backend_runner.h"

#include <cstring>
#include <utility>

#include "absl/synchronization/notification.h"

namespace orbserve::testing {
namespace {

void CopyImage(const ImageView& from, const MutableImageView& to) {
  for (int y = 0; y < from.height_px; ++y) {
    std::memcpy(to.Row(y), from.Row(y), static_cast<size_t>(from.width_px));
  }
}

}  // namespace

absl::StatusOr<FrameJob> MakeJob(FeatureBackend& backend, const FrameInput& input) {
  FrameJob job;
  ORBSERVE_ASSIGN_OR_RETURN(
      job.input,
      backend.LeaseInput(input.image.width_px, input.image.height_px, !input.mask.empty()));
  CopyImage(input.image, job.input->image);
  if (!input.mask.empty()) CopyImage(input.mask, job.input->mask);
  job.parameters = input.parameters;
  job.given_keypoints = input.given_keypoints;
  return job;
}

FrameBatchAnswer RunBatch(FeatureBackend& backend, std::shared_ptr<FeaturePlan> plan,
                          std::vector<FrameJob> jobs) {
  FrameBatchAnswer answer;
  absl::Notification ended;
  backend.Submit(std::move(plan), std::move(jobs), [&](FrameBatchAnswer given) {
    answer = std::move(given);
    ended.Notify();
  });
  ended.WaitForNotification();
  return answer;
}

MatchBatchAnswer RunMatches(FeatureBackend& backend, std::vector<MatchJob> jobs) {
  MatchBatchAnswer answer;
  absl::Notification ended;
  backend.SubmitMatches(std::move(jobs), [&](MatchBatchAnswer given) {
    answer = std::move(given);
    ended.Notify();
  });
  ended.WaitForNotification();
  return answer;
}

TrackBatchAnswer RunTracks(FeatureBackend& backend, std::vector<TrackJob> jobs) {
  TrackBatchAnswer answer;
  absl::Notification ended;
  backend.SubmitTracks(std::move(jobs), [&](TrackBatchAnswer given) {
    answer = std::move(given);
    ended.Notify();
  });
  ended.WaitForNotification();
  return answer;
}

absl::StatusOr<std::shared_ptr<const Features>> RunFrame(FeatureBackend& backend,
                                                         const PipelineOptions& pipeline,
                                                         const FrameInput& input) {
  ORBSERVE_ASSIGN_OR_RETURN(
      std::shared_ptr<FeaturePlan> plan,
      backend.MakePlan({input.image.width_px, input.image.height_px, pipeline}));
  ORBSERVE_ASSIGN_OR_RETURN(FrameJob job, MakeJob(backend, input));
  std::vector<FrameJob> jobs;
  jobs.push_back(std::move(job));
  FrameBatchAnswer answer = RunBatch(backend, std::move(plan), std::move(jobs));
  ORBSERVE_RETURN_IF_ERROR(answer.frames.at(0).status);
  return answer.frames[0].features;
}

}  // namespace orbserve::testing
