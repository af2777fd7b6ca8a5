// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/suppress/neighbourhood.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "features/algo/order.h"
#include "tests/cpu/steps/step_runner.h"
#include "tests/support/image_makers.h"
#include "tests/support/method_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::Checkerboard;
using ::orbserve::testing::DotLattice;
using ::orbserve::testing::NoiseImage;
using ::orbserve::testing::OracleCornerMap;
using ::orbserve::testing::Plane;
using ::orbserve::testing::PlaneOf;
using ::orbserve::testing::RandomMask;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::orbserve::testing::WindowMaxima;

// The keys that windows leave of one level.
std::vector<uint64_t> Expected(const TestImage& image, const TestImage* mask,
                               const RunnerInput& input) {
  Plane<float> map = OracleCornerMap(PlaneOf(image.view()), input.pipeline.detect.detector);
  const int border = input.pipeline.select.border_px;
  const auto inside = [&](int x, int y) {
    return x >= border && y >= border && x < map.width - border && y < map.height - border;
  };
  float top = 0.0f;
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      if (mask != nullptr && mask->At(x, y) == 0) map.At(x, y) = 0.0f;
      if (inside(x, y)) top = std::max(top, map.At(x, y));
    }
  }
  std::vector<uint64_t> keys;
  for (const auto& [x, y] : WindowMaxima(map, input.pipeline.suppress.window_px)) {
    if (!inside(x, y) || !(map.At(x, y) > input.parameters.quality_level * top)) continue;
    keys.push_back(algo::RankKey(map.At(x, y), x, y));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

TEST(NeighbourhoodStepTest, CornersAreTheOraclesMaximaOfWindows) {
  const TestImage mask = RandomMask(330, 210, 81);
  size_t corners = 0;
  for (const TestImage& image : {SceneImage(330, 210, 82), NoiseImage(330, 210, 83),
                                 DotLattice(330, 210, 9), Checkerboard(330, 210)}) {
    for (const int window : {3, 5, 7, 9}) {
      for (const TestImage* const m : {static_cast<const TestImage*>(nullptr), &mask}) {
        RunnerInput input;
        input.pipeline = (*FindPreset("harris-corners"))->pipeline;
        if (window % 4 == 1) input.pipeline.detect.detector = Detector::kShiTomasi;
        input.pipeline.suppress.suppression = Suppression::kNeighbourhood;
        input.pipeline.suppress.window_px = window;
        input.pipeline.select.border_px = window == 7 ? 11 : 4;
        input.mask = m;
        const std::vector<uint64_t> expected = Expected(image, m, input);
        corners += expected.size();
        for (const RunnerVariant& variant : AllRunnerVariants()) {
          SCOPED_TRACE(Describe(variant));
          StepRunner runner(image, variant.target, variant.threads, input);
          runner.RunUntil("survivors");
          ASSERT_EQ(runner.SortedKeys(0), expected) << "window " << window;
        }
      }
    }
  }
  EXPECT_GT(corners, 1000u);
}

TEST(NeighbourhoodStepTest, ResponsesBeyondTheBorderSuppress) {
  // A strong corner in the border, a weak one beside it inside the region.
  TestImage image(60, 60);
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 12; ++x) image.At(x, y) = 200;
  }
  RunnerInput input;
  input.pipeline = (*FindPreset("harris-corners"))->pipeline;
  input.pipeline.suppress.suppression = Suppression::kNeighbourhood;
  input.pipeline.suppress.window_px = 9;
  for (const int border : {4, 14}) {
    input.pipeline.select.border_px = border;
    const std::vector<uint64_t> expected = Expected(image, nullptr, input);
    EXPECT_EQ(expected.empty(), border == 14);
    for (const RunnerVariant& variant : AllRunnerVariants()) {
      StepRunner runner(image, variant.target, variant.threads, input);
      runner.RunUntil("survivors");
      EXPECT_EQ(runner.SortedKeys(0), expected) << Describe(variant);
    }
  }
}

