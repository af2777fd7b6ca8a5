// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Golden values are those of OpenCV 4.6.0 (getGaussianKernel, hal::exp32f, hal::fastAtan32f) and of
// glibc 2.36 (powf) on a processor with AVX2 and FMA. Whole images: sift_parity.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_extremum.h"
#include "features/algo/sift_functions.h"
#include "features/algo/sift_order.h"
#include "features/algo/sift_orientation.h"
#include "features/algo/sift_scale_space.h"

namespace orbserve::algo {
namespace {

TEST(SiftFunctionsTest, ExponentialsAreThoseOfOpenCv) {
  EXPECT_EQ(SiftExp(-0x1.81d7dcp-5f), 0x1.e871a2p-1f);
  EXPECT_EQ(SiftExp(-0x1.f47aep-1f), 0x1.8147d4p-2f);
  EXPECT_EQ(SiftExp(-0x1.8c2c3ap+1f), 0x1.72db2p-5f);
  EXPECT_EQ(SiftExp(-0x1.da57a6p+2f), 0x1.3cc6d6p-11f);
  EXPECT_EQ(SiftExp(-0x1.22d288p+4f), 0x1.b6ac02p-27f);
  EXPECT_EQ(SiftExp(-0x1.0d851ep+5f), 0x1.50c45ap-49f);
  for (float x = -40.0f; x <= 0.0f; x += 0.0137f) {
    EXPECT_NEAR(SiftExp(x) / std::exp(static_cast<double>(x)), 1.0, 4e-6) << x;
  }
}

TEST(SiftFunctionsTest, AnglesHaveTwoForms) {
  EXPECT_EQ(SiftAngleDegrees(9.0f, 8.5f, true), 0x1.7507aap+5f);
  EXPECT_EQ(SiftAngleDegrees(28.5f, -2.5f, true), 0x1.7c0cap+6f);
  EXPECT_EQ(SiftAngleDegrees(-22.5f, -13.5f, true), 0x1.de1472p+7f);
  EXPECT_EQ(SiftAngleDegrees(-3.0f, -24.5f, true), 0x1.75f5e8p+7f);
  EXPECT_EQ(SiftAngleDegrees(0.0f, 0.0f, true), 0.0f);
  EXPECT_EQ(SiftAngleDegrees(1.0f, 0.0f, true), 90.0f);
  EXPECT_EQ(SiftAngleDegrees(0.0f, -1.0f, true), 180.0f);
  EXPECT_EQ(SiftAngleDegrees(-1.0f, 0.0f, true), 270.0f);
}

TEST(SiftFunctionsTest, PowersOfTwoAreThoseOfGlibc) {
  EXPECT_EQ(SiftPowerOfTwo(0x1.3d70a4p-2f), 0x1.3d5d7cp+0f);
  EXPECT_EQ(SiftPowerOfTwo(0x1.555556p-2f), 0x1.428a3p+0f);
  EXPECT_EQ(SiftPowerOfTwo(0x1.8a3d7p-1f), 0x1.b48c9p+0f);
  EXPECT_EQ(SiftPowerOfTwo(0x1.3be76cp+0f), 0x1.2d145p+1f);
  EXPECT_EQ(SiftPowerOfTwo(-0x1.a3d70ap-2f), 0x1.8157dap-1f);
  EXPECT_EQ(SiftPowerOfTwo(0x1.5ba786p+2f), 0x1.5964e6p+5f);
  for (int i = -1; i <= 16; ++i) {
    EXPECT_EQ(SiftPowerOfTwo(static_cast<float>(i)), std::ldexp(1.0f, i));
  }
  for (float x = -1.0f; x < 16.0f; x += 0.00317f) {
    EXPECT_NEAR(SiftPowerOfTwo(x) / std::exp2(static_cast<double>(x)), 1.0, 0x1p-23) << x;
  }
}

TEST(SiftScaleSpaceTest, OctavesFollowTheRoundedLogarithm) {
  for (int side = 1; side <= 16384; ++side) {
    const int expected = static_cast<int>(std::rint(std::log2(side) - 2));
    EXPECT_EQ(SiftOctaves(side, 16384, 0), std::max(0, expected)) << side;
    EXPECT_EQ(SiftOctaves(16384, side, -1), std::max(0, expected + 1)) << side;
  }
}

TEST(SiftScaleSpaceTest, TapsAreThoseOfOpenCv) {
  {
    float taps[6];
    MakeSiftTaps(1.2489995956420898, taps);
    const float expected[6] = {0x1.4713cep-2f, 0x1.dac53p-3f,   0x1.6b036ep-4f,
                               0x1.2469fp-6f,  0x1.f04b54p-10f, 0x1.bbb27ap-14f};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(taps[i], expected[i]) << i;
  }
  {
    float taps[2];
    MakeSiftTaps(0.29999999999999999, taps);
    const float expected[2] = {0x1.fc125ap-1f, 0x1.f6d37cp-9f};
    for (int i = 0; i < 2; ++i) EXPECT_EQ(taps[i], expected[i]) << i;
  }
  EXPECT_EQ(SiftBlurRadius(SiftSigma(kSiftMaxSigma, 1, 3)), kSiftMaxRadius);
  for (int layers = 1; layers <= kSiftMaxLayers; ++layers) {
    for (int image = 1; image < layers + kSiftExtraImages; ++image) {
      const double sigma = SiftSigma(1.6, layers, image);
      std::vector<float> all(kSiftMaxRadius + 1);
      MakeSiftTaps(sigma, all.data());
      double sum = all[0];
      for (int i = 1; i <= SiftBlurRadius(sigma); ++i) sum += 2.0 * all[static_cast<size_t>(i)];
      EXPECT_NEAR(sum, 1.0, 1e-6);
    }
  }
}

TEST(SiftScaleSpaceTest, PlacesBeyondAnImageAreMirroredAtItsPixels) {
  EXPECT_EQ(SiftMirror(-1, 5), 1);
  EXPECT_EQ(SiftMirror(5, 5), 3);
  EXPECT_EQ(SiftMirror(9, 5), 1);
  EXPECT_EQ(SiftMirror(-6, 3), 2);
  EXPECT_EQ(SiftMirror(-100, 1), 0);
  EXPECT_EQ(SiftMirror(7, 2), 1);
}

TEST(SiftScaleSpaceTest, DoubledPixelsAreWeightedByQuarters) {
  const uint8_t pixels[] = {0, 16, 32, 48};  // 2 x 2
  EXPECT_EQ(SiftDoubledPixel(pixels, 2, 2, 2, 0, 0), 0.0f);
  EXPECT_EQ(SiftDoubledPixel(pixels, 2, 2, 2, 1, 0), 4.0f);
  EXPECT_EQ(SiftDoubledPixel(pixels, 2, 2, 2, 2, 0), 12.0f);
  EXPECT_EQ(SiftDoubledPixel(pixels, 2, 2, 2, 3, 0), 16.0f);
  EXPECT_EQ(SiftDoubledPixel(pixels, 2, 2, 2, 1, 1), 12.0f);
  EXPECT_EQ(SiftDoubledPixel(pixels, 2, 2, 2, 3, 3), 48.0f);
}

// Images whose differences are the paraboloid 20 - (x - 8.25)^2 - (y - 7.5)^2 / 2 - (l - 1)^2.
class ParaboloidOctave {
 public:
  ParaboloidOctave() : pixels_(5, std::vector<float>(kSide * kSide)) {
    for (size_t l = 0; l + 1 < pixels_.size(); ++l) {
      for (int i = 0; i < kSide * kSide; ++i) {
        const float x = static_cast<float>(i % kSide) - 8.25f;
        const float y = static_cast<float>(i / kSide) - 7.625f;
        const float s = static_cast<float>(l) - 1.125f;
        const size_t at = static_cast<size_t>(i);
        pixels_[l + 1][at] = pixels_[l][at] + 20.0f - x * x - 0.5f * y * y - s * s;
      }
    }
    for (size_t i = 0; i < pixels_.size(); ++i) view_.images[i] = pixels_[i].data();
    view_.pitch = kSide;
    view_.width_px = kSide;
    view_.height_px = kSide;
  }
  const SiftOctaveView& view() const { return view_; }

