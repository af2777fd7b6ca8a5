// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/gpu/gpu_test_support.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cpu/cpu_backend.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"

namespace orbserve::gpu {
namespace {

TestImage ReadPgm(const std::filesystem::path& path) {
  TestImage image;
  std::ifstream in(path, std::ios::binary);
  std::string magic;
  int maximum = 0;
  in >> magic >> image.width_px >> image.height_px >> maximum;
  in.get();
  if (!in || magic != "P5" || maximum != 255) return {};
  image.name = path.filename().string();
  image.pixels.resize(static_cast<size_t>(image.width_px) * image.height_px);
  in.read(reinterpret_cast<char*>(image.pixels.data()),
          static_cast<std::streamsize>(image.pixels.size()));
  return in ? image : TestImage{};
}

// Empty for an image without pixels.
ImageView ViewOf(const TestImage& image) {
  if (image.pixels.empty()) return {};
  return {image.pixels.data(), image.width_px, image.height_px, image.width_px};
}

}  // namespace

std::vector<TestImage> ImagesOfEnvironment() {
  std::vector<TestImage> images;
  const char* const folder = std::getenv("ORBSERVE_TEST_IMAGES");
  if (folder == nullptr) return images;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".pgm") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    TestImage image = ReadPgm(path);
    if (!image.pixels.empty()) images.push_back(std::move(image));
  }
  return images;
}

TestImage MakeImage(Content content, int width_px, int height_px, std::mt19937* random) {
  TestImage image = {"", width_px, height_px, {}};
  image.pixels.resize(static_cast<size_t>(width_px) * height_px);
  const auto at = [&](int x, int y) -> uint8_t& {
    return image.pixels[static_cast<size_t>(y) * width_px + x];
  };
  const auto fill = [&](const auto& pixel) {
    for (int y = 0; y < height_px; ++y) {
      for (int x = 0; x < width_px; ++x) at(x, y) = static_cast<uint8_t>(pixel(x, y));
    }
  };
  switch (content) {
    case Content::kNoise:
      fill([&](int, int) { return (*random)() & 255; });
      break;
    case Content::kSoftNoise: {
      fill([&](int, int) { return (*random)() & 255; });
      const std::vector<uint8_t> noise = image.pixels;
      const auto source = [&](int x, int y) {
        x = std::clamp(x, 0, width_px - 1);
        y = std::clamp(y, 0, height_px - 1);
        return static_cast<int>(noise[static_cast<size_t>(y) * width_px + x]);
      };
      fill([&](int x, int y) {
        int sum = 0;
        for (int v = -2; v <= 2; ++v) {
          for (int u = -2; u <= 2; ++u) sum += source(x + u, y + v);
        }
        return std::clamp((sum / 25 - 128) * 4 + 128, 0, 255);
      });
      break;
    }
    case Content::kTies:
      fill([&](int, int) { return ((*random)() & 15) == 0 ? 200 : 50; });
      break;
    case Content::kFlat:
      fill([](int, int) { return 127; });
      break;
    case Content::kDots:
      fill([](int x, int y) { return x % 8 == 3 && y % 8 == 3 ? 255 : 0; });
      break;
    case Content::kChecker:
      fill([](int x, int y) { return (x / 5 + y / 5) % 2 == 0 ? 30 : 220; });
      break;
    case Content::kShapes: {
      fill([](int x, int y) { return (x + y) / 8 % 64 + 60; });
      for (int i = 0; i < width_px * height_px / 400 + 3; ++i) {
        const int x0 = static_cast<int>((*random)() % static_cast<unsigned>(width_px));
        const int y0 = static_cast<int>((*random)() % static_cast<unsigned>(height_px));
        const int side = 3 + static_cast<int>((*random)() % 20);
        const uint8_t grey = static_cast<uint8_t>((*random)() & 255);
        for (int y = y0; y < std::min(y0 + side, height_px); ++y) {
          for (int x = x0; x < std::min(x0 + side, width_px); ++x) at(x, y) = grey;
        }
      }
      break;
    }
  }
  return image;
}

