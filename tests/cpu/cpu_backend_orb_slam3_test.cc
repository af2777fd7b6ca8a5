// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `orb-slam3` on the CPU backend: its published values, the oracle over random options,
// and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "features/algo/node_list.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_oracle.h"
#include "tests/support/orb_slam3_oracle.h"
#include "tests/support/orb_slam3_values.h"
#include "tests/support/reference_answers.h"
#include "tests/support/reference_lines.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::FirstDifference;
using ::orbserve::testing::SceneImage;
using ::orbserve::testing::TestImage;
using ::testing::HasSubstr;

const Preset& OrbSlam3() { return **FindPreset("orb-slam3"); }

struct Slam3Case {
  PipelineOptions pipeline = OrbSlam3().pipeline;
  FrameParameters parameters = OrbSlam3().frame;
};

Slam3Case CaseOf(const testing::Slam3Settings& settings) {
  Slam3Case out;
  out.pipeline.pyramid.levels = settings.levels;
  out.pipeline.pyramid.scale_factor = settings.scale_factor;
  out.parameters.max_features = settings.max_features;
  out.parameters.fast_threshold_grey = settings.threshold;
  out.parameters.fast_threshold_low_grey = settings.threshold_low;
  out.parameters.lapping_begin_px = settings.lapping_begin;
  out.parameters.lapping_end_px = settings.lapping_end;
  return out;
}

std::string HexCrc(const std::string& text) {
  char hex[9];
  std::snprintf(hex, sizeof(hex), "%08x", testing::Crc32(text));
  return hex;
}

TEST(CpuOrbSlam3Test, GivesEveryPublishedAnswer) {
  const auto one_thread = Backend({.threads = 1});
  const auto three_threads = Backend({.threads = 3});
  int compared = 0;
  for (const testing::Slam3Value& value : testing::Slam3Values()) {
    const auto image = testing::Slam3Image(value, kTestDataFolder);
    if (!image.has_value()) continue;
    const Slam3Case of = CaseOf(value.settings);
    for (const auto& backend : {one_thread.get(), three_threads.get()}) {
      const auto answer = testing::RunFrame(*backend, of.pipeline,
                                            {.image = image->view(), .parameters = of.parameters});
      EXPECT_EQ(answer.ok(), *value.lines != '\0') << NameOf(value) << answer.status();
      if (!answer.ok() || *value.lines == '\0') continue;
      const Features& features = **answer;
      EXPECT_EQ(testing::ValueOf(features, of.pipeline.pyramid.scale_factor), value.lines)
          << NameOf(value);
      if (*value.records != '\0') {
        EXPECT_EQ(HexCrc(testing::Slam3RecordsOf(features)), value.records) << NameOf(value);
      }
      EXPECT_FALSE(features.truncated);
    }
    ++compared;
  }
  printf("%d answers compared\n", compared);
}

