// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/compile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "features/pipeline/compiled.h"

namespace orbserve::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "fast [detect+suppress]", with "|" between steps of one phase and "frame: " before those of the
// frame.
std::vector<std::string> PhasesOf(const StepList& list, const std::vector<Phase>& phases) {
  std::vector<std::string> names;
  for (const Phase& phase : phases) {
    std::string name = phase.scope == StepScope::kFrame ? "frame: " : "";
    for (const int i : phase.steps) {
      const Step& step = *list.steps[static_cast<size_t>(i)];
      if (i != phase.steps.front()) name += " | ";
      name += std::string(step.name()) + " [" + step.stages().Name() + "]";
    }
    names.push_back(name);
  }
  return names;
}

class CompileStepsTest : public ::testing::Test {
 protected:
  StepList Compile(const PipelineOptions& options, int threads = 1) {
    pipeline_ = *CompilePipeline({320, 240, options});
    return CompileSteps({pipeline_, ReferenceTarget(), threads});
  }
  CompiledPipeline pipeline_;
};

TEST_F(CompileStepsTest, Orb) {
  const StepList list = Compile({});
  EXPECT_EQ(list.steps[static_cast<size_t>(list.pyramid)]->name(), "pyramid");
  EXPECT_EQ(list.steps[static_cast<size_t>(list.pyramid)]->stages(), StageSet(Stage::kPyramid));
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("fast [detect+suppress]", "low_threshold [detect+suppress]", "survivors [select]",
                  "harris [select]", "rank [select]",
                  "gaussian [describe] | intensity_centroid [orient]", "rbrief256 [describe]"));
  EXPECT_THAT(PhasesOf(list, list.description),
              ElementsAre("gaussian [describe]", "rbrief256 [describe]"));
}

TEST_F(CompileStepsTest, Orb32) {
  const StepList list = Compile((*FindPreset("orb-32"))->pipeline);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("fast [detect+suppress]", "low_threshold [detect+suppress]", "survivors [select]",
                  "frame: rank [select]", "intensity_centroid [orient]", "rbrief32 [describe]"));
  EXPECT_THAT(PhasesOf(list, list.description), ElementsAre("rbrief32 [describe]"));
}

TEST_F(CompileStepsTest, TeblidDescribesAllLevelsOnceTheIntegralImageIsThere) {
  PipelineOptions pipeline;
  pipeline.describe.descriptor = Descriptor::kTeblid512;
  const StepList list = Compile(pipeline);
  EXPECT_EQ(PhasesOf(list, list.detection).back(), "frame: teblid [describe]");
  EXPECT_THAT(
      PhasesOf(list, list.description),
      ElementsAre("integral [describe]", "integral [describe]", "frame: teblid [describe]"));
}

TEST_F(CompileStepsTest, BFrost) {
  const StepList list = Compile((*FindPreset("bfrost"))->pipeline);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("fast [detect+suppress] | integral [describe]", "low_threshold [detect+suppress]",
                  "survivors [select] | integral [describe]", "frame: rank [select]",
                  "arc_middle [orient]", "bfrost256 [describe]"));
  EXPECT_THAT(PhasesOf(list, list.description),
              ElementsAre("integral [describe]", "integral [describe]", "bfrost256 [describe]"));
}

TEST_F(CompileStepsTest, OrbSlam) {
  const StepList list = Compile((*FindPreset("orb-slam"))->pipeline);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("fast [detect+suppress]", "low_threshold [detect+suppress]", "survivors [select]",
                  "quadtree [select]", "gaussian [describe] | intensity_centroid [orient]",
                  "rbrief256 [describe]"));
}

TEST_F(CompileStepsTest, OrbSlam3) {
  const StepList list = Compile((*FindPreset("orb-slam3"))->pipeline);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("zone_fast [detect+suppress]", "survivors [select]", "node_list [select]",
                  "gaussian [describe] | intensity_centroid [orient]", "rbrief256 [describe]"));
}

TEST_F(CompileStepsTest, Sift) {
  PipelineOptions options = (*FindPreset("sift"))->pipeline;
  // Several threads find the features of an octave while the next one is made.
  const StepList list = Compile(options, 2);
  const auto names = [](const StepList& compiled) {
    std::vector<std::string> phases;
    for (const std::string& phase : PhasesOf(compiled, compiled.detection)) {
      phases.push_back(absl::StrReplaceAll(phase, {{" [pyramid+detect+select+orient]", ""}}));
    }
    return phases;
  };
  EXPECT_THAT(names(list), ElementsAre("frame: sift_first_image", "frame: sift_octave",
                                       "frame: sift_features | sift_octave",
                                       "frame: sift_features | sift_octave",
                                       "frame: sift_features | sift_small_octaves",
                                       "frame: sift_order", "frame: sift_describe [describe]"));
  EXPECT_THAT(list.description, IsEmpty());
  options.describe.descriptor = Descriptor::kNone;
  EXPECT_THAT(
      names(Compile(options)),
      ElementsAre("frame: sift_first_image", "frame: sift_octave", "frame: sift_features",
                  "frame: sift_octave", "frame: sift_features", "frame: sift_octave",
                  "frame: sift_features", "frame: sift_small_octaves", "frame: sift_order"));
}

