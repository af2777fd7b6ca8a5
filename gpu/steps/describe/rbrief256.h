// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Step `rbrief256`: angle, smoothing and rBRIEF-256 of every keypoint, in one kernel. It writes the
// records, descriptors and reports of the batch.

#ifndef ORBSERVE_GPU_STEPS_DESCRIBE_RBRIEF256_H_
#define ORBSERVE_GPU_STEPS_DESCRIBE_RBRIEF256_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "features/algo/rbrief_pattern.h"
#include "features/pipeline/compiled.h"
#include "features/pipeline/detection.h"
#include "gpu/steps/level_images.h"
#include "gpu/steps/step.h"

namespace orbserve::gpu {

struct DescribeParams {
  Frames frames;
  LevelImages images;
  const algo::RBriefPair* pattern;  // device copy of algo::kRBriefPattern, 32-byte aligned
  int32_t levels;                   // that can hold a keypoint of a detection
  int32_t multiprocessors;
  Orientation orientation;  // of detected features
  int32_t arc_length;       // of FAST, 9..12; kArcMiddle only
  // Levels are smoothed by features/algo/fixed_gaussian.h, and keypoints may be so near to the
  // border that the filter reads mirrored pixels.
  bool is_fixed_point;
  bool overlaps = false;  // it may begin while the kernel before it ends
};

// Angle, smoothing and descriptor of every ranked or given keypoint: records, descriptors and the
// report of each frame.
absl::Status LaunchDescribe(const DescribeParams& params, cudaStream_t stream);

class RBrief256Step final : public Step {
 public:
  RBrief256Step(const CompiledPipeline& pipeline, const LevelImageBuffers& images)
      : images_(images),
        levels_(pipeline.pyramid.detecting_levels),
        orientation_(pipeline.spec.pipeline.describe.orientation),
        arc_length_(pipeline.spec.pipeline.detect.fast_arc_length),
        is_fixed_point_(ResizesLinearly(pipeline.spec.pipeline)) {}

  absl::string_view name() const override { return "rbrief256"; }
  StageSet stages() const override;
  absl::Status Enqueue(const StepContext& context, cudaStream_t stream) const override;

  DescribeParams ParamsFor(const StepContext& context) const;

 private:
  const LevelImageBuffers images_;
  const int levels_;
  const Orientation orientation_;
  const int arc_length_;
  const bool is_fixed_point_;
};

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_DESCRIBE_RBRIEF256_H_