// Every kernel against the plain loop on rows of all lengths, with ties.
TEST(PeaksKernelTest, EveryTargetFindsThePeaksOfTheReference) {
  std::mt19937 random(84);
  for (const KernelTarget& target : SimdTargets()) {
    const PeaksKernel kernel = PeaksKernelFor(target);
    for (int count = 1; count < 90; ++count) {
      for (const uint32_t values : {2u, 5u, 1000u}) {
        std::vector<uint32_t> rows[3];
        for (std::vector<uint32_t>& row : rows) {
          row.resize(static_cast<size_t>(count + kMapRowSlack));
          for (uint32_t& entry : row) {
            entry = random() % 3 == 0 ? 0 : 0x80000000u + random() % values;
          }
        }
        const uint32_t threshold = random() % 2 == 0 ? 0 : 0x80000000u + values / 3;
        std::vector<uint16_t> expected(static_cast<size_t>(count + kMapRowSlack));
        std::vector<uint16_t> actual(expected.size());
        const int number = ReferencePeaks(rows[0].data(), rows[1].data(), rows[2].data(), count,
                                          threshold, expected.data());
        ASSERT_EQ(
            kernel(rows[0].data(), rows[1].data(), rows[2].data(), count, threshold, actual.data()),
            number)
            << target.name << " count " << count;
        expected.resize(static_cast<size_t>(number));
        actual.resize(static_cast<size_t>(number));
        EXPECT_EQ(actual, expected) << target.name << " count " << count;
      }
    }
  }
}

TEST(PeaksKernelTest, EveryTargetFindsThePeaksOfAPart) {
  constexpr int kPitch = 112;
  constexpr int kHeight = 40;
  std::mt19937 random(85);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<uint32_t>(n));
  };
  size_t peaks = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<uint32_t> map(static_cast<size_t>(kPitch * kHeight + kMapRowSlack));
    const uint32_t values = round % 3 == 0 ? 2 : 1000;
    for (uint32_t& entry : map) {
      entry = random() % 3 == 0 ? 0 : 0x80000000u + random() % values;
    }
    // Entries outside the region are there, and must not matter.
    const int left = below(6);
    const int top = below(6);
    const Region region = {left, top, left + 1 + below(kPitch - left),
                           top + 1 + below(kHeight - top)};
    const int x = region.x_begin + below(region.width());
    const int y = region.y_begin + below(region.height());
    const int radius = 1 + below(30);
    const Region part = {std::max(x - radius, region.x_begin), std::max(y - radius, region.y_begin),
                         std::min(x + radius + 1, region.x_end),
                         std::min(y + radius + 1, region.y_end)};
    // The plain loop over whole rows, cut to the part.
    std::vector<std::pair<int, int>> expected;
    for (int v = part.y_begin; v < part.y_end; ++v) {
      const uint32_t* const row = map.data() + v * kPitch + region.x_begin;
      std::vector<uint16_t> columns(static_cast<size_t>(region.width()));
      columns.resize(static_cast<size_t>(ReferencePeaks(
          v > region.y_begin ? row - kPitch : row, row, v + 1 < region.y_end ? row + kPitch : row,
          region.width(), 0, columns.data())));
      for (const uint16_t column : columns) {
        const int u = region.x_begin + column;
        if (part.Holds(u, v)) expected.emplace_back(u, v);
      }
    }
    std::vector<PeaksOfPartKernel> kernels = {&ReferencePeaksOfPart};
    for (const KernelTarget& target : SimdTargets()) {
      kernels.push_back(PeaksOfPartKernelFor(target));
    }
    for (const PeaksOfPartKernel kernel : kernels) {
      std::vector<MapPlace> found(static_cast<size_t>(part.width() * part.height()));
      found.resize(static_cast<size_t>(kernel(map.data(), kPitch, region, part, 0, found.data())));
      std::vector<std::pair<int, int>> actual;
      for (const MapPlace& place : found) actual.emplace_back(place.x, place.y);
      ASSERT_THAT(actual, ::testing::UnorderedElementsAreArray(expected)) << "round " << round;
    }
    peaks += expected.size();
  }
  EXPECT_GT(peaks, 10'000u);
}

}  // namespace
}  // namespace orbserve::cpu
