// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Runs frames through a FeatureBackend and waits for the answer.

#ifndef ORBSERVE_TESTS_SUPPORT_BACKEND_RUNNER_H_
#define ORBSERVE_TESTS_SUPPORT_BACKEND_RUNNER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "features/backend.h"
#include "features/image_view.h"

namespace orbserve::testing {

// One image, and what is to be computed of it.
struct FrameInput {
  ImageView image;
  ImageView mask = {};  // empty = none
  FrameParameters parameters = {};
  std::shared_ptr<const GivenKeypoints> given_keypoints = nullptr;
};

// A job whose slot holds a copy of the input.
absl::StatusOr<FrameJob> MakeJob(FeatureBackend& backend, const FrameInput& input);

// Submits `jobs` as one batch and waits.
FrameBatchAnswer RunBatch(FeatureBackend& backend, std::shared_ptr<FeaturePlan> plan,
                          std::vector<FrameJob> jobs);

// Submits `jobs` and waits.
MatchBatchAnswer RunMatches(FeatureBackend& backend, std::vector<MatchJob> jobs);

// Submits `jobs` and waits.
TrackBatchAnswer RunTracks(FeatureBackend& backend, std::vector<TrackJob> jobs);

// Features of one image alone, its plan made for it.
absl::StatusOr<std::shared_ptr<const Features>> RunFrame(FeatureBackend& backend,
                                                         const PipelineOptions& pipeline,
                                                         const FrameInput& input);

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_BACKEND_RUNNER_H_
