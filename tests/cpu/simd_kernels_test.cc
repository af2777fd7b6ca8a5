// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The SIMD kernels of every target against the plain loops: equality of bits. Images are allocated
// with no more around their pixels than the contract allows to be read, so that a sanitizer sees
// any access beyond.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cpu/corner.h"
#include "cpu/integral_view.h"
#include "cpu/kernel_target.h"
#include "cpu/level_point.h"
#include "cpu/sad_score.h"
#include "cpu/steps/describe/bfrost256.h"
#include "cpu/steps/describe/gaussian.h"
#include "cpu/steps/describe/integral.h"
#include "cpu/steps/describe/intensity_centroid.h"
#include "cpu/steps/describe/rbrief256.h"
#include "cpu/steps/describe/rbrief32.h"
#include "cpu/steps/detect/fast.h"
#include "cpu/steps/detect/harris.h"
#include "cpu/steps/pyramid.h"
#include "cpu/window_maximum.h"
#include "features/algo/bfrost.h"
#include "features/algo/pyramid.h"
#include "features/algo/rbrief32.h"
#include "features/algo/sad_score.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "features/pipeline/capacity.h"
#include "features/pipeline/geometry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cpu {

void PrintTo(const Corner& c, std::ostream* os) {
  *os << "(" << c.x << ", " << c.y << "; " << c.score << ")";
}

namespace {

constexpr uint32_t kSeed = 20261;

// An image with exactly the padding of kImagePaddingBytes before its first and after its last
// pixel.
class TestImage {
 public:
  TestImage(int width, int height)
      : pitch_(RoundUp(width, kRowAlignmentBytes)),
        size_(kImagePaddingBytes + static_cast<size_t>(height - 1) * pitch_ + width +
              kImagePaddingBytes),
        // The allocation begins where the padding does, so its base needs the alignment of rows.
        bytes_(static_cast<uint8_t*>(::operator new (size_, std::align_val_t{64}))) {
    std::memset(bytes_.get(), 0xA5, size_);
    view_ = {bytes_.get() + kImagePaddingBytes, width, height, pitch_};
  }

  const MutableImageView& view() const { return view_; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  int pitch_;
  size_t size_;
  std::unique_ptr<uint8_t, Free> bytes_;
  MutableImageView view_;
};

enum class Content { kNoise, kSmooth, kTwoValued, kFlat, kWhite, kCheckers, kLattice, kExtremes };
constexpr Content kContents[] = {Content::kNoise,   Content::kSmooth,  Content::kTwoValued,
                                 Content::kFlat,    Content::kWhite,   Content::kCheckers,
                                 Content::kLattice, Content::kExtremes};

void Fill(Content content, uint32_t seed, const MutableImageView& image) {
  std::mt19937 random(seed);
  for (int y = 0; y < image.height_px; ++y) {
    for (int x = 0; x < image.width_px; ++x) {
      int value = 0;
      switch (content) {
        case Content::kNoise:
          value = static_cast<int>(random() & 255);
          break;
        case Content::kSmooth:  // blobs of some ten pixels, with a little noise
          value = ((x / 11 * 37 + y / 9 * 91) & 127) + ((x * x + 3 * y * y) / 29 & 63) +
                  static_cast<int>(random() % 12);
          break;
        case Content::kTwoValued:
          value = random() % 7 == 0 ? 200 : 60;
          break;
        case Content::kFlat:
          value = 128;
          break;
        case Content::kWhite:
          value = 255;
          break;
        case Content::kCheckers:
          value = ((x ^ y) & 1) * 255;
          break;
        case Content::kLattice:
          value = x % 8 == 3 && y % 7 == 4 ? 255 : 20;
          break;
        case Content::kExtremes:
          value = (random() % 3 == 0) ? 0 : 255;
          break;
      }
      image.Row(y)[x] = static_cast<uint8_t>(value);
    }
  }
}

struct Size {
  int width;
  int height;
};
constexpr Size kSizes[] = {{1, 1},   {2, 1},    {1, 9},    {6, 7},    {7, 7},    {8, 9},
                           {16, 16}, {31, 33},  {63, 40},  {64, 64},  {65, 30},  {70, 50},
                           {95, 21}, {127, 45}, {128, 39}, {129, 41}, {200, 61}, {300, 200}};

std::vector<Region> RegionsOf(Size size) {
  std::vector<Region> regions = {{0, 0, size.width, size.height}};
  std::mt19937 random(kSeed);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<uint32_t>(n));
  };
  for (int i = 0; i < 3; ++i) {
    const int x = below(size.width);
    const int y = below(size.height);
    regions.push_back({x, y, x + 1 + below(size.width - x), y + 1 + below(size.height - y)});
  }
  return regions;
}

