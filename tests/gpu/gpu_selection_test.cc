// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Selections on the CUDA backend against the CPU backend: with every suppression of FAST corners,
// with second thresholds, capacities, masks and ties, on lists that are compared, sorted in runs,
// or left to the slow path.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/gpu_test_support.h"
#include "tests/support/option_values.h"

namespace orbserve::gpu {
namespace {

constexpr Selection kSelections[] = {Selection::kLevelQuota, Selection::kBest, Selection::kCell,
                                     Selection::kQuadtree};

// Options without a descriptor, at the smallest border of FAST corners with Harris responses.
PlanSpec SpecOf(int width_px, int height_px, Selection selection, int levels) {
  PlanSpec spec = {width_px, height_px, {}};
  spec.pipeline.pyramid = {.levels = levels, .scale_factor = 1.3f};
  spec.pipeline.detect.score = Score::kFast;
  spec.pipeline.select.selection = selection;
  spec.pipeline.select.border_px = 5;
  spec.pipeline.describe = {Orientation::kNone, Descriptor::kNone};
  return spec;
}

std::string NameOf(const PlanSpec& spec) {
  const PipelineOptions& options = spec.pipeline;
  char text[200];
  std::snprintf(text, sizeof(text),
                "%dx%d, %d levels, selection %d, score %d, compare %d, suppression %d, window %d, "
                "cells %dx%d, capacity %d",
                spec.width_px, spec.height_px, options.pyramid.levels,
                static_cast<int>(options.select.selection), static_cast<int>(options.detect.score),
                static_cast<int>(options.suppress.compare),
                static_cast<int>(options.suppress.suppression), options.suppress.window_px,
                options.suppress.cell_width_px, options.suppress.cell_height_px,
                options.select.capacity);
  return text;
}

class GpuSelectionTest : public GpuTest {
 protected:
  // Both backends answer the batch with the same bits, and the device does so frame by frame, too,
  // where `alone` is set. Returns the number of features.
  size_t ExpectSame(const PlanSpec& spec, const std::vector<TestFrame>& frames, bool alone) {
    SCOPED_TRACE(NameOf(spec));
    const auto on_cpu = cpu_->MakePlan(spec);
    const auto on_gpu = gpu_->MakePlan(spec);
    if (!on_cpu.ok() || !on_gpu.ok()) {
      ADD_FAILURE() << on_cpu.status() << " and " << on_gpu.status();
      return 0;
    }
    const FrameBatchAnswer expected = Compute(*cpu_, *on_cpu, frames);
    const FrameBatchAnswer actual = Compute(*gpu_, *on_gpu, frames);
    size_t features = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE("frame " + std::to_string(i) + ", " +
                   std::to_string(frames[i].parameters.max_features) + " wanted");
      features += ExpectSameFrame(expected.frames[i], actual.frames[i]);
      if (alone) {
        const FrameBatchAnswer one = Compute(*gpu_, *on_gpu, {frames[i]});
        ExpectSameFrame(expected.frames[i], one.frames[0]);
      }
    }
    return features;
  }

  std::mt19937 random_{4711};

