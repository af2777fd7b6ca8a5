// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/intensity_centroid.h"

#include "features/algo/orientation.h"
#include "features/algo/rbrief32.h"
#include "features/pipeline/reach.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 10 to 30 microseconds of work.
constexpr int kCentroidChunk = 192;

class IntensityCentroid final : public Step {
 public:
  explicit IntensityCentroid(const StepSetup& setup)
      : orient_(CentroidAreaOf(setup.pipeline.spec.pipeline.describe.descriptor) ==
                        CentroidArea::kPatch
                    ? PatchCentroidKernelFor(setup.target)
                    : IntensityCentroidKernelFor(setup.target)) {}

  absl::string_view name() const override { return "intensity_centroid"; }
  StageSet stages() const override { return Stage::kOrient; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kCentroidChunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<LevelPoint> points = frame.level(level).points;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kCentroidChunk, task);
    orient_(frame.Image(level), points.data() + part.begin, part.end - part.begin);
  }

 private:
  const IntensityCentroidKernel orient_;
};

}  // namespace

void ReferenceIntensityCentroid(const ImageView& image, LevelPoint* points, int count) {
  for (int i = 0; i < count; ++i) {
    points[i].angle_deg = algo::CentroidAngleDegrees(
        algo::CentroidMoments(image.Row(points[i].y) + points[i].x, image.pitch_bytes));
  }
}

void ReferencePatchCentroid(const ImageView& image, LevelPoint* points, int count) {
  for (int i = 0; i < count; ++i) {
    points[i].angle_deg = algo::CentroidAngleDegrees(
        algo::PatchMoments(image.Row(points[i].y) + points[i].x, image.pitch_bytes));
  }
}

std::unique_ptr<Step> MakeIntensityCentroid(const StepSetup& setup) {
  return std::make_unique<IntensityCentroid>(setup);
}

}  // namespace orbserve::cpu