TEST_F(CompileStepsTest, CellsAreComparedOverAllLevels) {
  PipelineOptions options;
  options.suppress.suppression = Suppression::kCell;
  options.select.selection = Selection::kCell;
  options.describe = {Orientation::kNone, Descriptor::kNone};
  const StepList list = Compile(options);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("fast [detect+suppress]", "low_threshold [detect+suppress]", "survivors [select]",
                  "frame: cell [suppress]", "frame: cell_rounds [select]"));
}

TEST_F(CompileStepsTest, CornerMaps) {
  PipelineOptions options = (*FindPreset("klt-corners"))->pipeline;
  const StepList list = Compile(options);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("corner_map [detect]", "frame: quality [detect]", "square_distance [suppress]",
                  "square_distance [suppress]", "square_distance [suppress]", "survivors [select]",
                  "frame: rank [select]"));
  EXPECT_THAT(list.description, IsEmpty());
  options.suppress.distance_shape = DistanceShape::kDisc;
  const StepList discs = Compile(options);
  EXPECT_THAT(
      PhasesOf(discs, discs.detection),
      ElementsAre("corner_map [detect]", "frame: quality [detect]", "minimum_distance [suppress]",
                  "minimum_distance [suppress]", "survivors [select]", "frame: rank [select]"));
  options.suppress.distance_shape = DistanceShape::kSquare;
  options.suppress.cornerness_compression = true;
  const StepList compressed = Compile(options);
  EXPECT_THAT(
      PhasesOf(compressed, compressed.detection),
      ElementsAre("corner_map [detect]", "frame: quality [detect]", "minimum_distance [suppress]",
                  "minimum_distance [suppress]", "minimum_distance [suppress]",
                  "survivors [select]", "frame: rank [select]"));
  options.suppress.suppression = Suppression::kNeighbourhood;
  const StepList windows = Compile(options);
  EXPECT_THAT(
      PhasesOf(windows, windows.detection),
      ElementsAre("corner_map [detect]", "frame: quality [detect]", "neighbourhood [suppress]",
                  "survivors [select]", "frame: rank [select]"));
}

TEST_F(CompileStepsTest, WhatAPipelineDoesNotAskForIsNotThere) {
  PipelineOptions options;
  options.detect.score = Score::kFast;
  options.describe = {Orientation::kNone, Descriptor::kNone};
  const StepList list = Compile(options);
  EXPECT_THAT(PhasesOf(list, list.detection),
              ElementsAre("fast [detect+suppress]", "low_threshold [detect+suppress]",
                          "survivors [select]", "rank [select]"));
  EXPECT_THAT(list.description, IsEmpty());
  EXPECT_EQ(list.steps.size(), 5u);
}

TEST_F(CompileStepsTest, LevelZeroIsBoundedByOtherLevelsWhereTheBestOfCellsAreKept) {
  PipelineOptions options = (*FindPreset("vio"))->pipeline;
  const StepList list = Compile(options);
  EXPECT_THAT(PhasesOf(list, list.detection),
              ElementsAre("fast_response [detect+suppress]", "frame: cell_bound [suppress]",
                          "fast_response [detect+suppress]", "low_threshold [detect+suppress]",
                          "survivors [select]", "frame: cell [suppress]", "frame: rank [select]"));
  options.pyramid.levels = 1;
  const StepList one_level = Compile(options);
  EXPECT_THAT(PhasesOf(one_level, one_level.detection),
              ElementsAre("fast_response [detect+suppress]", "low_threshold [detect+suppress]",
                          "survivors [select]", "frame: cell [suppress]", "frame: rank [select]"));
}

TEST_F(CompileStepsTest, TheBestOfAFrameAreRankedOverAllLevels) {
  PipelineOptions options;
  options.select.selection = Selection::kBest;
  options.describe.descriptor = Descriptor::kNone;
  const StepList list = Compile(options);
  EXPECT_THAT(
      PhasesOf(list, list.detection),
      ElementsAre("fast [detect+suppress]", "low_threshold [detect+suppress]", "survivors [select]",
                  "harris [select]", "frame: rank [select]", "intensity_centroid [orient]"));
}

}  // namespace
}  // namespace orbserve::cpu
