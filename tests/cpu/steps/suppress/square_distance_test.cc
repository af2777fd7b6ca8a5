// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Corners and passes are compared with the oracle's in minimum_distance_test.cc, which has all
// kinds of distances.

#include "cpu/steps/suppress/square_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "cpu/memory/aligned_buffer.h"

namespace orbserve::cpu {
namespace {

TEST(CoarseScaleTest, KeepsTheOrderAndTellsCandidates) {
  constexpr uint32_t kThresholds[] = {0, 5, 0x80000000u, 0xbf800000u, 0xfffffff0u};
  constexpr uint32_t kRanges[] = {0, 1, 2, 65535, 65536, 65537, 100'000, 0x3ffffff, 0x7fffffff};
  std::mt19937 random(1);
  for (const uint32_t threshold : kThresholds) {
    for (const uint32_t range : kRanges) {
      if (range > ~threshold) continue;
      const uint32_t top = threshold + range;
      const CoarseScale scale = CoarseScale::Of(threshold, top);
      EXPECT_EQ(scale.Coarse(0), 0);
      EXPECT_EQ(scale.Coarse(threshold), 0);
      if (range == 0) continue;
      EXPECT_GT(scale.Coarse(threshold + 1), 0);
      EXPECT_LE(scale.Coarse(threshold + 1), range <= 65535 ? 1 : scale.Coarse(top));
      // More than half of the values of 16 bits are used.
      EXPECT_GE(scale.Coarse(top), std::min(range, 32768u));
      std::vector<uint32_t> entries = {threshold + 1, top};
      for (int i = 0; i < 200; ++i) {
        entries.push_back(threshold + 1 + static_cast<uint32_t>(random() % range));
      }
      std::sort(entries.begin(), entries.end());
      for (size_t i = 1; i < entries.size(); ++i) {
        ASSERT_LE(scale.Coarse(entries[i - 1]), scale.Coarse(entries[i]));
        if (range <= 65535) {
          ASSERT_EQ(scale.Coarse(entries[i]), entries[i] - threshold);
        }
      }
    }
  }
}

TEST(SquareDistanceKernelsTest, EveryTargetCoarsensAsTheReferenceDoes) {
  std::mt19937 random(2);
  for (const KernelTarget& target : SimdTargets()) {
    for (const CoarseScale scale :
         {CoarseScale::Of(0x80000000u, 0xffffffffu), CoarseScale::Of(0xc0000000u, 0xc0000001u),
          CoarseScale::Of(0xc0000000u, 0xc3ffffffu), CoarseScale::Of(0xffffffffu, 0)}) {
      for (int count = 0; count <= 100; ++count) {
        const auto room = static_cast<size_t>(count + kCoarseBlock);
        std::vector<uint32_t> row(room);
        for (uint32_t& entry : row) {
          entry = random() % 3 == 0 ? 0 : scale.threshold + static_cast<uint32_t>(random() % 5) - 2;
          // Up to the largest that the scale is made for.
          if (random() % 3 == 0) {
            entry =
                std::min<uint64_t>(0xffffffffu, uint64_t{scale.threshold} +
                                                    random() % (uint64_t{1} << (16 + scale.shift)));
          }
        }
        std::vector<uint16_t> expected(room, 7);
        std::vector<uint16_t> actual(room, 7);
        ReferenceCoarsen(row.data(), count, scale, expected.data());
        CoarsenKernelFor(target)(row.data(), count, scale, actual.data());
        const int written = (count + kCoarseBlock - 1) / kCoarseBlock * kCoarseBlock;
        for (int i = 0; i < static_cast<int>(room); ++i) {
          const auto at = static_cast<size_t>(i);
          if (i < count || i >= written) {
            ASSERT_EQ(actual[at], expected[at]) << target.name << " count " << count << " " << i;
          }
        }
      }
    }
  }
}

// A coarse map of random entries with zeros round it, and what kernels may read beyond.
struct RandomCoarseMap {
  RandomCoarseMap(int width, int height, int reach, int values, std::mt19937* random)
      : pitch((width + reach + kCoarseBlock - 1) / kCoarseBlock * kCoarseBlock),
        entries(static_cast<size_t>(pitch * (height + 2 * reach + kBandRows) + 64)) {
    map = {entries.data() + reach * pitch + reach, pitch};
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const auto value = static_cast<uint32_t>((*random)());
        map.entries[y * pitch + x] =
            value % 4 == 0
                ? uint16_t{0}
                : static_cast<uint16_t>(65535 - value / 4 % static_cast<uint32_t>(values));
      }
    }
  }
  ptrdiff_t pitch;
  std::vector<uint16_t> entries;
  CoarseMap map;
};

std::vector<std::tuple<int, int, int>> MaximaOf(CoarseMaximaKernel kernel, const CoarseMap& map,
                                                int reach, const Region& part) {
  AlignedBuffer scratch;
  EXPECT_TRUE(scratch.Allocate(kBandScratchBytes));
  std::vector<CoarseMaximum> maxima(static_cast<size_t>(part.width() * part.height() + 1));
  maxima.resize(static_cast<size_t>(kernel(map, reach, part, scratch.data(), maxima.data())));
  std::vector<std::tuple<int, int, int>> sorted;
  for (const CoarseMaximum& maximum : maxima) {
    sorted.emplace_back(maximum.y, maximum.x, maximum.has_equal);
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(SquareDistanceKernelsTest, EveryTargetFindsTheMaximaOfTheReference) {
  std::mt19937 random(3);
  for (const int reach : {1, 2, 3, 4, 5, 7, 8, 15, 31, 63}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {5, 40}, {40, 5}, {100, 30}, {700, 9}}) {
      for (const int values : {1, 3, 300, 65000}) {
        const RandomCoarseMap random_map(width, height, reach, values, &random);
        for (int i = 0; i < 8; ++i) {
          Region part;
          part.y_begin = static_cast<int>(random() % static_cast<uint32_t>(height));
          part.x_begin = static_cast<int>(random() % static_cast<uint32_t>(width));
          part.y_end = std::min(part.y_begin + 1 + static_cast<int>(random() % kBandRows), height);
          part.x_end =
              std::min(part.x_begin + 1 + static_cast<int>(random() % kBandColumns), width);
          const auto expected = MaximaOf(ReferenceCoarseMaxima, random_map.map, reach, part);
          for (const KernelTarget& target : SimdTargets()) {
            ASSERT_EQ(MaximaOf(CoarseMaximaKernelFor(target), random_map.map, reach, part),
                      expected)
                << target.name << " reach " << reach << " values " << values << " width " << width;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