template <typename T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : data_(static_cast<T*>(
            ::operator new (static_cast<size_t>(count) * sizeof(T), std::align_val_t{64}))) {}
  ~Scratch() { ::operator delete (data_, std::align_val_t{64}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }

 private:
  T* data_;
};

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

class SimdKernelsTest : public testing::TestWithParam<KernelTarget> {
 protected:
  const KernelTarget& simd() const { return GetParam(); }
};

std::vector<algo::ResizeTap> TapsOf(int source, int destination) {
  std::vector<algo::ResizeTap> taps;
  for (int i = 0; i < destination; ++i) {
    taps.push_back(algo::ResizeTapOf(source, destination, i));
  }
  return taps;
}

std::vector<uint8_t> Resize(ResizeKernel kernel, const ImageView& src, Size to, int row_begin,
                            int row_end) {
  const std::vector<algo::ResizeTap> x_taps = TapsOf(src.width_px, to.width);
  const std::vector<algo::ResizeTap> y_taps = TapsOf(src.height_px, to.height);
  TestImage dst(to.width, to.height);
  Scratch<uint16_t> scratch(static_cast<int64_t>(ResizeScratchBytes(to.width) / sizeof(uint16_t)));
  kernel(src, dst.view(), ResizeAxis::Of(x_taps), y_taps, row_begin, row_end, scratch.data());
  // Padding and rows outside the range are part of the comparison: they must not be written.
  const uint8_t* begin = dst.view().data - kImagePaddingBytes;
  const uint8_t* end = dst.view().Row(to.height - 1) + to.width + kImagePaddingBytes;
  return {begin, end};
}

TEST_P(SimdKernelsTest, ResizedRowsEqualTheReference) {
  for (const Size size : kSizes) {
    TestImage src(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed, src.view());
      for (const double factor : {1.0, 1.01, 1.2, 1.5, 1.99, 2.0, 2.1, 3.0, 4.0, 0.7}) {
        const Size to = {std::max(1, algo::LevelSide(size.width, static_cast<float>(factor))),
                         std::max(1, algo::LevelSide(size.height, static_cast<float>(factor)))};
        const int middle = to.height / 2;
        for (const auto& [begin, end] :
             {std::pair(0, to.height), std::pair(middle, to.height), std::pair(0, middle)}) {
          ASSERT_EQ(Resize(ReferenceResize, src.view(), to, begin, end),
                    Resize(ResizeKernelFor(simd()), src.view(), to, begin, end))
              << size.width << "x" << size.height << " to " << to.width << "x" << to.height
              << ", content " << static_cast<int>(content) << ", rows " << begin << ".." << end;
        }
      }
    }
  }
}

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

