// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

#include "cpu/kernels/sift_extractor.h"
#include "cpu/kernels/sift_kernels.h"
#include "cpu/memory/aligned_buffer.h"
#include "features/options.h"
#include "tests/cpu/simd/kernel_testing.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

class SiftKernelsTest : public SimdKernelTest {
 protected:
  const SiftKernels& twin() const { return SiftKernelsFor(simd()); }
};

// The images of an octave, each with room for vectors beyond its last row.
class OctaveImages {
 public:
  OctaveImages(int width, int height, int layers, double sigma) {
    task_.pitch = SiftPitch(width);
    task_.width_px = width;
    task_.height_px = height;
    task_.layers = layers;
    task_.least_difference = 0.0f;
    for (int i = 0; i < layers + algo::kSiftExtraImages; ++i) {
      const size_t floats = static_cast<size_t>(task_.pitch) * height + 64;
      images_.emplace_back();
      EXPECT_TRUE(images_.back().Allocate(floats * sizeof(float)));
      const double blur =
          i == 0 ? algo::SiftFirstSigma(sigma, -1) : algo::SiftSigma(sigma, layers, i);
      blurs_.emplace_back();
      blurs_.back().radius = algo::SiftBlurRadius(blur);
      algo::MakeSiftTaps(blur, blurs_.back().taps);
    }
    for (size_t i = 0; i < images_.size(); ++i) {
      task_.images[i] = reinterpret_cast<float*>(images_[i].data());
    }
    task_.blurs = blurs_.data();
  }

  const SiftOctaveTask& task() const { return task_; }

 private:
  SiftOctaveTask task_;
  std::vector<AlignedBuffer> images_;
  std::vector<SiftBlur> blurs_;
};

void ExpectSameRows(const SiftOctaveTask& expected, const SiftOctaveTask& actual, int image) {
  for (int y = 0; y < expected.height_px; ++y) {
    for (int x = 0; x < expected.width_px; ++x) {
      const ptrdiff_t at = y * expected.pitch + x;
      ASSERT_EQ(expected.images[image][at], actual.images[image][at])
          << "image " << image << " at " << x << ", " << y << ", radius "
          << expected.blurs[image].radius;
    }
  }
}

std::vector<std::tuple<int, int, int>> Sorted(const std::vector<SiftCandidate>& candidates) {
  std::vector<std::tuple<int, int, int>> sorted;
  for (const SiftCandidate& c : candidates) sorted.emplace_back(c.layer, c.y, c.x);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// All remainders of widths, heights below the radius, one layer with wide blurs, blurs of 1, 3 and
// 5 taps, an image that is written past the caches.
TEST_P(SiftKernelsTest, ImagesAndExtremaOfAnOctaveAreThoseOfThePlainLoops) {
  struct Case {
    int width;
    int height;
    int layers;
    double sigma;
  };
  std::vector<Case> cases = {{1, 1, 3, 1.6},   {2, 9, 3, 1.6},    {40, 3, 1, 1.6},
                             {64, 61, 1, 4.0}, {61, 40, 2, 0.1},  {67, 40, 8, 0.9},
                             {63, 40, 5, 0.4}, {301, 30, 3, 1.6}, {1021, 515, 3, 1.6}};
  for (int width = 33; width < 66; ++width) cases.push_back({width, 30 + width % 4, 3, 1.6});
  size_t found = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message()
                 << c.width << " x " << c.height << " layers " << c.layers << " sigma " << c.sigma);
    OctaveImages expected(c.width, c.height, c.layers, c.sigma);
    OctaveImages actual(c.width, c.height, c.layers, c.sigma);
    // The plain image where the size is odd.
    const bool doubled = c.width % 2 == 0 && c.height % 2 == 0;
    const int scale = doubled ? 2 : 1;
    const testing::TestImage grey =
        testing::SceneImage(c.width / scale, c.height / scale, kSeed + c.width);
    SiftScratch scratch;
    const auto run = [&](const SiftKernels& kernels, const SiftOctaveTask& task) {
      std::vector<SiftCandidate> candidates;
      kernels.first_image(grey.view(), doubled, task.blurs[0], task.images[0], task.pitch,
                          /*bands=*/nullptr, &scratch);
      kernels.octave(task, &scratch, &candidates);
      return Sorted(candidates);
    };
    const auto plain = run(ReferenceSiftKernels(), expected.task());
    const auto simd = run(twin(), actual.task());
    for (int i = 0; i < c.layers + algo::kSiftExtraImages; ++i) {
      ExpectSameRows(expected.task(), actual.task(), i);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(plain, simd);
    found += plain.size();
  }
  EXPECT_GT(found, 100u);
}

