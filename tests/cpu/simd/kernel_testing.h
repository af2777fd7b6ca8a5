// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Parts that tests of SIMD kernels share: images, points, buffers and a suite with a test for each
// target. Images are allocated with no more around their pixels than the contract allows to be
// read, so a sanitizer sees any access beyond.

#ifndef ORBSERVE_TESTS_CPU_SIMD_KERNEL_TESTING_H_
#define ORBSERVE_TESTS_CPU_SIMD_KERNEL_TESTING_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "cpu/frame/level_point.h"
#include "cpu/kernels/kernel_target.h"
#include "features/host_device.h"
#include "features/image_view.h"
#include "features/pipeline/geometry.h"
#include "gtest/gtest.h"

namespace orbserve::cpu {

// Compares SIMD kernels of one target with the plain loops: equality of bits.
class SimdKernelTest : public ::testing::TestWithParam<KernelTarget> {
 protected:
  const KernelTarget& simd() const { return GetParam(); }
};

inline std::string NameOfTarget(const ::testing::TestParamInfo<KernelTarget>& target) {
  return std::string(target.param.name);
}

inline constexpr uint32_t kSeed = 20261;

// An image with exactly the padding of kImagePaddingBytes before its first and after its last
// pixel.
class PaddedImage {
 public:
  PaddedImage(int width, int height)
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
inline constexpr Content kContents[] = {Content::kNoise,   Content::kSmooth,  Content::kTwoValued,
                                        Content::kFlat,    Content::kWhite,   Content::kCheckers,
                                        Content::kLattice, Content::kExtremes};

inline void Fill(Content content, uint32_t seed, const MutableImageView& image) {
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
inline constexpr Size kSizes[] = {{1, 1},   {2, 1},    {1, 9},    {6, 7},    {7, 7},    {8, 9},
                                  {16, 16}, {31, 33},  {63, 40},  {64, 64},  {65, 30},  {70, 50},
                                  {95, 21}, {127, 45}, {128, 39}, {129, 41}, {200, 61}, {300, 200}};

inline std::vector<Region> RegionsOf(Size size) {
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

// Points of every column, so that every phase of a vector occurs, at least `border` inside.
inline std::vector<LevelPoint> PointsOf(const ImageView& image, int border) {
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

}  // namespace orbserve::cpu

#endif  // ORBSERVE_TESTS_CPU_SIMD_KERNEL_TESTING_H_