 private:
  static constexpr int kSide = 17;
  std::vector<std::vector<float>> pixels_;
  SiftOctaveView view_;
};

TEST(SiftExtremumTest, TheTopOfAParaboloidIsFoundBetweenPixels) {
  const ParaboloidOctave octave;
  EXPECT_TRUE(IsSiftExtremum(octave.view(), 1, 8, 8, 1.0f));
  EXPECT_FALSE(IsSiftExtremum(octave.view(), 1, 9, 8, 1.0f));
  EXPECT_FALSE(IsSiftExtremum(octave.view(), 1, 8, 8, 20.0f)) << "not above the limit";
  SiftThresholds thresholds = {.layers = 2, .contrast = 0.04f, .edge = 10.0f};
  SiftExtremum extremum = {.x = 9, .y = 7, .layer = 1};
  ASSERT_TRUE(RefineSiftExtremum(octave.view(), thresholds, &extremum));
  EXPECT_EQ(extremum.x, 8);
  EXPECT_EQ(extremum.y, 8);
  EXPECT_EQ(extremum.layer, 1);
  EXPECT_NEAR(extremum.offset_x, 0.25f, 1e-4f);
  EXPECT_NEAR(extremum.offset_y, -0.375f, 1e-4f);
  EXPECT_NEAR(extremum.offset_layer, 0.125f, 1e-4f);
  EXPECT_NEAR(extremum.response, 20.0f / 255.0f, 1e-5f);
  EXPECT_EQ(PackSiftOctave(3, extremum), 3 + (1 << 8) + (159 << 16));
  thresholds.contrast = 0.2f;
  EXPECT_FALSE(RefineSiftExtremum(octave.view(), thresholds, &extremum)) << "contrast";
  thresholds.contrast = 0.04f;
  thresholds.edge = 1.0f;
  EXPECT_FALSE(RefineSiftExtremum(octave.view(), thresholds, &extremum)) << "edge";
}

TEST(SiftOrientationTest, ARampHasOneDirection) {
  constexpr int kSide = 31;
  std::vector<float> pixels;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      pixels.push_back(static_cast<float>(2 * x) + 1.5f * static_cast<float>(y));
    }
  }
  const SiftOrientationWindow window = SiftOrientationWindowOf(15, 2, 1.6f, kSide, kSide);
  EXPECT_EQ(window.count(), 15 * 9) << "rows above the image and its first are left out";
  float histogram[kSiftDirections];
  SiftDirections(pixels.data(), kSide, window, histogram);
  float smoothed[kSiftDirections];
  for (int i = 0; i < kSiftDirections; ++i) smoothed[i] = SmoothedSiftDirection(histogram, i);
  // Steepest upwards at atan2(-3, 4), counter-clockwise 323.1 degrees, of which the answer is the
  // negative: direction 32, whose neighbours are equal after smoothing.
  int peaks = 0;
  for (int i = 0; i < kSiftDirections; ++i) {
    const float angle = SiftPeakAngle(smoothed, i, 0.0f);
    if (angle < 0.0f) continue;
    ++peaks;
    EXPECT_EQ(i, 32);
    EXPECT_FLOAT_EQ(angle, 40.0f);
  }
  EXPECT_EQ(peaks, 1);
}

