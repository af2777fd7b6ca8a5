// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/teblid.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "features/algo/teblid.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 40 to 80 microseconds of work.
constexpr int kTeblidChunk = 64;

const algo::BoxTestSet& TestsOf(Descriptor descriptor) {
  switch (descriptor) {
    case Descriptor::kTeblid512:
      return algo::kTeblid512;
    case Descriptor::kBeblid256:
      return algo::kBeblid256;
    case Descriptor::kBeblid512:
      return algo::kBeblid512;
    default:
      return algo::kTeblid256;
  }
}

class Teblid final : public Step {
 public:
  explicit Teblid(const StepSetup& setup)
      : tests_(TestsOf(setup.pipeline.spec.pipeline.describe.descriptor)),
        describe_(BoxTestsKernelFor(setup.target)) {}

  absl::string_view name() const override { return "teblid"; }
  StageSet stages() const override { return Stage::kDescribe; }
  StepScope scope() const override { return StepScope::kFrame; }

  int Begin(FrameContext& frame, int /*level*/) const override {
    return frame.TasksFor(PointsOfAllLevels(frame), kTeblidChunk);
  }

  void Run(FrameContext& frame, int /*level*/, int task) const override {
    const Part part = frame.PartOf(PointsOfAllLevels(frame), kTeblidChunk, task);
    int begin = 0;  // of the level among the points of all levels
    for (int level = 0; level < LevelsOf(frame); ++level) {
      const int count = static_cast<int>(frame.level(level).points.size());
      const int first = std::max(part.begin - begin, 0);
      const int last = std::min(part.end - begin, count);
      for (int i = first; i < last; i += kTeblidChunk) {
        DescribeSome(frame, level, i, std::min(kTeblidChunk, last - i));
      }
      begin += count;
    }
  }

 private:
  static int LevelsOf(const FrameContext& frame) {
    return frame.job.given_keypoints != nullptr ? frame.pipeline.level_count()
                                                : frame.pipeline.pyramid.detecting_levels;
  }
  static int PointsOfAllLevels(const FrameContext& frame) {
    int points = 0;
    for (int level = 0; level < LevelsOf(frame); ++level) {
      points += static_cast<int>(frame.level(level).points.size());
    }
    return points;
  }

  // Points `first` to `first` + `count` of a level, kTeblidChunk at most.
  void DescribeSome(FrameContext& frame, int level, int first, int count) const {
    const Workspace::Level& of = frame.level(level);
    const LevelGeometry& geometry = frame.pipeline.level(level);
    const LevelGeometry& zero = frame.pipeline.level(0);
    PatchPoint made[kTeblidChunk];
    const PatchPoint* patches = made;
    if (frame.job.given_keypoints != nullptr) {
      const ptrdiff_t place = of.points.data() - frame.workspace().given_points.data();
      patches = frame.workspace().given_patches.data() + place + first;
    } else {
      const float size_px = frame.pipeline.reach.patch_factor * geometry.patch_size_px;
      for (int i = 0; i < count; ++i) {
        const LevelPoint& point = of.points[static_cast<size_t>(first + i)];
        made[i] = {static_cast<float>(point.x) * geometry.scale,
                   static_cast<float>(point.y) * geometry.scale, size_px, point.angle_deg};
      }
    }
    describe_({frame.Integral(0), zero.width_px, zero.height_px}, tests_, patches, count,
              of.descriptors + static_cast<ptrdiff_t>(first) * tests_.bytes());
  }

  const algo::BoxTestSet& tests_;
  const BoxTestsKernel describe_;
};

}  // namespace

void ReferenceBoxTests(const BoxImage& image, const algo::BoxTestSet& set, const PatchPoint* points,
                       int count, uint8_t* descriptors) {
  const auto integral = [&image](int x, int y) { return image.integral.Row(y)[x]; };
  for (int i = 0; i < count; ++i) {
    const PatchPoint& point = points[i];
    const algo::PatchPlace place = algo::PlacePatch(
        point.x, point.y, point.size_px, point.angle_deg, image.width_px, image.height_px);
    algo::DescribeBoxes(integral, image.width_px, image.height_px, place, set.tests, set.count,
                        set.thresholds, descriptors + static_cast<ptrdiff_t>(i) * set.bytes());
  }
}

std::unique_ptr<Step> MakeTeblid(const StepSetup& setup) { return std::make_unique<Teblid>(setup); }

}  // namespace orbserve::cpu