TEST(SiftBandsTest, EachIsTakenOnceAndFarFromOthers) {
  SiftBands bands;
  bands.Reset(107, 10);
  ASSERT_EQ(bands.count(), 10);
  EXPECT_EQ(bands.RowOf(0), 0);
  EXPECT_EQ(bands.RowOf(10), 107);
  for (const int band : {0, 5, 3, 8, 2, 7, 1, 4, 6, 9, -1}) EXPECT_EQ(bands.TakeAny(), band);
  for (int band = 0; band <= 10; ++band) EXPECT_FALSE(bands.Take(band));
  bands.Reset(9, 10);
  EXPECT_EQ(bands.count(), 1);
  EXPECT_TRUE(bands.Take(0));
  EXPECT_EQ(bands.TakeAny(), -1);
}

// Threads that make some of the bands each.
TEST_P(SiftKernelsTest, BandsMakeTheImagesAndExtremaOfTheWhole) {
  struct Case {
    int height;
    int least_rows;
    int layers;
    double sigma;
  };
  for (const Case& c : {Case{301, 50, 3, 1.6}, Case{400, 97, 3, 1.6}, Case{200, 9, 2, 0.4},
                        Case{250, 20, 1, 4.0}}) {
    SCOPED_TRACE(::testing::Message() << "height " << c.height << " rows " << c.least_rows);
    constexpr int kWidth = 90;
    const testing::TestImage grey = testing::SceneImage(kWidth, c.height, kSeed);
    OctaveImages expected(kWidth, c.height, c.layers, c.sigma);
    OctaveImages actual(kWidth, c.height, c.layers, c.sigma);
    SiftScratch scratch;
    std::vector<SiftCandidate> whole;
    const SiftOctaveTask& plain = expected.task();
    twin().first_image(grey.view(), false, plain.blurs[0], plain.images[0], plain.pitch, nullptr,
                       &scratch);
    twin().octave(plain, &scratch, &whole);
    std::vector<SiftCandidate> found;
    SiftBands bands;
    const auto run = [&](const auto& make) {
      for (const bool first : {true, false}) {  // bands 0, 3, ..., then the others
        bands.Reset(c.height, c.least_rows);
        for (int i = 0; i < bands.count(); ++i) {
          if ((i % 3 == 0) != first) bands.Take(i);
        }
        make();
      }
    };
    SiftOctaveTask task = actual.task();
    task.bands = &bands;
    run([&] {
      twin().first_image(grey.view(), false, task.blurs[0], task.images[0], task.pitch, &bands,
                         &scratch);
    });
    run([&] { twin().octave(task, &scratch, &found); });
    for (int i = 0; i < c.layers + algo::kSiftExtraImages; ++i) {
      ExpectSameRows(plain, task, i);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(Sorted(whole), Sorted(found));
    EXPECT_FALSE(whole.empty());
  }
}

TEST_P(SiftKernelsTest, DirectionsAndDescriptorsAreThoseOfThePlainLoops) {
  constexpr int kWidth = 150;
  constexpr int kHeight = 110;
  std::mt19937 random(kSeed);
  std::vector<float> image(kWidth * kHeight + 64);
  for (float& pixel : image) pixel = static_cast<float>(random() % 65536) / 256.0f;
  // A part without gradients, another with steep ones along the axes alone.
  for (int i = 0; i < 30 * kWidth; ++i) image[static_cast<size_t>(i)] = i % 300 < 150 ? 7.0f : 9.0f;
  SiftScratch scratch;
  std::vector<SiftDescribeTask> tasks;
  std::vector<SiftDirectionTask> direction_tasks;
  for (int i = 0; i < 4001; ++i) {
    const float x = static_cast<float>(random() % (64 * kWidth)) / 64.0f;
    const float y = static_cast<float>(random() % (64 * kHeight)) / 64.0f;
    const float scale = static_cast<float>(1 + random() % 400) / (i % 4 == 0 ? 400.0f : 60.0f);
    const float angle = i % 10 == 0 ? static_cast<float>(random() % 8) * 45.0f
                                    : static_cast<float>(random() % 3600000) / 10000.0f;
    const algo::SiftOrientationWindow window = algo::SiftOrientationWindowOf(
        Clamp(static_cast<int>(x), 1, kWidth - 2), Clamp(static_cast<int>(y), 1, kHeight - 2),
        scale, kWidth, kHeight);
    direction_tasks.push_back({image.data(), kWidth, window});
    tasks.push_back({image.data(), kWidth, kWidth, kHeight,
                     algo::SiftPatchOf(x, y, scale, angle, kWidth, kHeight), nullptr,
                     static_cast<algo::SiftNorm>(i % 3)});
  }
  // Together, as histograms and descriptors wait for each other.
  std::vector<SiftDirectionTask> simd_tasks = direction_tasks;
  const int count = static_cast<int>(direction_tasks.size());
  ReferenceSiftKernels().directions(direction_tasks.data(), count, &scratch);
  twin().directions(simd_tasks.data(), count, &scratch);
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(std::memcmp(direction_tasks[i].histogram, simd_tasks[i].histogram,
                          sizeof(simd_tasks[i].histogram)),
              0)
        << i;
  }
  std::vector<uint8_t> expected(tasks.size() * algo::kSiftDescriptorBytes);
  std::vector<uint8_t> actual(expected.size());
  const auto describe = [&](const SiftKernels& kernels, std::vector<uint8_t>* descriptors) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].descriptor = descriptors->data() + i * algo::kSiftDescriptorBytes;
    }
    kernels.describe(tasks.data(), static_cast<int>(tasks.size()), &scratch);
  };
  describe(ReferenceSiftKernels(), &expected);
  describe(twin(), &actual);
  for (size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_EQ(
        std::memcmp(expected.data() + i * algo::kSiftDescriptorBytes,
                    actual.data() + i * algo::kSiftDescriptorBytes, algo::kSiftDescriptorBytes),
        0)
        << i;
  }
}

