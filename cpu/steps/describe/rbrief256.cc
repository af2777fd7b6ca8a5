// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/rbrief256.h"

#include <cstddef>

#include "features/algo/pyramid.h"
#include "features/algo/rbrief.h"
#include "features/pipeline/reach.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 15 microseconds of work.
constexpr int kRbrief256Chunk = 96;

class RBrief256 final : public Step {
 public:
  explicit RBrief256(const StepSetup& setup) : describe_(RBrief256KernelFor(setup.target)) {}

  absl::string_view name() const override { return "rbrief256"; }
  StageSet stages() const override { return Stage::kDescribe; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kRbrief256Chunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<const LevelPoint> points = frame.level(level).points;
    uint8_t* const descriptors = frame.level(level).descriptors;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kRbrief256Chunk, task);
    const LevelGeometry& geometry = frame.pipeline.level(level);
    const ImageView smoothed = frame.At(frame.lists.smoothed, level);
    const auto descriptor = [descriptors](int i) {
      return descriptors + static_cast<ptrdiff_t>(i) * algo::kRBriefBytes;
    };
    for (int i = part.begin; i < part.end;) {
      int end = i;
      while (end < part.end && KeepsBorder(geometry, points[static_cast<size_t>(end)])) ++end;
      if (end > i) describe_(smoothed, points.data() + i, end - i, descriptor(i));
      i = end;
      if (i == part.end) break;
      DescribeNearBorder(frame.Image(level), smoothed, points[static_cast<size_t>(i)],
                         descriptor(i));
      ++i;
    }
  }

 private:
  static bool KeepsBorder(const LevelGeometry& level, const LevelPoint& point) {
    constexpr int kReach = kRBriefSampleReachPx;
    return point.x >= kReach && point.x < level.width_px - kReach && point.y >= kReach &&
           point.y < level.height_px - kReach;
  }

  // A given point of a high level can lie so near its border that samples fall outside. OpenCV
  // keeps a frame of mirrored pixels round each level, filled before the level is smoothed: pixels
  // outside are read unsmoothed. The neighbourhood is put together accordingly and described as a
  // small level.
  void DescribeNearBorder(const ImageView& image, const ImageView& smoothed,
                          const LevelPoint& point, uint8_t* descriptor) const {
    constexpr int kReach = kRBriefBorderPx;
    constexpr int kSide = 2 * kReach + 1;
    constexpr int kPitch = 64;
    alignas(64) uint8_t memory[kImagePaddingBytes + kSide * kPitch + kImagePaddingBytes] = {};
    const MutableImageView patch = {memory + kImagePaddingBytes, kSide, kSide, kPitch};
    for (int v = 0; v < kSide; ++v) {
      const int y = point.y + v - kReach;
      const bool row_inside = y >= 0 && y < image.height_px;
      const uint8_t* const plain = image.Row(algo::Reflect101(y, image.height_px));
      for (int u = 0; u < kSide; ++u) {
        const int x = point.x + u - kReach;
        patch.Row(v)[u] = row_inside && x >= 0 && x < image.width_px
                              ? smoothed.Row(y)[x]
                              : plain[algo::Reflect101(x, image.width_px)];
      }
    }
    const LevelPoint centre = {kReach, kReach, 0.0f, point.angle_deg};
    describe_(patch, &centre, 1, descriptor);
  }

  const RBrief256Kernel describe_;
};

}  // namespace

void ReferenceRBrief256(const ImageView& smoothed, const LevelPoint* points, int count,
                        uint8_t* descriptors) {
  for (int i = 0; i < count; ++i) {
    algo::DescribeRBrief256(smoothed.Row(points[i].y) + points[i].x, smoothed.pitch_bytes,
                            points[i].angle_deg, algo::kRBriefPattern,
                            descriptors + static_cast<ptrdiff_t>(i) * algo::kRBriefBytes);
  }
}

std::unique_ptr<Step> MakeRBrief256(const StepSetup& setup) {
  return std::make_unique<RBrief256>(setup);
}

}  // namespace orbserve::cpu
