// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Everything about a plan that backends must agree on, computed once on the host. Both backends
// begin a plan with CompilePipeline() and a frame with BeginFrame().

#ifndef ORBSERVE_FEATURES_PIPELINE_COMPILED_H_
#define ORBSERVE_FEATURES_PIPELINE_COMPILED_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/backend.h"
#include "features/pipeline/cuts.h"
#include "features/pipeline/geometry.h"
#include "features/pipeline/reach.h"
#include "features/types.h"

namespace orbserve {

// Immutable once made.
struct CompiledPipeline {
  PlanSpec spec;
  PyramidGeometry pyramid;
  Reach reach;
  int descriptor_bytes = 0;  // per feature

  // Most keypoints that ORB_SLAM3 keeps of level `l`, and of all levels.
  int MostNodes(const Cuts& cuts, int l) const;
  int64_t MostNodes(const Cuts& cuts) const;

  Cuts CutsFor(const FrameParameters& parameters) const {
    return Cuts::For(spec.pipeline, parameters);
  }
  int level_count() const { return static_cast<int>(pyramid.levels.size()); }
  const LevelGeometry& level(int l) const { return pyramid.levels[static_cast<size_t>(l)]; }
};

// INVALID_ARGUMENT for options or sides out of range, or a size of which ORB_SLAM3 has no answer.
absl::StatusOr<CompiledPipeline> CompilePipeline(const PlanSpec& spec);

// Checks a job against its plan and puts `features` into the state in which the first step finds
// it: image size and descriptor size set, not truncated, no rows of given keypoints. Columns keep
// their capacity. INVALID_ARGUMENT for parameters out of range, for masks and given keypoints with
// ORB_SLAM3 or SIFT, and for more features than the capacity with ORB_SLAM3; INTERNAL for a job
// without an input or with one of another size.
absl::Status BeginFrame(const CompiledPipeline& pipeline, const FrameJob& job, Features* features);

// A keypoint given by the caller, in pixels of its level.
struct PlacedKeypoint {
  int x;
  int y;
  int level;
  float angle_deg;
};
// Row `row` of features that PlaceGivenKeypoints() has filled in.
PlacedKeypoint PlacedKeypointAt(const CompiledPipeline& pipeline, const Features& features,
                                size_t row);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_COMPILED_H_
