// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The cut of winners against the answers of a backend that was asked for fewer features.

#include "features/tracking/winners.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/feature_compare.h"
#include "tests/support/method_images.h"
#include "tests/support/random_options.h"

namespace orbserve {
namespace {

// Compares everything of the answers: all columns, the flags and the sizes.
void ExpectEqual(const Features& expected, const Features& actual) {
  EXPECT_EQ(testing::FirstDifference(expected, actual), "");
  EXPECT_EQ(expected.truncated, actual.truncated);
  EXPECT_EQ(expected.descriptor_bytes, actual.descriptor_bytes);
  EXPECT_EQ(expected.descriptor_type, actual.descriptor_type);
  EXPECT_EQ(expected.suppression_passes, actual.suppression_passes);
  EXPECT_EQ(expected.image_width_px, actual.image_width_px);
  EXPECT_EQ(expected.image_height_px, actual.image_height_px);
}

class WinnersTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Features> Ask(const testing::TestImage& image,
                                      const PipelineOptions& pipeline, FrameParameters parameters,
                                      int max_features) {
    parameters.max_features = max_features;
    return cpu::Compute(*backend_, image, pipeline, parameters);
  }
  // Returns how many rows all the cuts left out.
  size_t CompareCuts(const testing::TestImage& image, const PipelineOptions& pipeline,
                     const FrameParameters& parameters) {
    const int all = WinnersToAskFor(pipeline, image.width_px(), image.height_px(), 1);
    const auto winners = Ask(image, PipelineOfWinners(pipeline), parameters, all);
    EXPECT_FALSE(winners->truncated);
    size_t left_out = 0;
    for (const int wanted : {1, 2, 7, 50, 100, 300, 2000, kMaxFeatures}) {
      SCOPED_TRACE("wanted " + std::to_string(wanted) + " of " + std::to_string(winners->count()));
      const auto cut = CutToWanted(pipeline, winners, wanted);
      ExpectEqual(*Ask(image, pipeline, parameters, wanted), *cut);
      left_out += winners->count() - cut->count();
    }
    return left_out;
  }

  std::unique_ptr<FeatureBackend> backend_ = cpu::Backend();
  const Preset& vio_ = **FindPreset("vio");
};

TEST_F(WinnersTest, OnlyTheBestOfCellsAreCut) {
  EXPECT_TRUE(CutsWinners(vio_.pipeline));
  PipelineOptions pipeline = vio_.pipeline;
  pipeline.select.selection = Selection::kCell;
  EXPECT_FALSE(CutsWinners(pipeline));
  pipeline = vio_.pipeline;
  pipeline.suppress.suppression = Suppression::kNeighbourhood;
  EXPECT_FALSE(CutsWinners(pipeline));
  EXPECT_EQ(WinnersToAskFor(pipeline, 640, 480, 77), 77);
}

TEST_F(WinnersTest, AsManyAsThereAreCellsAreAskedFor) {
  EXPECT_EQ(WinnersToAskFor(vio_.pipeline, 640, 480, 100), 20 * 15);
  EXPECT_EQ(WinnersToAskFor(vio_.pipeline, 641, 481, 100), 21 * 16);
  EXPECT_EQ(WinnersToAskFor(vio_.pipeline, 1, 1, 100), 1);
  PipelineOptions pipeline = vio_.pipeline;
  pipeline.suppress.cell_height_px = 8;
  EXPECT_EQ(WinnersToAskFor(pipeline, 32767, 32767, 100), kMaxFeatures);
}

TEST_F(WinnersTest, CutsAreTheAnswersOfTheBackendOverImages) {
  std::vector<testing::NamedImage> images = testing::SyntheticImages();
  for (testing::NamedImage& image : testing::RealImages(ORBSERVE_TEST_DATA_DIR)) {
    images.push_back(std::move(image));
  }
  size_t left_out = 0;
  for (const testing::NamedImage& image : images) {
    SCOPED_TRACE(image.name);
    left_out += CompareCuts(image.image, vio_.pipeline, vio_.frame);
  }
  EXPECT_GT(left_out, 100u);
}

TEST_F(WinnersTest, DescriptorsAndAnglesStayWithTheirRows) {
  PipelineOptions pipeline = vio_.pipeline;
  pipeline.pyramid.levels = 4;
  pipeline.select.border_px = 31;
  pipeline.describe = {Orientation::kIntensityCentroid, Descriptor::kRBrief256};
  const testing::TestImage image = testing::SceneImage(640, 480, 5);
  EXPECT_GT(CompareCuts(image, pipeline, {.fast_threshold_grey = 5}), 100u);
}

TEST_F(WinnersTest, TiesAreCutInTheOrderOfTheFrame) {
  PipelineOptions pipeline = vio_.pipeline;
  pipeline.suppress.cell_height_px = 8;
  EXPECT_GT(CompareCuts(testing::DotLattice(320, 240, 16), pipeline, vio_.frame), 50u);
}

TEST_F(WinnersTest, ACapacityTruncatesAsItDoesInTheBackend) {
  const testing::TestImage image = testing::SceneImage(640, 480, 6);
  for (const int capacity : {1, 20, 60, 299, 300}) {
    SCOPED_TRACE(capacity);
    PipelineOptions pipeline = vio_.pipeline;
    pipeline.select.capacity = capacity;
    CompareCuts(image, pipeline, vio_.frame);
  }
}

TEST_F(WinnersTest, RandomPipelinesOfCellsAreCutAsInTheBackend) {
  std::mt19937 random(7);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    PipelineOptions pipeline = testing::RandomPipeline(random);
    pipeline.suppress.suppression = Suppression::kCell;
    pipeline.select.selection = Selection::kBest;
    pipeline.detect.detector = Detector::kFast;
    if (!pipeline.Validate().ok()) continue;
    const FrameParameters parameters = testing::RandomParameters(pipeline, random);
    SCOPED_TRACE(testing::Printed(pipeline) + "\n" + testing::Printed(parameters));
    CompareCuts(testing::SceneImage(200 + i, 170, static_cast<uint32_t>(i)), pipeline, parameters);
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST_F(WinnersTest, WhereNothingIsCutTheAnswerIsShared) {
  const auto winners = Ask(testing::SceneImage(320, 240, 1), vio_.pipeline, vio_.frame, 1000);
  EXPECT_EQ(CutToWanted(vio_.pipeline, winners, 1000), winners);
  auto given = std::make_shared<Features>(*winners);
  given->source_index.assign(given->count(), 0);
  EXPECT_EQ(CutToWanted(vio_.pipeline, given, 1), given) << "given keypoints are not cut";
}

}  // namespace
}  // namespace orbserve