TEST(SiftDescriptorTest, ARampFillsOneDirectionOfEachCell) {
  constexpr int kSide = 61;
  std::vector<float> pixels;
  for (int i = 0; i < kSide * kSide; ++i) pixels.push_back(static_cast<float>(i % kSide));
  const SiftPatch patch = SiftPatchOf(30.0f, 30.0f, 2.0f, 0.0f, kSide, kSide);
  EXPECT_EQ(patch.radius, 21);
  EXPECT_EQ(patch.angle_deg, 0.0f);
  float histogram[kSiftHistogramSize] = {};
  for (int v = -patch.radius; v <= patch.radius; ++v) {
    for (int u = -patch.radius; u <= patch.radius; ++u) {
      const SiftPlace place = SiftPlaceOf(patch, u, v);
      if (!place.Counts()) continue;
      const float* const at = pixels.data() + (30 + v) * kSide + 30 + u;
      const float dx = at[1] - at[-1];
      AddSiftSample(patch, place, SiftAngleDegrees(0.0f, dx, true), SiftMagnitude(dx, 0.0f), true,
                    histogram);
    }
  }
  uint8_t bytes[kSiftDescriptorBytes];
  FinishSiftDescriptor(histogram, bytes);
  int square = 0;
  for (int i = 0; i < kSiftDescriptorBytes; ++i) {
    square += bytes[i] * bytes[i];
    EXPECT_EQ(bytes[i] != 0, i % kSiftCellAngles == 0) << i;
  }
  EXPECT_NEAR(std::sqrt(square), 512.0, 4.0);
  EXPECT_EQ(bytes[0], bytes[24]) << "left and right";
  EXPECT_EQ(bytes[40], bytes[80]) << "the inner cells";
}

