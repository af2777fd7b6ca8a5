// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/arc_middle.h"

#include <cstdint>
#include <vector>

#include "features/algo/arc_middle.h"
#include "features/algo/fast.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 10 to 30 microseconds of work.
constexpr int kChunk = 384;

class ArcMiddle final : public Step {
 public:
  explicit ArcMiddle(const StepSetup& setup)
      : arc_length_(setup.pipeline.spec.pipeline.detect.fast_arc_length),
        response_is_score_(setup.pipeline.spec.pipeline.detect.score == Score::kLargestThreshold),
        directions_(algo::kArcDirectionEntries) {
    algo::FillArcDirections(directions_.data());
  }

  absl::string_view name() const override { return "arc_middle"; }
  StageSet stages() const override { return Stage::kOrient; }
  size_t table_bytes() const override { return directions_.capacity(); }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kChunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<LevelPoint> points = frame.level(level).points;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kChunk, task);
    const ImageView image = frame.Image(level);
    for (int i = part.begin; i < part.end; ++i) {
      LevelPoint& point = points[static_cast<size_t>(i)];
      const uint8_t* const centre = image.Row(point.y) + point.x;
      uint8_t ring[algo::kFastRingPixels];
      algo::LoadFastRing(centre, image.pitch_bytes, ring);
      // Another response than the detection score leaves no trace of it.
      const int score = response_is_score_ ? static_cast<int>(point.response)
                                           : algo::FastScore(ring, *centre, arc_length_);
      point.angle_deg =
          algo::ArcDirectionAngle(algo::ArcDirection(ring, *centre, score, directions_.data()));
    }
  }

 private:
  const int arc_length_;
  const bool response_is_score_;
  std::vector<uint8_t> directions_;  // of all strings of 16 comparison bits
};

}  // namespace

std::unique_ptr<Step> MakeArcMiddle(const StepSetup& setup) {
  return std::make_unique<ArcMiddle>(setup);
}

}  // namespace orbserve::cpu
