// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Frames whose states keep pyramids, for tests of tracks.

#ifndef ORBSERVE_TESTS_CPU_TRACK_FRAMES_H_
#define ORBSERVE_TESTS_CPU_TRACK_FRAMES_H_

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cpu/cpu_backend_support.h"

namespace orbserve::cpu {

inline PlanSpec VioSpec(const testing::TestImage& image, int track_levels = 5) {
  return {image.width_px(), image.height_px(), (*FindPreset("vio"))->pipeline, track_levels};
}

// The answer of one frame whose state keeps a pyramid.
inline FrameAnswer Extract(FeatureBackend& backend, const testing::TestImage& image,
                           const PlanSpec& spec,
                           const FrameParameters& parameters = (*FindPreset("vio"))->frame,
                           std::shared_ptr<const GivenKeypoints> given = nullptr) {
  auto job = testing::MakeJob(
      backend, {.image = image.view(), .parameters = parameters, .given_keypoints = given});
  auto plan = backend.MakePlan(spec);
  EXPECT_TRUE(job.ok() && plan.ok()) << job.status() << plan.status();
  job->keep_state = KeepState::kPyramid;
  std::vector<FrameJob> jobs;
  jobs.push_back(*std::move(job));
  FrameAnswer answer = std::move(testing::RunBatch(backend, *plan, std::move(jobs)).frames[0]);
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  return answer;
}

inline std::shared_ptr<const FrameState> StateOf(FeatureBackend& backend,
                                                 const testing::TestImage& image,
                                                 int track_levels = 5) {
  return Extract(backend, image, VioSpec(image, track_levels)).state;
}

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_TRACK_FRAMES_H_