TEST_P(SiftKernelsTest, FeaturesAndRowsOfFramesAreThoseOfThePlainLoops) {
  const testing::TestImage images[] = {testing::SceneImage(160, 121, kSeed),
                                       testing::NoiseImage(90, 80, kSeed)};
  const SiftOptions options[] = {{}, {.contrast_threshold = 0.01, .first_octave = 0}};
  const auto extract = [](const SiftExtractor& extractor, const testing::TestImage& image,
                          int max_features, SiftMemory* memory) {
    memory->scratch.resize(1);
    std::vector<float> memory_of_images(extractor.image_floats());
    extractor.Detect(image.view(), nullptr, max_features, nullptr, memory_of_images.data(), memory);
    extractor.PrepareDescriptors(memory_of_images.data(), memory);
    extractor.Describe(memory->tasks.data(), static_cast<int>(memory->tasks.size()),
                       &memory->scratch[0]);
  };
  for (const testing::TestImage& image : images) {
    for (const SiftOptions& option : options) {
      const int max_features = option.first_octave < 0 ? 0 : 20;
      SiftMemory expected;
      SiftMemory actual;
      extract(SiftExtractor(image.width_px(), image.height_px(), option, ReferenceSiftKernels()),
              image, max_features, &expected);
      const SiftExtractor extractor(image.width_px(), image.height_px(), option, twin());
      // The second frame finds the memory of the first.
      for (int i = 0; i < 2; ++i) extract(extractor, image, max_features, &actual);
      ASSERT_FALSE(expected.keypoints.empty());
      ASSERT_EQ(expected.keypoints.size(), actual.keypoints.size());
      EXPECT_EQ(std::memcmp(expected.keypoints.data(), actual.keypoints.data(),
                            expected.keypoints.size() * sizeof(algo::SiftFeature)),
                0);
      EXPECT_EQ(expected.descriptors, actual.descriptors);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, SiftKernelsTest, ::testing::ValuesIn(SimdTargets()),
                         NameOfTarget);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SiftKernelsTest);

}  // namespace
}  // namespace orbserve::cpu