// Options of every kind, on images of odd sizes.
TEST(CpuOrbSlam3Test, EqualsTheOracleOverRandomOptions) {
  const auto reference = Backend({.threads = 1, .reference = true});
  const auto fast = Backend({.threads = 2});
  std::mt19937 random(20261);
  const auto between = [&random](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  size_t compared = 0;
  int refused = 0;
  for (int run = 0; run < 60; ++run) {
    const int width = between(60, 420);
    const int height = between(60, 300);
    const auto seed = static_cast<uint32_t>(run);
    TestImage image = SceneImage(width, height, seed);
    if (run % 4 == 1) image = testing::NoiseImage(width, height, seed);
    if (run % 4 == 2) image = testing::DotLattice(width, height, 9);
    Slam3Case of;
    of.pipeline.pyramid.levels = between(1, 6);
    of.pipeline.pyramid.scale_factor = 1.01f + static_cast<float>(between(0, 120)) / 100.0f;
    of.parameters.max_features = run % 5 == 0 ? between(1, 20) : between(1, 3000);
    of.parameters.fast_threshold_grey = between(3, 60);
    of.parameters.fast_threshold_low_grey = between(0, of.parameters.fast_threshold_grey);
    if (run % 3 == 0) {
      of.parameters.lapping_begin_px = between(0, width);
      of.parameters.lapping_end_px = between(0, width);
    }
    const testing::OracleOptions options = testing::OracleOptionsOf(of.pipeline, of.parameters);
    const testing::GreyPlane plane = testing::PlaneOf(image.view());
    const testing::Slam3Answer want = testing::Slam3Extract(plane, options);
    for (const auto& backend : {reference.get(), fast.get()}) {
      const auto got = testing::RunFrame(*backend, of.pipeline,
                                         {.image = image.view(), .parameters = of.parameters});
      ASSERT_EQ(got.ok(), want.refusal.empty()) << run << " " << got.status() << want.refusal;
      if (!got.ok()) {
        EXPECT_THAT(got.status().message(), HasSubstr(want.refusal)) << run;
        ++refused;
        continue;
      }
      EXPECT_EQ(
          FirstDifference(testing::FeaturesOf({.features = want.features}, plane, options), **got),
          "")
          << run << " of " << width << "x" << height;
      compared += (*got)->count();
    }
  }
  EXPECT_GT(refused, 0);
  printf("%zu features compared, %d frames refused\n", compared, refused);
}

TEST(CpuOrbSlam3Test, RefusesMasksGivenKeypointsAndTooSmallACapacity) {
  const auto backend = Backend();
  const TestImage image = SceneImage(320, 240, 5);
  const TestImage mask = testing::RandomMask(320, 240, 5);
  Slam3Case of;
  const auto run = [&](testing::FrameInput input) {
    input.image = image.view();
    input.parameters = of.parameters;
    return testing::RunFrame(*backend, of.pipeline, input).status();
  };
  EXPECT_THAT(run({.mask = mask.view()}).message(), HasSubstr("has a mask"));
  auto given = std::make_shared<GivenKeypoints>();
  EXPECT_THAT(run({.given_keypoints = given}).message(), HasSubstr("keypoints are given"));
  of.pipeline.select.capacity = 1000;
  EXPECT_THAT(run({}).message(), HasSubstr("select.capacity is 1000"));
  of.parameters.max_features = 900;
  EXPECT_TRUE(run({}).ok());
}

// Each number of elements, keys from few values, against the library itself.
TEST(NodeSortTest, LeavesEqualKeysAsTheLibraryDoes) {
  std::mt19937 random(7);
  const auto library = [](std::vector<uint64_t> nodes) {
    std::sort(nodes.begin(), nodes.end(), algo::NodePrecedes);
    return nodes;
  };
  for (int run = 0; run < 3000; ++run) {
    const int count = static_cast<int>(random() % 700);
    const unsigned values = 1 + random() % 40;
    std::vector<uint64_t> nodes;
    for (int i = 0; i < count; ++i) {
      nodes.push_back(
          algo::SortedNode(static_cast<int>(random() % values), static_cast<int>(random() % 3), i));
    }
    std::vector<uint64_t> sorted = nodes;
    algo::SortNodes(sorted.data(), count);
    ASSERT_EQ(sorted, library(nodes)) << run;
  }
}

// An adversary decides keys while the library sorts, so that each pivot is among the smallest: the
// sort runs out of divisions and makes heaps.
TEST(NodeSortTest, FollowsTheLibraryThroughItsHeap) {
  for (const int count : {100, 500, 1000, 3000}) {
    // Keys by place; -1: larger than all decided so far (McIlroy, "A killer adversary for
    // quicksort", 1999).
    std::vector<int> key(static_cast<size_t>(count), -1);
    std::vector<int> items(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) items[static_cast<size_t>(i)] = i;
    int decided = 0;
    int candidate = 0;
    std::sort(items.begin(), items.end(), [&](int x, int y) {
      int& key_x = key[static_cast<size_t>(x)];
      int& key_y = key[static_cast<size_t>(y)];
      if (key_x < 0 && key_y < 0) (x == candidate ? key_x : key_y) = decided++;
      if (key_x < 0) {
        candidate = x;
      } else if (key_y < 0) {
        candidate = y;
      }
      return (key_x < 0 ? count : key_x) < (key_y < 0 ? count : key_y);
    });
    for (const int equal : {1, 2, 5}) {
      std::vector<uint64_t> nodes;
      for (int i = 0; i < count; ++i) {
        const int of = key[static_cast<size_t>(i)];
        nodes.push_back(algo::SortedNode((of < 0 ? count : of) / equal, 0, i));
      }
      std::vector<uint64_t> want = nodes;
      std::sort(want.begin(), want.end(), algo::NodePrecedes);
      algo::SortNodes(nodes.data(), count);
      EXPECT_EQ(nodes, want) << count << ", " << equal << " equal keys";
    }
  }
}

}  // namespace
}  // namespace orbserve::cpu
