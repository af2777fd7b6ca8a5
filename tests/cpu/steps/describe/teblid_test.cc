// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/describe/teblid.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "cpu/kernels/kernel_target.h"
#include "features/algo/bfrost.h"
#include "features/algo/teblid.h"

namespace orbserve::cpu {
namespace {

constexpr uint32_t kTeblidSeed = 20262;

// The integral image of noise, with sums from `first` on, and what no read may depend on around it.
class NoiseIntegral {
 public:
  NoiseIntegral(int width_px, int height_px, uint32_t first)
      : width_px_(width_px),
        height_px_(height_px),
        pitch_(IntegralRowEntries(width_px)),
        entries_(static_cast<size_t>(pitch_) * static_cast<size_t>(height_px + 1), 0xA5A5A5A5u) {
    std::mt19937 random(kTeblidSeed);
    std::vector<uint8_t> row(static_cast<size_t>(width_px));
    for (int x = 0; x <= width_px; ++x) view().Row(0)[x] = 0;
    for (int y = 0; y < height_px; ++y) {
      for (uint8_t& pixel : row) pixel = static_cast<uint8_t>(random());
      algo::IntegralRow(row.data(), view().Row(y), width_px, view().Row(y + 1));
    }
    for (int y = 0; y <= height_px; ++y) {
      for (int x = 0; x <= width_px; ++x) view().Row(y)[x] += first;
    }
  }
  IntegralView view() { return {entries_.data() + kIntegralLead, pitch_}; }
  BoxImage image() { return {view(), width_px_, height_px_}; }

 private:
  const int width_px_;
  const int height_px_;
  const ptrdiff_t pitch_;
  std::vector<uint32_t> entries_;
};

// Points all over an image, some outside, with patches of all sizes up to the image's own.
std::vector<PatchPoint> PointsOver(int width_px, int height_px) {
  std::mt19937 random(kTeblidSeed + 1);
  const auto from = [&random](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  std::vector<PatchPoint> points;
  for (int i = 0; i < 600; ++i) {
    const bool whole = i % 3 == 0;
    PatchPoint point = {from(-10.0f, static_cast<float>(width_px) + 10.0f),
                        from(-10.0f, static_cast<float>(height_px) + 10.0f),
                        i % 4 == 0 ? 31.0f : from(algo::kLeastPatchPx, 200.0f),
                        i % 5 == 0 ? -1.0f : from(0.0f, 360.0f)};
    if (whole) {
      point.x = static_cast<float>(static_cast<int>(point.x));
      point.y = static_cast<float>(static_cast<int>(point.y));
    }
    points.push_back(point);
  }
  return points;
}

TEST(TeblidStepTest, EveryTargetEqualsThePlainLoop) {
  for (const auto& [width_px, height_px] : {std::pair<int, int>{640, 480}, {129, 65}, {20, 300}}) {
    // Sums pass 2^31 and 2^32 in the last two.
    for (const uint32_t first : {0u, 0x7fff0000u, 0xffff0000u}) {
      NoiseIntegral integral(width_px, height_px, first);
      const std::vector<PatchPoint> points = PointsOver(width_px, height_px);
      const int count = static_cast<int>(points.size());
      for (const algo::BoxTestSet& set :
           {algo::kTeblid256, algo::kTeblid512, algo::kBeblid256, algo::kBeblid512}) {
        std::vector<uint8_t> expected(points.size() * static_cast<size_t>(set.bytes()));
        ReferenceBoxTests(integral.image(), set, points.data(), count, expected.data());
        for (const KernelTarget& target : SimdTargets()) {
          std::vector<uint8_t> actual(expected.size());
          BoxTestsKernelFor(target)(integral.image(), set, points.data(), count, actual.data());
          ASSERT_EQ(actual, expected) << target.name << " " << width_px << "x" << height_px << ", "
                                      << set.count << " tests";
        }
      }
    }
  }
}

// Boxes of a flat image differ by nothing: the bit tells the sign of the threshold.
TEST(TeblidStepTest, FlatImagesGiveTheSignsOfTheThresholds) {
  constexpr int kSide = 100;
  std::vector<uint32_t> entries(static_cast<size_t>(IntegralRowEntries(kSide) * (kSide + 1)));
  const IntegralView view = {entries.data() + kIntegralLead, IntegralRowEntries(kSide)};
  const std::vector<uint8_t> row(kSide, 200);
  for (int y = 0; y < kSide; ++y) {
    algo::IntegralRow(row.data(), view.Row(y), kSide, view.Row(y + 1));
  }
  std::vector<KernelTarget> targets = SimdTargets();
  targets.push_back(ReferenceTarget());
  for (const algo::BoxTestSet& set :
       {algo::kTeblid256, algo::kTeblid512, algo::kBeblid256, algo::kBeblid512}) {
    for (const KernelTarget& target : targets) {
      for (const PatchPoint& point : {PatchPoint{50, 50, 31, 33}, PatchPoint{2, 98, 31, 33}}) {
        std::vector<uint8_t> descriptor(static_cast<size_t>(set.bytes()));
        BoxTestsKernelFor(target)({view, kSide, kSide}, set, &point, 1, descriptor.data());
        for (int i = 0; i < set.count; ++i) {
          const int bit = descriptor[static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1;
          ASSERT_EQ(bit, set.tests[i].threshold >= 0) << target.name << ", test " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
