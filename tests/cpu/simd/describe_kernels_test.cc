// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The SIMD kernels of smoothing, angles and descriptors against the plain loops.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cpu/frame/integral_view.h"
#include "cpu/frame/level_point.h"
#include "cpu/steps/describe/bfrost256.h"
#include "cpu/steps/describe/gaussian.h"
#include "cpu/steps/describe/integral.h"
#include "cpu/steps/describe/intensity_centroid.h"
#include "cpu/steps/describe/rbrief256.h"
#include "cpu/steps/describe/rbrief32.h"
#include "features/algo/bfrost.h"
#include "features/algo/rbrief32.h"
#include "features/host_device.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd/kernel_testing.h"

namespace orbserve::cpu {

namespace {

using DescribeKernelsTest = SimdKernelTest;

// First differing pixel of two images, empty when there is none.
std::string Difference(const ImageView& expected, const ImageView& actual, const Region& region) {
  for (int y = region.y_begin; y < region.y_end; ++y) {
    for (int x = region.x_begin; x < region.x_end; ++x) {
      if (expected.Row(y)[x] != actual.Row(y)[x]) {
        return absl::StrCat("x ", x, " y ", y, ": expected ", expected.Row(y)[x], ", got ",
                            actual.Row(y)[x]);
      }
    }
  }
  return "";
}

TEST_P(DescribeKernelsTest, AnglesEqualTheReference) {
  for (const Size size : {Size{33, 33}, {65, 40}, {300, 200}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 3, image.view());
      std::vector<LevelPoint> expected = PointsOf(image.view(), 16);
      std::vector<LevelPoint> actual = expected;
      const int count = static_cast<int>(expected.size());
      ASSERT_GT(count, 0);
      ReferenceIntensityCentroid(image.view(), expected.data(), count);
      IntensityCentroidKernelFor(simd())(image.view(), actual.data(), count);
      ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(LevelPoint)),
                0)
          << size.width << "x" << size.height << ", content " << static_cast<int>(content);
    }
  }
}

TEST_P(DescribeKernelsTest, AnglesOfPatchesEqualTheReference) {
  for (const Size size : {Size{21, 21}, {65, 40}, {300, 200}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 3, image.view());
      std::vector<LevelPoint> expected = PointsOf(image.view(), 10);
      std::vector<LevelPoint> actual = expected;
      const int count = static_cast<int>(expected.size());
      ASSERT_GT(count, 0);
      ReferencePatchCentroid(image.view(), expected.data(), count);
      PatchCentroidKernelFor(simd())(image.view(), actual.data(), count);
      ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(LevelPoint)),
                0)
          << size.width << "x" << size.height << ", content " << static_cast<int>(content);
    }
  }
}

TEST_P(DescribeKernelsTest, AnglesOfPatchesOfTheLargestMomentsEqualTheReference) {
  // Halves of a white patch, at every phase of the words round it.
  PaddedImage image(60, 40);
  for (int half = 0; half < 4; ++half) {
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 60; ++x) {
        const bool white = half == 0 ? x > 30 : half == 1 ? x <= 30 : half == 2 ? y >= 20 : y < 20;
        image.view().Row(y)[x] = white ? 255 : 0;
      }
    }
    std::vector<LevelPoint> expected;
    for (int y = 10; y < 30; ++y) {
      for (int x = 10; x < 50; ++x) {
        expected.push_back({static_cast<int16_t>(x), static_cast<int16_t>(y), 0.0f, -1.0f});
      }
    }
    std::vector<LevelPoint> actual = expected;
    const int count = static_cast<int>(expected.size());
    ReferencePatchCentroid(image.view(), expected.data(), count);
    PatchCentroidKernelFor(simd())(image.view(), actual.data(), count);
    ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(LevelPoint)), 0)
        << half;
  }
}

// Both filters: their references and what chooses their twins.
constexpr std::pair<GaussianKernel, GaussianKernel (*)(const KernelTarget&)> kFilters[] = {
    {ReferenceGaussian, GaussianKernelFor}, {ReferenceFixedGaussian, FixedGaussianKernelFor}};

