// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The SIMD kernels of corners, scores and windows against the plain loops.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "cpu/frame/corner.h"
#include "cpu/kernels/corner_responses.h"
#include "cpu/kernels/window_maximum.h"
#include "cpu/steps/detect/fast.h"
#include "cpu/steps/detect/harris.h"
#include "features/algo/sad_score.h"
#include "features/pipeline/capacity.h"
#include "features/pipeline/geometry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd/kernel_testing.h"

namespace orbserve::cpu {

void PrintTo(const Corner& c, std::ostream* os) {
  *os << "(" << c.x << ", " << c.y << "; " << c.score << ")";
}

namespace {

using DetectKernelsTest = SimdKernelTest;

std::vector<Corner> Corners(FastKernel kernel, const ImageView& image, const Region& region,
                            int arc_length, int threshold, int radius = 1) {
  const int64_t most = radius > 0 ? MaxCorners(region) : region.width() * region.height();
  std::vector<Corner> out(static_cast<size_t>(most + kCornerSlack));
  Scratch<uint8_t> scratch(FastScratchBytes(region, radius));
  const int count =
      kernel(image, region, arc_length, threshold, radius, scratch.data(), out.data());
  out.resize(static_cast<size_t>(count));
  return out;
}

TEST_P(DetectKernelsTest, CornersEqualTheReferenceInOrderAndScore) {
  size_t corners = 0;
  for (const Size size : kSizes) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 1, image.view());
      for (const Region& region : RegionsOf(size)) {
        for (const int arc_length : {9, 10, 11, 12}) {
          for (const int threshold : {1, 7, 20, 100, 253, 254}) {
            const auto expected =
                Corners(ReferenceFast, image.view(), region, arc_length, threshold);
            corners += expected.size();
            ASSERT_EQ(expected,
                      Corners(FastKernelFor(simd()), image.view(), region, arc_length, threshold))
                << size.width << "x" << size.height << ", content " << static_cast<int>(content)
                << ", arc " << arc_length << ", threshold " << threshold << ", region "
                << region.x_begin << "," << region.y_begin << ".." << region.x_end << ","
                << region.y_end;
          }
        }
      }
    }
  }
  EXPECT_GT(corners, 10'000u);  // the contents do have corners to disagree on
}

TEST_P(DetectKernelsTest, CornersOfEveryWindowEqualTheReference) {
  size_t corners[5] = {};
  for (const Size size : kSizes) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 1, image.view());
      for (const Region& region : RegionsOf(size)) {
        for (const auto& [arc_length, threshold] :
             {std::pair(9, 1), std::pair(10, 20), std::pair(11, 100), std::pair(12, 7)}) {
          for (const int radius : {0, 2, 3, 4}) {
            const auto expected =
                Corners(ReferenceFast, image.view(), region, arc_length, threshold, radius);
            corners[radius] += expected.size();
            ASSERT_EQ(expected, Corners(FastKernelFor(simd()), image.view(), region, arc_length,
                                        threshold, radius))
                << size.width << "x" << size.height << ", content " << static_cast<int>(content)
                << ", arc " << arc_length << ", threshold " << threshold << ", radius " << radius
                << ", region " << region.x_begin << "," << region.y_begin << ".." << region.x_end
                << "," << region.y_end;
          }
        }
      }
    }
  }
  EXPECT_GT(corners[0], 50'000u);
  for (const int radius : {2, 3, 4}) EXPECT_GT(corners[radius], 1'000u);
}

// A kernel may leave out any corners of small sums; those of large ones are all
// there.
TEST_P(DetectKernelsTest, StrongCornersAreThoseOfLargeSums) {
  size_t strong = 0;
  size_t left_out = 0;
  for (const Size size : kSizes) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 7, image.view());
      const Region region = {0, 0, size.width, size.height};
      for (const auto& [arc_length, threshold] :
           {std::pair(9, 1), std::pair(10, 10), std::pair(11, 60), std::pair(12, 7)}) {
        for (const int least_sum : {0, 200, 481, 1000, 1601, 2500, algo::kMaxSadScore}) {
          const auto with_large_sums = [&](StrongFastKernel kernel) {
            std::vector<Corner> corners(
                static_cast<size_t>(size.width * size.height + kCornerSlack));
            Scratch<uint8_t> scratch(FastScratchBytes(region, 0));
            const int count = kernel(image.view(), region, arc_length, threshold, least_sum,
                                     scratch.data(), corners.data());
            std::vector<float> sums(static_cast<size_t>(count));
            ReferenceResponses<Score::kSadArc>(image.view(), corners.data(), count,
                                               {arc_length, threshold}, sums.data());
            std::vector<Corner> large;
            for (int i = 0; i < count; ++i) {
              if (sums[static_cast<size_t>(i)] >= static_cast<float>(least_sum)) {
                large.push_back(corners[static_cast<size_t>(i)]);
              }
            }
            return std::pair(large, static_cast<size_t>(count));
          };
          const auto [expected, all] = with_large_sums(ReferenceStrongFast);
          const auto [actual, found] = with_large_sums(StrongFastKernelFor(simd()));
          ASSERT_EQ(actual, expected)
              << size.width << "x" << size.height << ", content " << static_cast<int>(content)
              << ", arc " << arc_length << ", threshold " << threshold << ", sum " << least_sum;
          strong += expected.size();
          left_out += all - found;
        }
      }
    }
  }
  EXPECT_GT(strong, 50'000u);
  EXPECT_GT(left_out, 50'000u);
}

TEST_P(DetectKernelsTest, ScoresOfTheRingEqualTheReference) {
  size_t corners = 0;
  for (const Size size : kSizes) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 6, image.view());
      for (const int arc_length : {9, 10, 11, 12}) {
        for (const int threshold : {1, 10, 60, 200, 254}) {
          // Those beside the border, too: their rings end with the image.
          const std::vector<Corner> found =
              Corners(ReferenceFast, image.view(), {0, 0, size.width, size.height}, arc_length,
                      threshold, /*radius=*/0);
          for (const size_t count : {found.size(), std::min<size_t>(found.size(), 3)}) {
            std::vector<float> expected(count + 1, -1.0f);
            std::vector<float> actual = expected;
            const int number = static_cast<int>(count);
            for (const Score score : AllOf<Score>()) {
              if (algo::FactsOf(score).source != algo::ScoreSource::kRing) continue;
              const auto respond = [&](const KernelTarget& target, std::vector<float>* responses) {
                ResponseKernelFor(score, target)(image.view(), found.data(), number,
                                                 {arc_length, threshold}, responses->data());
              };
              respond(ReferenceTarget(), &expected);
              respond(simd(), &actual);
              ASSERT_EQ(expected, actual)
                  << EnumName(score) << ", arc " << arc_length << ", threshold " << threshold;
            }
            corners += count;
          }
        }
      }
    }
  }
  EXPECT_GT(corners, 50'000u);
}