 private:
  static size_t ExpectSameFrame(const FrameAnswer& expected, const FrameAnswer& actual) {
    EXPECT_TRUE(expected.status.ok()) << expected.status;
    EXPECT_TRUE(actual.status.ok()) << actual.status;
    if (!expected.status.ok() || !actual.status.ok()) return 0;
    EXPECT_TRUE(SameFeatures(*expected.features, *actual.features));
    EXPECT_EQ(expected.features->truncated, actual.features->truncated);
    return expected.features->count();
  }
};

TestImage RandomMask(int width_px, int height_px, std::mt19937* random) {
  TestImage mask = MakeImage(Content::kShapes, width_px, height_px, random);
  for (uint8_t& pixel : mask.pixels) pixel = pixel > 90 ? 255 : 0;
  return mask;
}

// Frames of every content, with and without masks and second thresholds.
std::vector<TestFrame> MixedFrames(int width_px, int height_px, const std::vector<int>& wanted,
                                   std::mt19937* random) {
  std::vector<TestFrame> frames;
  for (int i = 0; i < kContents; ++i) {
    TestFrame frame;
    frame.image = MakeImage(static_cast<Content>(i), width_px, height_px, random);
    if (i % 3 == 1) frame.mask = RandomMask(width_px, height_px, random);
    frame.parameters.max_features = wanted[static_cast<size_t>(i) % wanted.size()];
    frame.parameters.fast_threshold_grey = 12 + 9 * (i % 4);
    if (i % 2 == 0) frame.parameters.fast_threshold_low_grey = 3 + i;
    frames.push_back(std::move(frame));
  }
  return frames;
}

using Scoring = std::pair<Score, Compare>;
constexpr Scoring kFastScores = {Score::kFast, Compare::kFast};
constexpr Scoring kHarrisScores = {Score::kHarris, Compare::kScore};
constexpr Scoring kSadScores = {Score::kSadArc, Compare::kScore};

TEST_F(GpuSelectionTest, EverySelectionWithEveryScoreAndSuppression) {
  size_t features = 0;
  for (const Selection selection : kSelections) {
    for (const auto& [score, compare] : testing::ScoresAndComparisons()) {
      for (const Suppression suppression : {Suppression::kNeighbourhood, Suppression::kCell}) {
        if (suppression == Suppression::kCell && selection == Selection::kLevelQuota) continue;
        for (const int capacity : {kMaxFeatures, 77}) {
          PlanSpec spec = SpecOf(331, 257, selection, 4);
          spec.pipeline.detect.score = score;
          spec.pipeline.suppress.compare = compare;
          spec.pipeline.suppress.suppression = suppression;
          spec.pipeline.select.capacity = capacity;
          features += ExpectSame(
              spec, MixedFrames(331, 257, {1, 33, 77, 500, 5000, kMaxFeatures}, &random_),
              /*alone=*/capacity == 77);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(features, 100'000u);
}

TEST_F(GpuSelectionTest, ImagesAroundTheSmallestThatHoldAKeypoint) {
  size_t features = 0;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {1, 1}, {10, 11}, {11, 11}, {12, 300}, {300, 12}, {45, 43}, {77, 64}, {1000, 13}}) {
    for (const Selection selection : kSelections) {
      for (const int levels : {1, 8}) {
        features += ExpectSame(SpecOf(width, height, selection, levels),
                               MixedFrames(width, height, {1, 2, 5, 500}, &random_), true);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 500u);
}

TEST_F(GpuSelectionTest, CellsOfEverySize) {
  size_t features = 0;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{
           {32, 8}, {32, 32}, {64, 24}, {96, 40}, {512, 8}, {32, 512}, {512, 512}}) {
    for (const Suppression suppression : {Suppression::kNeighbourhood, Suppression::kCell}) {
      for (const float scale_factor : {1.2f, 2.0f}) {
        PlanSpec spec = SpecOf(701, 523, Selection::kCell, 5);
        spec.pipeline.pyramid.scale_factor = scale_factor;
        spec.pipeline.detect.score = Score::kHarris;
        spec.pipeline.suppress.suppression = suppression;
        spec.pipeline.suppress.cell_width_px = width;
        spec.pipeline.suppress.cell_height_px = height;
        features += ExpectSame(spec, MixedFrames(701, 523, {1, 40, 300, 4000}, &random_), false);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 10'000u);
}

// Lists longer than those that are compared all with all, and longer than the device has room for.
TEST_F(GpuSelectionTest, LongListsOnTheFastAndOnTheSlowPath) {
  size_t features = 0;
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{640, 480}, {1280, 960}, {2600, 1500}}) {
    for (const Selection selection : kSelections) {
      for (const auto& [score, compare] : {kFastScores, kHarrisScores}) {
        PlanSpec spec = SpecOf(width, height, selection, 3);
        spec.pipeline.detect.score = score;
        spec.pipeline.suppress.compare = compare;
        std::vector<TestFrame> frames;
        for (const int wanted : {1, 700, 9000, 40'000, kMaxFeatures}) {
          TestFrame frame;
          frame.image =
              MakeImage(wanted == 700 ? Content::kTies : Content::kNoise, width, height, &random_);
          frame.parameters.max_features = wanted;
          frame.parameters.fast_threshold_grey = 5;
          if (wanted > 10'000) frame.parameters.fast_threshold_low_grey = 2;
          frames.push_back(std::move(frame));
        }
        features += ExpectSame(spec, frames, false);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 100'000u);
}

// All corners have one response: places alone decide.
TEST_F(GpuSelectionTest, LatticesOfTies) {
  size_t features = 0;
  for (const auto& [width, height] : std::vector<std::pair<int, int>>{{320, 240}, {1920, 1080}}) {
    for (const Selection selection : kSelections) {
      for (const Suppression suppression : {Suppression::kNeighbourhood, Suppression::kCell}) {
        if (suppression == Suppression::kCell && selection == Selection::kLevelQuota) continue;
        PlanSpec spec = SpecOf(width, height, selection, 2);
        spec.pipeline.suppress.suppression = suppression;
        spec.pipeline.suppress.compare = Compare::kScore;
        spec.pipeline.select.capacity = 20'000;
        std::vector<TestFrame> frames;
        for (const int wanted : {1, 500, 6000, kMaxFeatures}) {
          TestFrame frame;
          frame.image = MakeImage(Content::kDots, width, height, &random_);
          frame.parameters.max_features = wanted;
          frames.push_back(std::move(frame));
        }
        features += ExpectSame(spec, frames, false);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 10'000u);
}

// BEST of up to 1,024 keys, which one block ranks, and of one more; of few and of many corners,
// with responses that differ and that tie.
TEST_F(GpuSelectionTest, FewKeysOfKeyedCorners) {
  size_t features = 0;
  const std::vector<std::vector<int>> wanted = {{1, 2, 31, 500}, {1023, 1024}, {1024, 1025, 700}};
  for (const Suppression suppression :
       {Suppression::kNeighbourhood, Suppression::kCell, Suppression::kMinimumDistance}) {
    for (const auto& [score, compare] : {kFastScores, kHarrisScores, kSadScores}) {
      PlanSpec spec = SpecOf(801, 603, Selection::kBest, 3);
      spec.pipeline.detect.score = score;
      spec.pipeline.suppress.compare = compare;
      spec.pipeline.suppress.suppression = suppression;
      spec.pipeline.suppress.cell_width_px = 32;
      spec.pipeline.suppress.cell_height_px = 8;
      for (const std::vector<int>& of_batch : wanted) {
        std::vector<TestFrame> frames = MixedFrames(801, 603, of_batch, &random_);
        features += ExpectSame(spec, frames, /*alone=*/true);
        for (TestFrame& frame : frames) {
          frame.parameters.fast_threshold_low_grey = 0;
          frame.parameters.fast_threshold_grey = 4;
        }
        features += ExpectSame(spec, frames, /*alone=*/false);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 10'000u);
}

// Few of the best of the cells, on pyramids of both sources and one or several levels, with and
// without masks, down to images without a level that has corners.
TEST_F(GpuSelectionTest, FewOfTheCellsWithLevelsFromEverySource) {
  size_t features = 0;
  struct Levels {
    int count;
    float scale_factor;
    PyramidSource source;
  };
  for (const Levels& levels : {Levels{1, 2.0f, PyramidSource::kPreviousLevel},
                               {2, 2.0f, PyramidSource::kPreviousLevel},
                               {4, 1.3f, PyramidSource::kLevelZero},
                               {3, 3.3f, PyramidSource::kLevelZero},
                               {3, 2.0f, PyramidSource::kPreviousLevel}}) {
    for (const auto& [score, compare] : testing::ScoresAndComparisons()) {
      for (const auto& [width, height] :
           std::vector<std::pair<int, int>>{{1, 1}, {23, 200}, {333, 47}, {1283, 719}}) {
        PlanSpec spec = SpecOf(width, height, Selection::kBest, levels.count);
        spec.pipeline.pyramid.scale_factor = levels.scale_factor;
        spec.pipeline.pyramid.source = levels.source;
        spec.pipeline.detect.score = score;
        spec.pipeline.suppress.compare = compare;
        spec.pipeline.suppress.suppression = Suppression::kCell;
        spec.pipeline.suppress.cell_height_px = 8;
        spec.pipeline.suppress.window_px = width == 333 ? 7 : 3;
        spec.pipeline.select.capacity = width == 333 ? 60 : kMaxFeatures;
        std::vector<TestFrame> frames = MixedFrames(width, height, {1, 100, 513, 1024}, &random_);
        for (TestFrame& frame : frames) frame.parameters.fast_threshold_low_grey = 0;
        features += ExpectSame(spec, frames, /*alone=*/true);
        for (TestFrame& frame : frames) frame.mask = {};
        features += ExpectSame(spec, frames, /*alone=*/false);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 10'000u);
}

TEST_F(GpuSelectionTest, SecondThresholdsInBatchesOfEverySize) {
  size_t features = 0;
  for (const auto& [score, compare] : testing::ScoresAndComparisons()) {
    for (const Selection selection : kSelections) {
      PlanSpec spec = SpecOf(400, 300, selection, 3);
      spec.pipeline.detect.score = score;
      spec.pipeline.suppress.compare = compare;
      for (const int count : {1, 2, 5, 17}) {
        std::vector<TestFrame> frames;
        for (int i = 0; i < count; ++i) {
          TestFrame frame;
          frame.image =
              MakeImage(i % 2 == 0 ? Content::kShapes : Content::kSoftNoise, 400, 300, &random_);
          if (i % 4 == 3) frame.mask = RandomMask(400, 300, &random_);
          frame.parameters.max_features = 100 + 150 * i;
          frame.parameters.fast_threshold_grey = 25 + 2 * i;
          // A frame without one beside others; one where all corners are strong.
          if (i % 3 != 1) {
            frame.parameters.fast_threshold_low_grey =
                i % 5 == 4 ? frame.parameters.fast_threshold_grey : 1 + 2 * i % 25;
          }
          frames.push_back(std::move(frame));
        }
        features += ExpectSame(spec, frames, count == 5);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(features, 50'000u);
}

// `oriented-fast` asks for everything: as many features as a photograph of 1920x1080 has.
TEST_F(GpuSelectionTest, TensOfThousandsOfFeaturesWithAngles) {
  PlanSpec spec = SpecOf(1920, 1080, Selection::kBest, 4);
  spec.pipeline.pyramid.scale_factor = 2.0f;
  spec.pipeline.detect.score = Score::kHarris;
  spec.pipeline.suppress.compare = Compare::kScore;
  spec.pipeline.select.border_px = 16;
  spec.pipeline.describe.orientation = Orientation::kIntensityCentroid;
  std::vector<TestFrame> frames(3);
  for (size_t i = 0; i < frames.size(); ++i) {
    const Content content = i == 0   ? Content::kSoftNoise
                            : i == 1 ? Content::kShapes
                                     : Content::kNoise;
    frames[i].image = MakeImage(content, 1920, 1080, &random_);
    frames[i].parameters.max_features = kMaxFeatures;
  }
  EXPECT_GT(ExpectSame(spec, frames, true), 30'000u);
}

}  // namespace
}  // namespace orbserve::gpu