TEST_P(DescribeKernelsTest, SmoothedPixelsEqualTheReferenceAndNothingElseIsWritten) {
  for (const Size size : kSizes) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 4, image.view());
      for (const Region& region : RegionsOf(size)) {
        for (const auto& [reference, twin_for] : kFilters) {
          PaddedImage expected(size.width, size.height);
          PaddedImage actual(size.width, size.height);
          Scratch<float> scratch(GaussianScratchFloats(region));
          reference(image.view(), expected.view(), region, scratch.data());
          twin_for(simd())(image.view(), actual.view(), region, scratch.data());
          ASSERT_EQ(Difference(expected.view(), actual.view(), {0, 0, size.width, size.height}), "")
              << size.width << "x" << size.height << ", content " << static_cast<int>(content)
              << ", region " << region.x_begin << "," << region.y_begin << ".." << region.x_end
              << "," << region.y_end;
        }
      }
    }
  }
}

TEST_P(DescribeKernelsTest, SmoothedStripsWiderThanTheCacheStripEqualTheReference) {
  PaddedImage image(1100, 20);
  Fill(Content::kNoise, kSeed + 5, image.view());
  for (const Region region : {Region{0, 0, 1100, 20}, Region{3, 2, 1097, 19}}) {
    for (const auto& [reference, twin_for] : kFilters) {
      PaddedImage expected(1100, 20);
      PaddedImage actual(1100, 20);
      Scratch<float> scratch(GaussianScratchFloats(region));
      reference(image.view(), expected.view(), region, scratch.data());
      twin_for(simd())(image.view(), actual.view(), region, scratch.data());
      EXPECT_EQ(Difference(expected.view(), actual.view(), {0, 0, 1100, 20}), "");
    }
  }
}

TEST_P(DescribeKernelsTest, DescriptorsEqualTheReference) {
  for (const Size size : {Size{45, 45}, {64, 50}, {300, 200}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 6, image.view());
      const std::vector<LevelPoint> points = PointsOf(image.view(), 22);
      const int count = static_cast<int>(points.size());
      ASSERT_GT(count, 0);
      std::vector<uint8_t> expected(points.size() * 32);
      std::vector<uint8_t> actual(expected.size());
      ReferenceRBrief256(image.view(), points.data(), count, expected.data());
      RBrief256KernelFor(simd())(image.view(), points.data(), count, actual.data());
      ASSERT_EQ(expected, actual) << size.width << "x" << size.height << ", content "
                                  << static_cast<int>(content);
    }
  }
}

// An integral image with its row 0, from `kernel` in two parts, with the entries that its rows have
// beyond the width.
class IntegralImage {
 public:
  IntegralImage(IntegralKernel kernel, const ImageView& image, int split)
      : pitch_(RoundUp<ptrdiff_t>(IntegralRowEntries(image.width_px), 16)),
        memory_(pitch_ * (image.height_px + 1)) {
    std::fill_n(memory_.data(), pitch_ * (image.height_px + 1), 0xA5A5A5A5u);
    std::fill_n(view().Row(0), IntegralRowEntries(image.width_px) - kIntegralLead, 0u);
    kernel(image, 0, split, view().Row(0), view().Row(1), pitch_);
    kernel(image, split, image.height_px, view().Row(split), view().Row(split + 1), pitch_);
  }
  IntegralView view() { return {memory_.data() + kIntegralLead, pitch_}; }

 private:
  ptrdiff_t pitch_;
  Scratch<uint32_t> memory_;
};

TEST_P(DescribeKernelsTest, IntegralImagesEqualTheReference) {
  for (const Size size : kSizes) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 7, image.view());
      const int split = size.height / 3;
      IntegralImage expected(ReferenceIntegral, image.view(), split);
      IntegralImage actual(IntegralKernelFor(simd()), image.view(), split);
      for (int y = 0; y <= size.height; ++y) {
        ASSERT_EQ(std::memcmp(expected.view().Row(y), actual.view().Row(y),
                              (static_cast<size_t>(size.width) + 1) * sizeof(uint32_t)),
                  0)
            << size.width << "x" << size.height << ", content " << static_cast<int>(content)
            << ", row " << y;
      }
    }
  }
}

