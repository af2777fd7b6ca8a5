// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/rbrief32.h"

#include <cstddef>

#include "features/algo/rbrief32.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 15 to 30 microseconds of work.
constexpr int kRbrief32Chunk = 384;

class RBrief32 final : public Step {
 public:
  explicit RBrief32(const StepSetup& setup) : describe_(RBrief32KernelFor(setup.target)) {}

  absl::string_view name() const override { return "rbrief32"; }
  StageSet stages() const override { return Stage::kDescribe; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kRbrief32Chunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<const LevelPoint> points = frame.level(level).points;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kRbrief32Chunk, task);
    describe_(
        frame.Image(level), points.data() + part.begin, part.end - part.begin,
        frame.level(level).descriptors + static_cast<ptrdiff_t>(part.begin) * algo::kRBrief32Bytes);
  }

 private:
  const RBrief32Kernel describe_;
};

}  // namespace

void ReferenceRBrief32(const ImageView& image, const LevelPoint* points, int count,
                       uint8_t* descriptors) {
  for (int i = 0; i < count; ++i) {
    const uint32_t bits =
        algo::DescribeRBrief32(image.Row(points[i].y) + points[i].x, image.pitch_bytes,
                               points[i].angle_deg, algo::kRBrief32Pattern);
    for (int k = 0; k < algo::kRBrief32Bytes; ++k) {
      descriptors[static_cast<ptrdiff_t>(i) * algo::kRBrief32Bytes + k] =
          algo::RBrief32Byte(bits, k);
    }
  }
}

std::unique_ptr<Step> MakeRBrief32(const StepSetup& setup) {
  return std::make_unique<RBrief32>(setup);
}

}  // namespace orbserve::cpu
