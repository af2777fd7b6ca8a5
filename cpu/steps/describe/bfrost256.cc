// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/bfrost256.h"

#include <cstddef>
#include <cstdint>

#include "features/algo/bfrost.h"

namespace orbserve::cpu {
namespace {

// Points of one task: some 15 to 30 microseconds of work.
constexpr int kBfrostChunk = 96;

class BFrost256 final : public Step {
 public:
  explicit BFrost256(const StepSetup& setup)
      : describe_(BFrost256KernelFor(setup.target)),
        describe_pixels_(BFrost256OfPixelsKernelFor(setup.target)) {}

  absl::string_view name() const override { return "bfrost256"; }
  StageSet stages() const override { return Stage::kDescribe; }

  int Begin(FrameContext& frame, int level) const override {
    return frame.TasksFor(static_cast<int>(frame.level(level).points.size()), kBfrostChunk);
  }

  void Run(FrameContext& frame, int level, int task) const override {
    const absl::Span<const LevelPoint> points = frame.level(level).points;
    const Part part = frame.PartOf(static_cast<int>(points.size()), kBfrostChunk, task);
    const LevelPoint* const first = points.data() + part.begin;
    const int count = part.end - part.begin;
    uint8_t* const descriptors =
        frame.level(level).descriptors + static_cast<ptrdiff_t>(part.begin) * algo::kBFrostBytes;
    if (SumsPixels(frame, level)) {
      describe_pixels_(frame.Image(level), first, count, descriptors);
    } else {
      describe_(frame.Integral(level), first, count, descriptors);
    }
  }

 private:
  const BFrost256Kernel describe_;
  const BFrost256OfPixelsKernel describe_pixels_;
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

// An integral image of the pixels round the point alone.
void ReferenceBFrost256OfPixels(const ImageView& image, const LevelPoint* points, int count,
                                uint8_t* descriptors) {
  constexpr int kSide = 2 * algo::kBFrostRadiusPx + 1;
  constexpr ptrdiff_t kPitch = kSide + 1;
  uint32_t sums[kPitch * kPitch] = {};
  for (int i = 0; i < count; ++i) {
    const int x_begin = points[i].x - algo::kBFrostRadiusPx;
    const int y_begin = points[i].y - algo::kBFrostRadiusPx;
    for (int y = 0; y < kSide; ++y) {
      const uint32_t* const above = sums + y * kPitch;
      algo::IntegralRow(image.Row(y_begin + y) + x_begin, above, kSide, sums + (y + 1) * kPitch);
    }
    algo::DescribeBFrost256(sums + algo::kBFrostRadiusPx * kPitch + algo::kBFrostRadiusPx, kPitch,
                            algo::BFrostDirectionOf(points[i].angle_deg),
                            descriptors + static_cast<ptrdiff_t>(i) * algo::kBFrostBytes);
  }
}

bool SumsPixels(const FrameContext& frame, int level) {
  constexpr int64_t kLeastPixels = int64_t{1} << 20;
  constexpr int64_t kPixelsPerPoint = 1024;
  const LevelGeometry& geometry = frame.pipeline.level(level);
  const int64_t pixels = int64_t{geometry.width_px} * geometry.height_px;
  return frame.pipeline.spec.pipeline.describe.descriptor == Descriptor::kBFrost256 &&
         frame.job.given_keypoints == nullptr && pixels >= kLeastPixels &&
         pixels >= kPixelsPerPoint * frame.job.parameters.max_features;
}

std::unique_ptr<Step> MakeBFrost256(const StepSetup& setup) {
  return std::make_unique<BFrost256>(setup);
}

}  // namespace orbserve::cpu