TEST_P(DetectKernelsTest, MaximaOfWindowsEqualTheReference) {
  std::mt19937 random(kSeed);
  size_t maxima = 0;
  size_t fallen = 0;
  for (int round = 0; round < 400; ++round) {
    const int width = 1 + static_cast<int>(random() % 90);
    const int height = 1 + static_cast<int>(random() % 16);
    const ptrdiff_t pitch = RoundUp(width + 2 * kResponseMargin, kResponseMargin);
    std::vector<float> memory(static_cast<size_t>(pitch * (height + 2 * kResponseMarginRows)));
    const ResponseRows map = {memory.data() + kResponseMarginRows * pitch + kResponseMargin,
                              pitch,
                              7,
                              1000,
                              width,
                              height};
    // Few different values, so that neighbours are equal; sparse and dense maps.
    const uint32_t values = 1 + random() % 9;
    const uint32_t spacing = 1 + random() % 30;
    std::vector<Corner> corners;
    std::vector<float> responses;
    for (int y = map.y0; y < map.y0 + height; ++y) {
      for (int x = map.x0; x < map.x0 + width; ++x) {
        if (random() % spacing != 0) continue;
        const float value = static_cast<float>(random() % values) * 1e-7f;
        *map.At(x, y) = value;
        corners.push_back({static_cast<int16_t>(x), static_cast<int16_t>(y), 1});
        responses.push_back(value);
      }
    }
    const Columns columns = {map.x0 + static_cast<int>(random() % 3),
                             map.x0 + width - static_cast<int>(random() % 3)};
    for (const int radius : {1, 2, 3, 4}) {
      const auto keep = [&](WindowMaximumKernel kernel) {
        std::vector<uint64_t> keys(corners.size() + 1);
        keys.resize(
            static_cast<size_t>(kernel(map, columns, corners.data(), responses.data(),
                                       static_cast<int>(corners.size()), radius, keys.data())));
        return keys;
      };
      const std::vector<uint64_t> expected = keep(ReferenceWindowMaximum);
      ASSERT_EQ(expected, keep(WindowMaximumKernelFor(simd())))
          << "round " << round << ", radius " << radius;
      maxima += expected.size();
      fallen += corners.size() - expected.size();
    }
  }
  EXPECT_GT(maxima, 5'000u);
  EXPECT_GT(fallen, 5'000u);
}

TEST_P(DetectKernelsTest, CornersOfPartsAreThoseOfTheWhole) {
  PaddedImage image(300, 200);
  Fill(Content::kSmooth, kSeed, image.view());
  const std::vector<Corner> whole =
      Corners(FastKernelFor(simd()), image.view(), {0, 0, 300, 200}, 9, 5);
  ASSERT_FALSE(whole.empty());
  std::vector<Corner> parts;
  for (int y = 0; y < 200; y += 23) {
    for (int x = 0; x < 300; x += 77) {
      const Region region = {x, y, std::min(x + 77, 300), std::min(y + 23, 200)};
      for (const Corner& c : Corners(FastKernelFor(simd()), image.view(), region, 9, 5))
        parts.push_back(c);
    }
  }
  EXPECT_THAT(parts, ::testing::UnorderedElementsAreArray(whole));
}

TEST_P(DetectKernelsTest, HarrisResponsesEqualTheReference) {
  for (const Size size : {Size{9, 9}, {40, 12}, {65, 30}, {300, 200}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 2, image.view());
      std::vector<Corner> points;
      for (const LevelPoint& p : PointsOf(image.view(), 4)) points.push_back({p.x, p.y, 1});
      ASSERT_FALSE(points.empty());
      for (int count : {1, 2, 3, 4, 5, static_cast<int>(points.size())}) {
        count = std::min(count, static_cast<int>(points.size()));
        std::vector<float> expected(static_cast<size_t>(count));
        std::vector<float> actual(expected.size());
        ReferenceResponses<Score::kHarris>(image.view(), points.data(), count, {}, expected.data());
        for (const ResponseKernel kernel :
             {HarrisKernelFor(simd()), ResponseKernelFor(Score::kHarris, simd())}) {
          std::fill(actual.begin(), actual.end(), -1.0f);
          kernel(image.view(), points.data(), count, {}, actual.data());
          ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
              << "content " << static_cast<int>(content) << ", " << count << " points";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, DetectKernelsTest, ::testing::ValuesIn(SimdTargets()),
                         NameOfTarget);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DetectKernelsTest);

}  // namespace
}  // namespace orbserve::cpu
