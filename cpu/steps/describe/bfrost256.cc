// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/bfrost256.h"

#include <cstddef>

#include "features/algo/bfrost.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 15 to 30 microseconds of work.
constexpr int kChunk = 96;

class BFrost256 final : public Step {
 public:
  explicit BFrost256(const StepSetup& setup) : describe_(BFrost256KernelFor(setup.target)) {}

  absl::string_view name() const override { return "bfrost256"; }
  StageSet stages() const override { return Stage::kDescribe; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kChunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<const LevelPoint> points = frame.level(level).points;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kChunk, task);
    describe_(
        frame.Integral(level), points.data() + part.begin, part.end - part.begin,
        frame.level(level).descriptors + static_cast<ptrdiff_t>(part.begin) * algo::kBFrostBytes);
  }

 private:
  const BFrost256Kernel describe_;
};

}  // namespace

void ReferenceBFrost256(const IntegralView& integral, const LevelPoint* points, int count,
                        uint8_t* descriptors) {
  for (int i = 0; i < count; ++i) {
    algo::DescribeBFrost256(integral.Row(points[i].y) + points[i].x, integral.pitch,
                            algo::BFrostDirectionOf(points[i].angle_deg),
                            descriptors + static_cast<ptrdiff_t>(i) * algo::kBFrostBytes);
  }
}

std::unique_ptr<Step> MakeBFrost256(const StepSetup& setup) {
  return std::make_unique<BFrost256>(setup);
}

}  // namespace orbserve::cpu