TEST_P(DescribeKernelsTest, ColumnSumsEqualTheReference) {
  for (const Size size : {Size{1, 1}, {63, 300}, {64, 257}, {65, 256}, {300, 600}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 8, image.view());
      for (const int begin : {0, size.height / 2}) {
        const auto columns = static_cast<size_t>(size.width);
        Scratch<uint32_t> expected(RoundUp(size.width, 64));
        Scratch<uint32_t> actual(RoundUp(size.width, 64));
        ReferenceColumnSums(image.view(), begin, size.height, expected.data());
        ColumnSumsKernelFor(simd())(image.view(), begin, size.height, actual.data());
        ASSERT_EQ(std::memcmp(expected.data(), actual.data(), columns * sizeof(uint32_t)), 0)
            << size.width << "x" << size.height << ", content " << static_cast<int>(content);
      }
    }
  }
}

TEST_P(DescribeKernelsTest, BFrostDescriptorsEqualTheReference) {
  for (const Size size : {Size{89, 89}, {130, 95}, {300, 200}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 9, image.view());
      IntegralImage integral(ReferenceIntegral, image.view(), 0);
      const std::vector<LevelPoint> points = PointsOf(image.view(), algo::kBFrostRadiusPx);
      ASSERT_FALSE(points.empty());
      std::vector<uint8_t> expected(points.size() * algo::kBFrostBytes);
      std::vector<uint8_t> actual(expected.size());
      const int count = static_cast<int>(points.size());
      ReferenceBFrost256(integral.view(), points.data(), count, expected.data());
      BFrost256KernelFor(simd())(integral.view(), points.data(), count, actual.data());
      ASSERT_EQ(expected, actual) << size.width << "x" << size.height << ", content "
                                  << static_cast<int>(content);
      for (const BFrost256OfPixelsKernel kernel :
           {&ReferenceBFrost256OfPixels, BFrost256OfPixelsKernelFor(simd())}) {
        std::fill(actual.begin(), actual.end(), uint8_t{0});
        kernel(image.view(), points.data(), count, actual.data());
        ASSERT_EQ(expected, actual)
            << size.width << "x" << size.height << ", content " << static_cast<int>(content);
      }
    }
  }
}

TEST_P(DescribeKernelsTest, BFrostSumsSurviveTheOverflowOfTheIntegralImage) {
  PaddedImage image(300, 200);
  Fill(Content::kSmooth, kSeed, image.view());
  const std::vector<LevelPoint> points = PointsOf(image.view(), algo::kBFrostRadiusPx);
  const int count = static_cast<int>(points.size());
  IntegralImage plain(ReferenceIntegral, image.view(), 0);
  std::vector<uint8_t> expected(points.size() * algo::kBFrostBytes);
  ReferenceBFrost256(plain.view(), points.data(), count, expected.data());
  // Sums of the lower part of an image so large that they have passed 2^32 and 2^31.
  for (const uint32_t offset : {0u - 5'000'000u, 0x80000000u - 5'000'000u}) {
    IntegralImage shifted(ReferenceIntegral, image.view(), 0);
    for (int y = 0; y <= 200; ++y) {
      for (int x = 0; x <= 300; ++x) shifted.view().Row(y)[x] += offset;
    }
    for (const BFrost256Kernel kernel : {&ReferenceBFrost256, BFrost256KernelFor(simd())}) {
      std::vector<uint8_t> actual(expected.size());
      kernel(shifted.view(), points.data(), count, actual.data());
      ASSERT_EQ(expected, actual) << offset;
    }
  }
}

TEST_P(DescribeKernelsTest, RBrief32DescriptorsEqualTheReference) {
  for (const Size size : {Size{9, 9}, {64, 50}, {300, 200}}) {
    PaddedImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 7, image.view());
      // Given keypoints come as near to the border as the turned pattern allows.
      const std::vector<LevelPoint> points = PointsOf(image.view(), algo::kRBrief32RadiusPx);
      const int count = static_cast<int>(points.size());
      ASSERT_GT(count, 0);
      std::vector<uint8_t> expected(points.size() * 4);
      std::vector<uint8_t> actual(expected.size());
      ReferenceRBrief32(image.view(), points.data(), count, expected.data());
      RBrief32KernelFor(simd())(image.view(), points.data(), count, actual.data());
      ASSERT_EQ(expected, actual) << size.width << "x" << size.height << ", content "
                                  << static_cast<int>(content);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, DescribeKernelsTest, ::testing::ValuesIn(SimdTargets()),
                         NameOfTarget);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DescribeKernelsTest);

}  // namespace
}  // namespace orbserve::cpu