TEST_P(SimdKernelsTest, CornersEqualTheReferenceInOrderAndScore) {
  size_t corners = 0;
  for (const Size size : kSizes) {
    TestImage image(size.width, size.height);
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

TEST_P(SimdKernelsTest, CornersOfEveryWindowEqualTheReference) {
  size_t corners[5] = {};
  for (const Size size : kSizes) {
    TestImage image(size.width, size.height);
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

// Which corners of small sums are left out is the kernel's affair; those of large ones are all
// there.
TEST_P(SimdKernelsTest, StrongCornersAreThoseOfLargeSums) {
  size_t strong = 0;
  size_t left_out = 0;
  for (const Size size : kSizes) {
    TestImage image(size.width, size.height);
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
            ReferenceSadArc(image.view(), corners.data(), count, arc_length, threshold,
                            sums.data());
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

TEST_P(SimdKernelsTest, SadScoresEqualTheReference) {
  size_t corners = 0;
  for (const Size size : kSizes) {
    TestImage image(size.width, size.height);
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
            ReferenceSadArc(image.view(), found.data(), number, arc_length, threshold,
                            expected.data());
            SadArcKernelFor(simd())(image.view(), found.data(), number, arc_length, threshold,
                                    actual.data());
            ASSERT_EQ(expected, actual) << "arc " << arc_length << ", threshold " << threshold;
            ReferenceSadCircle(image.view(), found.data(), number, expected.data());
            SadCircleKernelFor(simd())(image.view(), found.data(), number, actual.data());
            ASSERT_EQ(expected, actual) << "circle, threshold " << threshold;
            corners += count;
          }
        }
      }
    }
  }
  EXPECT_GT(corners, 50'000u);
}

TEST_P(SimdKernelsTest, MaximaOfWindowsEqualTheReference) {
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

TEST_P(SimdKernelsTest, CornersOfPartsAreThoseOfTheWhole) {
  TestImage image(300, 200);
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
  EXPECT_THAT(parts, testing::UnorderedElementsAreArray(whole));
}

// Points of every column, so that every phase of a vector occurs, at least `border` inside.
std::vector<LevelPoint> PointsOf(const ImageView& image, int border) {
  std::vector<LevelPoint> points;
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> angle(0.0f, 360.0f);
  const int rows = image.height_px - 2 * border;
  for (int x = border; x < image.width_px - border; ++x) {
    if (rows <= 0) break;
    const int y = border + static_cast<int>(random() % static_cast<uint32_t>(rows));
    points.push_back({static_cast<int16_t>(x), static_cast<int16_t>(y), 0.0f, angle(random)});
  }
  if (rows <= 0 || points.empty()) return points;
  // The four extreme places and the angles at quadrant bounds.
  const auto left = static_cast<int16_t>(border);
  const auto top = left;
  const auto right = static_cast<int16_t>(image.width_px - border - 1);
  const auto bottom = static_cast<int16_t>(image.height_px - border - 1);
  points.push_back({left, top, 0.0f, 0.0f});
  points.push_back({right, top, 0.0f, 45.0f});
  points.push_back({left, bottom, 0.0f, 90.0f});
  points.push_back({right, bottom, 0.0f, -1.0f});
  points.push_back({right, bottom, 0.0f, 359.99997f});
  return points;
}

TEST_P(SimdKernelsTest, HarrisResponsesEqualTheReference) {
  for (const Size size : {Size{9, 9}, {40, 12}, {65, 30}, {300, 200}}) {
    TestImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 2, image.view());
      std::vector<Corner> points;
      for (const LevelPoint& p : PointsOf(image.view(), 4)) points.push_back({p.x, p.y, 1});
      ASSERT_FALSE(points.empty());
      for (int count : {1, 2, 3, 4, 5, static_cast<int>(points.size())}) {
        count = std::min(count, static_cast<int>(points.size()));
        std::vector<float> expected(static_cast<size_t>(count));
        std::vector<float> actual(expected.size());
        ReferenceHarris(image.view(), points.data(), count, expected.data());
        for (const HarrisKernel kernel : {HarrisKernelFor(simd()), DenseHarrisKernelFor(simd())}) {
          std::fill(actual.begin(), actual.end(), -1.0f);
          kernel(image.view(), points.data(), count, actual.data());
          ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0)
              << "content " << static_cast<int>(content) << ", " << count << " points";
        }
      }
    }
  }
}

TEST_P(SimdKernelsTest, AnglesEqualTheReference) {
  for (const Size size : {Size{33, 33}, {65, 40}, {300, 200}}) {
    TestImage image(size.width, size.height);
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

TEST_P(SimdKernelsTest, AnglesOfPatchesEqualTheReference) {
  for (const Size size : {Size{21, 21}, {65, 40}, {300, 200}}) {
    TestImage image(size.width, size.height);
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

TEST_P(SimdKernelsTest, AnglesOfPatchesOfTheLargestMomentsEqualTheReference) {
  // Halves of a white patch, at every phase of the words round it.
  TestImage image(60, 40);
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

TEST_P(SimdKernelsTest, SmoothedPixelsEqualTheReferenceAndNothingElseIsWritten) {
  for (const Size size : kSizes) {
    TestImage image(size.width, size.height);
    for (const Content content : kContents) {
      Fill(content, kSeed + 4, image.view());
      for (const Region& region : RegionsOf(size)) {
        TestImage expected(size.width, size.height);
        TestImage actual(size.width, size.height);
        Scratch<float> scratch(GaussianScratchFloats(region));
        ReferenceGaussian(image.view(), expected.view(), region, scratch.data());
        GaussianKernelFor(simd())(image.view(), actual.view(), region, scratch.data());
        ASSERT_EQ(Difference(expected.view(), actual.view(), {0, 0, size.width, size.height}), "")
            << size.width << "x" << size.height << ", content " << static_cast<int>(content)
            << ", region " << region.x_begin << "," << region.y_begin << ".." << region.x_end << ","
            << region.y_end;
      }
    }
  }
}

TEST_P(SimdKernelsTest, SmoothedStripsWiderThanTheCacheStripEqualTheReference) {
  TestImage image(1100, 20);
  Fill(Content::kNoise, kSeed + 5, image.view());
  for (const Region region : {Region{0, 0, 1100, 20}, Region{3, 2, 1097, 19}}) {
    TestImage expected(1100, 20);
    TestImage actual(1100, 20);
    Scratch<float> scratch(GaussianScratchFloats(region));
    ReferenceGaussian(image.view(), expected.view(), region, scratch.data());
    GaussianKernelFor(simd())(image.view(), actual.view(), region, scratch.data());
    EXPECT_EQ(Difference(expected.view(), actual.view(), {0, 0, 1100, 20}), "");
  }
}

TEST_P(SimdKernelsTest, DescriptorsEqualTheReference) {
  for (const Size size : {Size{45, 45}, {64, 50}, {300, 200}}) {
    TestImage image(size.width, size.height);
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

TEST_P(SimdKernelsTest, IntegralImagesEqualTheReference) {
  for (const Size size : kSizes) {
    TestImage image(size.width, size.height);
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

TEST_P(SimdKernelsTest, ColumnSumsEqualTheReference) {
  for (const Size size : {Size{1, 1}, {63, 300}, {64, 257}, {65, 256}, {300, 600}}) {
    TestImage image(size.width, size.height);
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

TEST_P(SimdKernelsTest, BFrostDescriptorsEqualTheReference) {
  for (const Size size : {Size{89, 89}, {130, 95}, {300, 200}}) {
    TestImage image(size.width, size.height);
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
    }
  }
}

TEST_P(SimdKernelsTest, BFrostSumsSurviveTheOverflowOfTheIntegralImage) {
  TestImage image(300, 200);
  Fill(Content::kSmooth, kSeed, image.view());
  const std::vector<LevelPoint> points = PointsOf(image.view(), algo::kBFrostRadiusPx);
  const int count = static_cast<int>(points.size());
  IntegralImage plain(ReferenceIntegral, image.view(), 0);
  std::vector<uint8_t> expected(points.size() * algo::kBFrostBytes);
  ReferenceBFrost256(plain.view(), points.data(), count, expected.data());
  // As in the lower part of an image so large that its sums have passed 2^32 and 2^31.
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

TEST_P(SimdKernelsTest, RBrief32DescriptorsEqualTheReference) {
  for (const Size size : {Size{9, 9}, {64, 50}, {300, 200}}) {
    TestImage image(size.width, size.height);
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

INSTANTIATE_TEST_SUITE_P(AllTargets, SimdKernelsTest, testing::ValuesIn(SimdTargets()),
                         [](const testing::TestParamInfo<KernelTarget>& target) {
                           return std::string(target.param.name);
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SimdKernelsTest);

TEST(KernelTargetTest, TheFirstSimdTargetIsTheFastest) {
  const std::vector<KernelTarget> all = SimdTargets();
  EXPECT_EQ(FastestTarget(), all.empty() ? ReferenceTarget() : all.front());
}

TEST(KernelTargetTest, EveryTargetHasATwinOfEachKernel) {
  for (const KernelTarget& target : SimdTargets()) {
    SCOPED_TRACE(std::string(target.name));
    EXPECT_NE(ResizeKernelFor(target), &ReferenceResize);
    EXPECT_NE(FastKernelFor(target), &ReferenceFast);
    EXPECT_NE(SadArcKernelFor(target), &ReferenceSadArc);
    EXPECT_NE(SadCircleKernelFor(target), &ReferenceSadCircle);
    EXPECT_NE(WindowMaximumKernelFor(target), &ReferenceWindowMaximum);
    EXPECT_NE(HarrisKernelFor(target), &ReferenceHarris);
    EXPECT_NE(IntensityCentroidKernelFor(target), &ReferenceIntensityCentroid);
    EXPECT_NE(PatchCentroidKernelFor(target), &ReferencePatchCentroid);
    EXPECT_NE(RBrief32KernelFor(target), &ReferenceRBrief32);
    EXPECT_NE(GaussianKernelFor(target), &ReferenceGaussian);
    EXPECT_NE(RBrief256KernelFor(target), &ReferenceRBrief256);
    EXPECT_NE(IntegralKernelFor(target), &ReferenceIntegral);
    EXPECT_NE(ColumnSumsKernelFor(target), &ReferenceColumnSums);
    EXPECT_NE(BFrost256KernelFor(target), &ReferenceBFrost256);
  }
}

TEST(KernelTargetTest, TheReferenceIsThePlainLoops) {
  EXPECT_EQ(ReferenceTarget().name, "reference");
  EXPECT_EQ(ResizeKernelFor(ReferenceTarget()), &ReferenceResize);
  EXPECT_EQ(FastKernelFor(ReferenceTarget()), &ReferenceFast);
  EXPECT_EQ(SadArcKernelFor(ReferenceTarget()), &ReferenceSadArc);
  EXPECT_EQ(SadCircleKernelFor(ReferenceTarget()), &ReferenceSadCircle);
  EXPECT_EQ(WindowMaximumKernelFor(ReferenceTarget()), &ReferenceWindowMaximum);
  EXPECT_EQ(HarrisKernelFor(ReferenceTarget()), &ReferenceHarris);
  EXPECT_EQ(IntensityCentroidKernelFor(ReferenceTarget()), &ReferenceIntensityCentroid);
  EXPECT_EQ(PatchCentroidKernelFor(ReferenceTarget()), &ReferencePatchCentroid);
  EXPECT_EQ(RBrief32KernelFor(ReferenceTarget()), &ReferenceRBrief32);
  EXPECT_EQ(GaussianKernelFor(ReferenceTarget()), &ReferenceGaussian);
  EXPECT_EQ(RBrief256KernelFor(ReferenceTarget()), &ReferenceRBrief256);
  EXPECT_EQ(IntegralKernelFor(ReferenceTarget()), &ReferenceIntegral);
  EXPECT_EQ(ColumnSumsKernelFor(ReferenceTarget()), &ReferenceColumnSums);
  EXPECT_EQ(BFrost256KernelFor(ReferenceTarget()), &ReferenceBFrost256);
}

}  // namespace
}  // namespace orbserve::cpu
