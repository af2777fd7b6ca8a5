// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/arc_middle.h"

#include <cstdint>
#include <vector>

#include "features/algo/arc_middle.h"
#include "features/algo/fast.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 5 to 20 microseconds of work.
constexpr int kArcMiddleChunk = 384;

void LoadRing(const ImageView& image, const LevelPoint& point,
              uint8_t (&ring)[algo::kFastRingPixels]) {
  algo::LoadFastRing(image.Row(point.y) + point.x, image.pitch_bytes, ring);
}

float AngleOf(const ImageView& image, const uint8_t* directions, const LevelPoint& point,
              const uint8_t (&ring)[algo::kFastRingPixels], int score) {
  const int centre_grey = image.Row(point.y)[point.x];
  return algo::ArcDirectionAngle(algo::ArcDirection(ring, centre_grey, score, directions));
}

class ArcMiddle final : public Step {
 public:
  explicit ArcMiddle(const StepSetup& setup)
      : arc_length_(setup.pipeline.spec.pipeline.detect.fast_arc_length),
        response_is_score_(setup.pipeline.spec.pipeline.detect.score == Score::kFast),
        find_middles_(ArcMiddleKernelFor(setup.target)),
        directions_(algo::kArcDirectionEntries) {
    algo::FillArcDirections(directions_.data());
  }

  absl::string_view name() const override { return "arc_middle"; }
  StageSet stages() const override { return Stage::kOrient; }
  size_t table_bytes() const override { return directions_.capacity(); }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kArcMiddleChunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<LevelPoint> points = frame.level(level).points;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kArcMiddleChunk, task);
    const ImageView image = frame.Image(level);
    if (response_is_score_) {
      find_middles_(image, directions_.data(), points.data() + part.begin, part.end - part.begin);
      return;
    }
    // Another response than the detection score leaves no trace of it.
    for (int i = part.begin; i < part.end; ++i) {
      LevelPoint& point = points[static_cast<size_t>(i)];
      uint8_t ring[algo::kFastRingPixels];
      LoadRing(image, point, ring);
      const int score = algo::FastScore(ring, image.Row(point.y)[point.x], arc_length_);
      point.angle_deg = AngleOf(image, directions_.data(), point, ring, score);
    }
  }

 private:
  const int arc_length_;
  const bool response_is_score_;
  const ArcMiddleKernel find_middles_;
  std::vector<uint8_t> directions_;  // of all strings of 16 comparison bits
};

}  // namespace

void ReferenceArcMiddles(const ImageView& image, const uint8_t* directions, LevelPoint* points,
                         int count) {
  for (int i = 0; i < count; ++i) {
    uint8_t ring[algo::kFastRingPixels];
    LoadRing(image, points[i], ring);
    points[i].angle_deg =
        AngleOf(image, directions, points[i], ring, static_cast<int>(points[i].response));
  }
}

std::unique_ptr<Step> MakeArcMiddle(const StepSetup& setup) {
  return std::make_unique<ArcMiddle>(setup);
}

}  // namespace orbserve::cpu
