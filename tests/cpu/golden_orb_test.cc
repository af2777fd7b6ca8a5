// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Answers of OpenCV 4.6.0, kept as files, against the CPU backend and its FAST kernels: those of
// tests/data/orb-golden/, which are always there, and those of a folder of test images, if any.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/cpu_backend.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/steps/detect/fast.h"
#include "features/pipeline/capacity.h"
#include "tests/cpu/golden_cases.h"
#include "tests/support/backend_runner.h"
#include "tests/support/feature_compare.h"
#include "tests/support/golden_files.h"
#include "tests/support/image_makers.h"
#include "tests/support/oracles.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FilesEndingIn;
using ::orbserve::testing::GoldenCorner;
using ::orbserve::testing::ReadGreyPng;
using ::orbserve::testing::TestImage;

const std::string kFolder = ORBSERVE_GOLDEN_DIR;
const std::string kMoreFolder = std::string(ORBSERVE_TEST_DATA_DIR) + "/orb-golden";

// "folder/name.orb1000.csv" -> "folder/name.png"
std::string ImageOf(const std::string& csv, const std::string& marker) {
  return csv.substr(0, csv.rfind(marker)) + ".png";
}

std::vector<GoldenCorner> CornersOf(const KernelTarget& target, const TestImage& image,
                                    int arc_length, int threshold) {
  const Region region = {3, 3, image.width_px() - 3, image.height_px() - 3};
  std::vector<uint8_t> scratch(static_cast<size_t>(FastScratchBytes(region, 1)) + 64);
  uint8_t* const aligned = reinterpret_cast<uint8_t*>(
      RoundUp<uintptr_t>(reinterpret_cast<uintptr_t>(scratch.data()), 64));
  std::vector<Corner> found(static_cast<size_t>(MaxCorners(region) + kCornerSlack));
  const int count =
      FastKernelFor(target)(image.view(), region, arc_length, threshold, 1, aligned, found.data());
  std::vector<GoldenCorner> corners;
  for (int i = 0; i < count; ++i) {
    const Corner& c = found[static_cast<size_t>(i)];
    corners.push_back({c.x, c.y, c.score});
  }
  return corners;
}

std::vector<KernelTarget> EveryTarget() {
  std::vector<KernelTarget> all = SimdTargets();
  all.push_back(ReferenceTarget());
  return all;
}

TEST(GoldenOrbTest, EveryFieldAndEveryBitIsThatOfOpenCv) {
  for (const testing::GoldenCase& golden : testing::kGoldenCases) {
    SCOPED_TRACE(golden.name);
    const TestImage image = ReadGreyPng(kFolder + "/" + golden.image + ".png");
    testing::FrameInput input = {.image = image.view()};
    input.parameters.max_features = golden.max_features;
    std::optional<TestImage> mask;
    if (*golden.mask != '\0') {
      mask = ReadGreyPng(kFolder + "/" + golden.mask + ".png");
      input.mask = std::as_const(*mask).view();
    }
    PipelineOptions pipeline;
    pipeline.pyramid.levels = golden.levels;
    pipeline.pyramid.scale_factor = golden.scale_factor;
    pipeline.detect.score = golden.score;
    const Features expected =
        testing::Sorted(testing::ReadFeatureCsv(kFolder + "/" + golden.name + ".csv"));
    ASSERT_GT(expected.count(), 0u);
    for (const bool reference : {false, true}) {
      auto backend = *CreateCpuBackend({.threads = 2, .reference = reference});
      const auto actual = testing::RunFrame(*backend, pipeline, input);
      ASSERT_TRUE(actual.ok()) << actual.status();
      EXPECT_EQ(testing::FirstDifference(expected, **actual), "");
    }
  }
}

TEST(GoldenFastTest, CornersAndScoresAreThoseOfOpenCv) {
  for (const char* const name : testing::kGoldenFastImages) {
    const TestImage image = ReadGreyPng(kFolder + "/" + name + ".png");
    const std::vector<GoldenCorner> expected =
        testing::ReadCornerCsv(kFolder + "/" + name + ".fast20.csv");
    ASSERT_GT(expected.size(), 0u) << name;
    for (const KernelTarget& target : EveryTarget()) {
      EXPECT_EQ(CornersOf(target, image, 9, 20), expected) << name << " " << target.name;
    }
  }
}

// Photographs: NAME.orbN.csv beside NAME.png, of N features under the defaults.
TEST(GoldenOrbTest, PhotographsAsWell) {
  int compared = 0;
  for (const std::string& file : FilesEndingIn(kMoreFolder, ".csv")) {
    const size_t marker = file.rfind(".orb");
    if (marker == std::string::npos) continue;
    const int max_features = std::atoi(file.c_str() + marker + 4);
    const TestImage image = ReadGreyPng(ImageOf(file, ".orb"));
    const Features expected = testing::Sorted(testing::ReadFeatureCsv(file));
    for (const bool reference : {false, true}) {
      auto backend = *CreateCpuBackend({.threads = 2, .reference = reference});
      const auto actual = testing::RunFrame(
          *backend, {}, {.image = image.view(), .parameters = {.max_features = max_features}});
      ASSERT_TRUE(actual.ok()) << actual.status();
      EXPECT_EQ(testing::FirstDifference(expected, **actual), "") << file;
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "ORBSERVE_TEST_DATA_DIR has no orb-golden/*.orb*.csv";
}

TEST(GoldenFastTest, PhotographsAsWell) {
  int compared = 0;
  for (const std::string& file : FilesEndingIn(kMoreFolder, ".fast20.csv")) {
    const TestImage image = ReadGreyPng(ImageOf(file, ".fast20"));
    const std::vector<GoldenCorner> expected = testing::ReadCornerCsv(file);
    for (const KernelTarget& target : EveryTarget()) {
      EXPECT_EQ(CornersOf(target, image, 9, 20), expected) << file << " " << target.name;
      ++compared;
    }
  }
  if (compared == 0) GTEST_SKIP() << "ORBSERVE_TEST_DATA_DIR has no orb-golden/*.fast20.csv";
}

TEST(FastCornersTest, EqualsTheOracleForEveryArcLength) {
  const TestImage images[] = {testing::SceneImage(90, 70, 1), testing::NoiseImage(50, 40, 2),
                              testing::DotLattice(60, 60, 9), testing::Checkerboard(40, 40)};
  for (const TestImage& image : images) {
    for (int arc_length = 9; arc_length <= 12; ++arc_length) {
      for (const int threshold : {1, 20, 90}) {
        const std::vector<GoldenCorner> expected =
            testing::OracleCorners(image.view(), arc_length, threshold);
        for (const KernelTarget& target : EveryTarget()) {
          EXPECT_EQ(CornersOf(target, image, arc_length, threshold), expected)
              << target.name << " arc " << arc_length << " threshold " << threshold;
        }
      }
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
