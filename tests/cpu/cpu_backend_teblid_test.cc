// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// TEBLID and BEBLID on the CPU backend, on keypoints of several presets: the answers of the
// independent oracle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "features/errors.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/cpu/given_descriptions.h"
#include "tests/cpu/oracle_variants.h"
#include "tests/support/method_oracle.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;

constexpr Descriptor kOfLevelZero[] = {Descriptor::kTeblid256, Descriptor::kTeblid512,
                                       Descriptor::kBeblid256, Descriptor::kBeblid512};

PipelineOptions Described(const char* preset, Descriptor descriptor) {
  PipelineOptions pipeline = (*FindPreset(preset))->pipeline;
  pipeline.describe.descriptor = descriptor;
  return pipeline;
}

TEST(CpuTeblidTest, EqualsTheOracleOnKeypointsOfEveryKind) {
  std::vector<Variant> variants;
  for (const Descriptor descriptor : kOfLevelZero) {
    // Keypoints of other kinds differ in size and angle alone.
    for (const char* const preset : {"orb", "bfrost", "vio", "harris-corners"}) {
      if (descriptor != Descriptor::kTeblid512 && preset != std::string("orb")) continue;
      Variant variant = {preset + (" " + std::string(DescriptorName(descriptor))),
                         Described(preset, descriptor), (*FindPreset(preset))->frame};
      // Squares of keypoints so near to the edges are cut.
      variant.pipeline.select.border_px = BorderRange(variant.pipeline).low;
      variant.parameters.max_features = 15;  // the oracle adds up every square by itself
      variants.push_back(variant);
    }
  }
  ExpectOracleOnSmallImages(variants, /*seed=*/20263, /*most_side_px=*/300);
}

TEST(CpuTeblidTest, GivenKeypointsAreDescribedByTheirOwnPlaceSizeAndAngle) {
  const TestImage image = SceneImage(420, 390, 42);
  const testing::GreyPlane plane = testing::PlaneOf(image.view());
  auto given = std::make_shared<GivenKeypoints>();
  std::mt19937 random(84);
  const auto from = [&random](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  for (int i = 0; i < 500; ++i) {
    given->x.push_back(from(32.0f, 387.0f));
    given->y.push_back(from(32.0f, 357.0f));
    given->size.push_back(from(12.0f, 150.0f));
    given->angle_deg.push_back(i % 5 == 0 ? -1.0f : from(0.0f, 720.0f));
    given->response.push_back(0.0f);
    given->octave.push_back(i % 3);
  }
  for (const Descriptor descriptor : kOfLevelZero) {
    const PipelineOptions pipeline = Described("orb", descriptor);
    for (const int threads : {1, 3}) {
      const auto backend = Backend({.threads = threads, .reference = threads == 1});
      const auto answer =
          testing::RunFrame(*backend, pipeline, {.image = image.view(), .given_keypoints = given});
      ASSERT_TRUE(answer.ok()) << answer.status();
      const Features& features = **answer;
      ASSERT_EQ(features.count(), given->count());
      const auto bytes = static_cast<ptrdiff_t>(DescriptorBytes(descriptor));
      for (size_t i = 0; i < features.count(); ++i) {
        const std::vector<uint8_t> expected = testing::DescribeBoxTests(
            plane, given->x[i], given->y[i], given->size[i], given->angle_deg[i], descriptor);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                               features.descriptors.begin() + bytes * static_cast<ptrdiff_t>(i)))
            << DescriptorName(descriptor) << ", keypoint " << i;
      }
    }
  }
}

TEST(CpuTeblidTest, SizesWithoutAPatchAreRefused) {
  const TestImage image = SceneImage(200, 200, 43);
  const auto backend = Backend({.threads = 1});
  for (const float size : {0.0f, 11.0f, -31.0f, 4001.0f, std::numeric_limits<float>::quiet_NaN()}) {
    auto given = std::make_shared<GivenKeypoints>();
    *given = {{100.0f}, {100.0f}, {size}, {0.0f}, {0.0f}, {0}};
    const auto answer = testing::RunFrame(*backend, Described("orb", Descriptor::kTeblid512),
                                          {.image = image.view(), .given_keypoints = given});
    ASSERT_FALSE(answer.ok()) << size;
    EXPECT_THAT(std::string(answer.status().message()),
                ::testing::HasSubstr("size of given keypoint 0"));
  }
}

}  // namespace
}  // namespace orbserve::cpu