TestImage Crop(const TestImage& image, int x, int y, int width_px, int height_px) {
  TestImage crop = {image.name, width_px, height_px, {}};
  for (int row = 0; row < height_px; ++row) {
    const auto begin = image.pixels.begin() + static_cast<ptrdiff_t>(y + row) * image.width_px + x;
    crop.pixels.insert(crop.pixels.end(), begin, begin + width_px);
  }
  return crop;
}

int EnvironmentNumber(const char* name, int otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

namespace {

absl::StatusOr<std::unique_ptr<FeatureBackend>> CreateBackend(GpuBackendOptions options) {
  // Tools that watch every access slow a batch down a hundredfold and more.
  options.deadline_ms =
      EnvironmentNumber("ORBSERVE_TEST_DEADLINE_MS", static_cast<int>(options.deadline_ms));
  if (EnvironmentNumber("ORBSERVE_TEST_READ_IN_PLACE", 0) != 0) {
    options.input_reads = InputReads::kInPlace;
  }
  return CreateGpuBackend(options);
}

}  // namespace

std::unique_ptr<FeatureBackend> GpuTest::MakeGpu(const GpuBackendOptions& options) {
  auto backend = CreateBackend(options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

bool GpuIsExpected() { return EnvironmentNumber("ORBSERVE_EXPECT_GPU", 0) != 0; }

void GpuTest::SetUp() {
  auto gpu = CreateBackend({});
  if (!gpu.ok()) {
    if (GpuIsExpected()) FAIL() << "a GPU is expected here: " << gpu.status();
    GTEST_SKIP() << gpu.status();
  }
  gpu_ = *std::move(gpu);
  auto cpu = cpu::CreateCpuBackend({});
  ASSERT_TRUE(cpu.ok()) << cpu.status();
  cpu_ = *std::move(cpu);
}

FrameBatchAnswer GpuTest::ComputeIn(FeatureBackend& slots, FeatureBackend& backend,
                                    const std::shared_ptr<FeaturePlan>& plan,
                                    const std::vector<TestFrame>& frames) {
  std::vector<FrameJob> jobs;
  for (const TestFrame& frame : frames) {
    auto job = testing::MakeJob(
        slots, {ViewOf(frame.image), ViewOf(frame.mask), frame.parameters, frame.given});
    EXPECT_TRUE(job.ok()) << job.status();
    if (!job.ok()) return {};
    job->keep_state = frame.keep_state;
    jobs.push_back(*std::move(job));
  }
  return testing::RunBatch(backend, plan, std::move(jobs));
}

::testing::AssertionResult SameFeatures(const Features& expected, const Features& actual) {
  if (expected.image_width_px != actual.image_width_px ||
      expected.image_height_px != actual.image_height_px) {
    return ::testing::AssertionFailure()
           << "of an image of " << expected.image_width_px << " x " << expected.image_height_px
           << " expected, of " << actual.image_width_px << " x " << actual.image_height_px
           << " found";
  }
  const std::string difference = testing::FirstDifference(expected, actual);
  if (difference.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << difference;
}

::testing::AssertionResult SameMatches(const Matches& expected, const Matches& actual) {
  if (expected.ratio_undefined != actual.ratio_undefined || expected.count() != actual.count()) {
    return ::testing::AssertionFailure()
           << expected.count() << " matches expected, " << actual.count() << " found";
  }
  for (size_t i = 0; i < expected.count(); ++i) {
    if (expected.query_index[i] != actual.query_index[i] ||
        expected.train_index[i] != actual.train_index[i] ||
        expected.distance[i] != actual.distance[i]) {
      return ::testing::AssertionFailure()
             << "match " << i << ": query " << expected.query_index[i] << " train "
             << expected.train_index[i] << " distance " << expected.distance[i] << " expected, "
             << actual.query_index[i] << " " << actual.train_index[i] << " " << actual.distance[i]
             << " found";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace orbserve::gpu