#if defined(__GLIBCXX__)
TEST(SiftOrderTest, TheCutLeavesFeaturesWhereNthElementAndPartitionDo) {
  std::mt19937 random(20261);
  for (int run = 0; run < 3000; ++run) {
    const int count = run % 100 == 0 ? 4000 : 1 + static_cast<int>(random() % 60);
    const unsigned kinds = 1 + random() % 40;
    std::vector<SiftFeature> ours(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      ours[static_cast<size_t>(i)].response = static_cast<float>(random() % kinds);
      ours[static_cast<size_t>(i)].octave = i;
    }
    // Runs up and down bring the division to its limit.
    if (run % 3 == 1) {
      std::sort(ours.begin(), ours.end(),
                [](const auto& a, const auto& b) { return a.response < b.response; });
      std::rotate(ours.begin(), ours.begin() + count / 2, ours.end());
    }
    std::vector<SiftFeature> theirs = ours;
    const int wanted = 1 + static_cast<int>(random() % static_cast<unsigned>(count));
    if (wanted < count) {
      std::nth_element(theirs.begin(), theirs.begin() + wanted - 1, theirs.end(),
                       [](const auto& a, const auto& b) { return a.response > b.response; });
      const float least = theirs[static_cast<size_t>(wanted - 1)].response;
      theirs.erase(std::partition(theirs.begin() + wanted, theirs.end(),
                                  [&](const auto& a) { return a.response >= least; }),
                   theirs.end());
    }
    ours.resize(static_cast<size_t>(KeepBestSiftFeatures(ours.data(), count, wanted)));
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ours[i].octave, theirs[i].octave) << run;
  }
}
#endif

TEST(SiftOrderTest, PlaceDecidesThenTheLargerSize) {
  const SiftFeature base = {1.0f, 2.0f, 3.0f, 4.0f, 0.5f, 6};
  const auto changed = [&](auto change) {
    SiftFeature feature = base;
    change(feature);
    return feature;
  };
  EXPECT_TRUE(SiftPrecedes(base, changed([](auto& f) { f.x = 1.5f; })));
  EXPECT_TRUE(SiftPrecedes(base, changed([](auto& f) { f.y = 2.5f; })));
  EXPECT_TRUE(SiftPrecedes(changed([](auto& f) { f.size = 3.5f; }), base));
  EXPECT_TRUE(SiftPrecedes(base, changed([](auto& f) { f.angle_deg = 4.5f; })));
  EXPECT_TRUE(SiftPrecedes(changed([](auto& f) { f.response = 1.0f; }), base));
  EXPECT_TRUE(SiftPrecedes(changed([](auto& f) { f.octave = 7; }), base));
  EXPECT_FALSE(SiftPrecedes(base, base));
  EXPECT_TRUE(IsSiftDuplicate(base, changed([](auto& f) { f.response = 1.0f; })));
  EXPECT_FALSE(IsSiftDuplicate(base, changed([](auto& f) { f.angle_deg = 1.0f; })));
}

}  // namespace
}  // namespace orbserve::algo
