// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace orbserve {
namespace {

using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename Options>
struct Row {
  const char* message;  // part of what is said
  std::function<void(Options&)> change;
};

template <typename Options>
void ExpectRefused(const std::vector<Row<Options>>& rows, ErrorReason reason) {
  for (const Row<Options>& row : rows) {
    Options options;
    ASSERT_TRUE(options.Validate().ok());
    row.change(options);
    const absl::Status status = options.Validate();
    ASSERT_FALSE(status.ok()) << row.message;
    EXPECT_EQ(status.code(), InfoOf(reason).code) << row.message;
    EXPECT_EQ(ReasonOf(status), reason) << row.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
  }
}

TEST(PipelineOptionsTest, DefaultsAreThePresetOrb) {
  ASSERT_TRUE(FindPreset("orb").ok());
  EXPECT_EQ((*FindPreset("orb"))->pipeline, PipelineOptions());
  EXPECT_EQ((*FindPreset("orb"))->frame, FrameParameters());
  EXPECT_TRUE(PipelineOptions().Validate().ok());
}

TEST(SiftOptionsTest, WhatIsOutOfRangeIsRefusedWithItsNameValueAndRange) {
  using O = SiftOptions;
  ExpectRefused<O>(
      {
          {"sift.octave_layers must be in [1, 8]; got 0", [](O& o) { o.octave_layers = 0; }},
          {"sift.octave_layers must be in [1, 8]; got 9", [](O& o) { o.octave_layers = 9; }},
          {"sift.contrast_threshold must be in [0, 1]; got -0.5",
           [](O& o) { o.contrast_threshold = -0.5; }},
          {"sift.contrast_threshold", [](O& o) { o.contrast_threshold = kNaN; }},
          {"sift.edge_threshold must be in [0, 1000]; got 1001",
           [](O& o) { o.edge_threshold = 1001.0; }},
          {"sift.sigma must be in [0.1, 4]; got 0.05", [](O& o) { o.sigma = 0.05; }},
          {"sift.sigma", [](O& o) { o.sigma = kInfinity; }},
          {"sift.first_octave must be in [-1, 0]; got 1", [](O& o) { o.first_octave = 1; }},
          {"sift.first_octave must be in [-1, 0]; got -2", [](O& o) { o.first_octave = -2; }},
      },
      ErrorReason::kBadOptions);
}

TEST(PipelineOptionsTest, WhatIsOutOfRangeIsRefusedWithItsNameValueAndRange) {
  using O = PipelineOptions;
  ExpectRefused<O>(
      {
          {"pyramid.levels must be in [1, 16]; got 0", [](O& o) { o.pyramid.levels = 0; }},
          {"pyramid.levels must be in [1, 16]; got 17", [](O& o) { o.pyramid.levels = 17; }},
          {"pyramid.scale_factor must be in [1.01, 4]; got 1",
           [](O& o) { o.pyramid.scale_factor = 1.0f; }},
          {"pyramid.scale_factor", [](O& o) { o.pyramid.scale_factor = 4.01f; }},
          {"pyramid.scale_factor", [](O& o) { o.pyramid.scale_factor = kNaN; }},
          {"detect.fast_arc_length must be in [9, 12]; got 8",
           [](O& o) { o.detect.fast_arc_length = 8; }},
          {"detect.fast_arc_length", [](O& o) { o.detect.fast_arc_length = 13; }},
          {"suppress.window_px", [](O& o) { o.suppress.window_px = 2; }},
          {"suppress.window_px must be odd", [](O& o) { o.suppress.window_px = 4; }},
          {"suppress.window_px", [](O& o) { o.suppress.window_px = 11; }},
          {"suppress.cell_width_px", [](O& o) { o.suppress.cell_width_px = 31; }},
          {"suppress.cell_width_px must be a multiple of 32",
           [](O& o) { o.suppress.cell_width_px = 40; }},
          {"suppress.cell_height_px", [](O& o) { o.suppress.cell_height_px = 7; }},
          {"suppress.cell_height_px must be a multiple of 8, in [8, 512]; got 11",
           [](O& o) { o.suppress.cell_height_px = 11; }},
          {"suppress.minimum_distance_px", [](O& o) { o.suppress.minimum_distance_px = 65; }},
          {"suppress.max_passes must be in [0, 10000]; got -1",
           [](O& o) { o.suppress.max_passes = -1; }},
          {"suppress.max_passes", [](O& o) { o.suppress.max_passes = 10'001; }},
          {"select.capacity must be in [1, 100000]; got 0", [](O& o) { o.select.capacity = 0; }},
          {"select.capacity", [](O& o) { o.select.capacity = kMaxFeatures + 1; }},
          {"select.border_px must be in [22, 255]; got 21", [](O& o) { o.select.border_px = 21; }},
          {"select.border_px", [](O& o) { o.select.border_px = 256; }},
          {"describe.orientation is NONE",
           [](O& o) { o.describe.orientation = Orientation::kNone; }},
          {"describe.orientation is NONE",
           [](O& o) {
             o.describe = {Orientation::kNone, Descriptor::kRBrief32};
           }},
          {"select.border_px must be in [10, 255]; got 9",
           [](O& o) {
             o.describe.descriptor = Descriptor::kRBrief32;
             o.select.border_px = 9;
           }},
          {"describe.orientation is ARC_MIDDLE and detect.detector is not FAST",
           [](O& o) {
             o.describe.orientation = Orientation::kArcMiddle;
             o.detect.detector = Detector::kHarris;
           }},
          {"select.border_px must be in [44, 255]; got 31",
           [](O& o) { o.describe.descriptor = Descriptor::kBFrost256; }},
          {"detect.score is SAD_CIRCLE and suppress.compare is FAST",
           [](O& o) { o.detect.score = Score::kSadCircle; }},
          {"detect.score is SAD_ARC and suppress.compare is FAST",
           [](O& o) { o.detect.score = Score::kSadArc; }},
      },
      ErrorReason::kBadOptions);
}

TEST(PipelineOptionsTest, OptionsThatContradictEachOtherAreRefusedWithBoth) {
  using O = PipelineOptions;
  ExpectRefused<O>(
      {
          {"detect.score is SAD_CIRCLE and suppress.compare is FAST; allowed: "
           "suppress.compare SCORE, or detect.score FAST or HARRIS",
           [](O& o) { o.detect.score = Score::kSadCircle; }},
          {"detect.score is SAD_ARC and suppress.compare is FAST",
           [](O& o) { o.detect.score = Score::kSadArc; }},
          {"suppress.suppression is CELL and select.selection is LEVEL_QUOTA; allowed: "
           "select.selection BEST, CELL or QUADTREE",
           [](O& o) { o.suppress.suppression = Suppression::kCell; }},
          {"select.selection is ORB_SLAM3 and detect.score is HARRIS; allowed: detect.score FAST, "
           "or another selection",
           [](O& o) {
             o.select.selection = Selection::kOrbSlam3;
             o.select.border_px = kOrbSlam3BorderPx;
           }},
          {"select.selection is ORB_SLAM3 and describe.descriptor_type is NONE",
           [](O& o) {
             o = (*FindPreset("orb-slam3"))->pipeline;
             o.describe.descriptor = Descriptor::kNone;
           }},
          {"select.selection is ORB_SLAM3 and suppress.window_px is 5",
           [](O& o) {
             o = (*FindPreset("orb-slam3"))->pipeline;
             o.suppress.window_px = 5;
           }},
          {"select.border_px must be in [19, 19]; got 22",
           [](O& o) {
             o = (*FindPreset("orb-slam3"))->pipeline;
             o.select.border_px = 22;
           }},
          {"suppress.cornerness_compression is on and suppress.distance_shape is DISC",
           [](O& o) {
             o.suppress.cornerness_compression = true;
             o.suppress.distance_shape = DistanceShape::kDisc;
           }},
      },
      ErrorReason::kBadOptions);
}

TEST(PipelineOptionsTest, ThePresetBFrostHasTheValuesOfThePaper) {
  ASSERT_TRUE(FindPreset("bfrost").ok());
  const Preset& bfrost = **FindPreset("bfrost");
  EXPECT_EQ(bfrost.pipeline.pyramid.levels, 1);
  EXPECT_EQ(bfrost.pipeline.pyramid.scale_factor, 2.0f);
  EXPECT_EQ(bfrost.pipeline.detect.fast_arc_length, 9);
  EXPECT_EQ(bfrost.pipeline.detect.score, Score::kFast);
  EXPECT_EQ(bfrost.pipeline.suppress.window_px, 3);
  EXPECT_EQ(bfrost.pipeline.select.selection, Selection::kBest);
  EXPECT_EQ(bfrost.pipeline.select.border_px, 44);
  EXPECT_EQ(bfrost.pipeline.describe.orientation, Orientation::kArcMiddle);
  EXPECT_EQ(bfrost.pipeline.describe.descriptor, Descriptor::kBFrost256);
  EXPECT_EQ(bfrost.frame.max_features, 500);
  EXPECT_EQ(bfrost.frame.fast_threshold_grey, 20);
  EXPECT_TRUE(bfrost.match.cross_check);
}

TEST(PipelineOptionsTest, ThePresetOrb32HasTheValuesOfThePaper) {
  ASSERT_TRUE(FindPreset("orb-32").ok());
  const Preset& orb32 = **FindPreset("orb-32");
  EXPECT_TRUE(orb32.pipeline.Validate().ok());
  EXPECT_EQ(orb32.pipeline.pyramid.levels, 1);
  EXPECT_EQ(orb32.pipeline.detect.detector, Detector::kFast);
  EXPECT_EQ(orb32.pipeline.detect.fast_arc_length, 9);
  EXPECT_EQ(orb32.pipeline.detect.score, Score::kFast);
  EXPECT_EQ(orb32.pipeline.suppress.suppression, Suppression::kNeighbourhood);
  EXPECT_EQ(orb32.pipeline.suppress.window_px, 3);
  EXPECT_EQ(orb32.pipeline.select.selection, Selection::kBest);
  EXPECT_EQ(orb32.pipeline.select.border_px, 10);
  EXPECT_EQ(orb32.pipeline.describe.orientation, Orientation::kIntensityCentroid);
  EXPECT_EQ(orb32.pipeline.describe.descriptor, Descriptor::kRBrief32);
  EXPECT_EQ(orb32.frame.max_features, 128);
  EXPECT_EQ(orb32.frame.fast_threshold_grey, 20);
  EXPECT_TRUE(orb32.match.cross_check);
}

TEST(PipelineOptionsTest, ThePresetOrbSlamHasTheValuesOfOrbSlam) {
  ASSERT_TRUE(FindPreset("orb-slam").ok());
  const Preset& orb_slam = **FindPreset("orb-slam");
  EXPECT_TRUE(orb_slam.pipeline.Validate().ok());
  EXPECT_EQ(orb_slam.pipeline.pyramid.levels, 8);
  EXPECT_EQ(orb_slam.pipeline.pyramid.scale_factor, 1.2f);
  EXPECT_EQ(orb_slam.pipeline.detect.fast_arc_length, 9);
  EXPECT_EQ(orb_slam.pipeline.detect.score, Score::kFast);
  EXPECT_EQ(orb_slam.pipeline.suppress.suppression, Suppression::kNeighbourhood);
  EXPECT_EQ(orb_slam.pipeline.suppress.window_px, 3);
  EXPECT_EQ(orb_slam.pipeline.select.selection, Selection::kQuadtree);
  EXPECT_EQ(orb_slam.pipeline.select.border_px, 22);
  EXPECT_EQ(orb_slam.pipeline.describe.orientation, Orientation::kIntensityCentroid);
  EXPECT_EQ(orb_slam.pipeline.describe.descriptor, Descriptor::kRBrief256);
  EXPECT_EQ(orb_slam.frame.max_features, 1000);
  EXPECT_EQ(orb_slam.frame.fast_threshold_grey, 20);
  EXPECT_EQ(orb_slam.frame.fast_threshold_low_grey, 7);
}

TEST(PipelineOptionsTest, CellsNeedASelectionWithoutTies) {
  PipelineOptions options;
  options.suppress.suppression = Suppression::kCell;
  const absl::Status status = options.Validate();
  EXPECT_EQ(ReasonOf(status), ErrorReason::kBadOptions);
  EXPECT_THAT(std::string(status.message()), HasSubstr("select.selection is LEVEL_QUOTA"));
  for (const Selection selection : {Selection::kBest, Selection::kCell, Selection::kQuadtree}) {
    options.select.selection = selection;
    EXPECT_TRUE(options.Validate().ok()) << static_cast<int>(selection);
  }
}

TEST(PipelineOptionsTest, ThePresetOrientedFastHasTheValuesOfThePaper) {
  ASSERT_TRUE(FindPreset("oriented-fast").ok());
  const Preset& preset = **FindPreset("oriented-fast");
  EXPECT_EQ(preset.pipeline.pyramid.levels, 4);
  EXPECT_EQ(preset.pipeline.pyramid.scale_factor, 2.0f);
  EXPECT_EQ(preset.pipeline.pyramid.source, PyramidSource::kPreviousLevel);
  EXPECT_EQ(preset.pipeline.detect.fast_arc_length, 9);
  EXPECT_EQ(preset.pipeline.detect.score, Score::kHarris);
  EXPECT_EQ(preset.pipeline.suppress.suppression, Suppression::kNeighbourhood);
  EXPECT_EQ(preset.pipeline.suppress.compare, Compare::kScore);
  EXPECT_EQ(preset.pipeline.suppress.window_px, 3);
  EXPECT_EQ(preset.pipeline.select.selection, Selection::kBest);
  EXPECT_EQ(preset.pipeline.select.border_px, 16);
  EXPECT_EQ(preset.pipeline.describe.orientation, Orientation::kIntensityCentroid);
  EXPECT_EQ(preset.pipeline.describe.descriptor, Descriptor::kNone);
  EXPECT_EQ(preset.frame.max_features, 100'000);
  EXPECT_EQ(preset.frame.fast_threshold_grey, 20);
}

TEST(PipelineOptionsTest, EveryScoreAndWindowOfFastIsThere) {
  for (const Score score : AllOf<Score>()) {
    for (const int window_px : {3, 5, 7, 9}) {
      PipelineOptions options;
      options.detect.score = score;
      options.suppress.compare = Compare::kScore;
      options.suppress.window_px = window_px;
      EXPECT_TRUE(options.Validate().ok()) << static_cast<int>(score) << ", " << window_px;
    }
  }
}

TEST(PipelineOptionsTest, AnOrientationMayFeedAnyDescriptor) {
  for (const Orientation orientation :
       {Orientation::kNone, Orientation::kIntensityCentroid, Orientation::kArcMiddle}) {
    PipelineOptions options = (*FindPreset("bfrost"))->pipeline;
    options.describe.orientation = orientation;
    EXPECT_TRUE(options.Validate().ok()) << static_cast<int>(orientation);
  }
  PipelineOptions orb;
  orb.describe.orientation = Orientation::kArcMiddle;
  EXPECT_TRUE(orb.Validate().ok());
}

TEST(PipelineOptionsTest, TheEndsOfRangesAreAllowed) {
  PipelineOptions options;
  options.suppress.cell_width_px = 512;
  options.suppress.cell_height_px = 8;
  EXPECT_TRUE(options.Validate().ok());
  options.suppress.cell_height_px = 512;
  EXPECT_TRUE(options.Validate().ok());
}

TEST(PipelineOptionsTest, TheSmallestBorderIsWhatTheStagesRead) {
  PipelineOptions options;
  const auto smallest_border_px = [&options] {
    int& border_px = options.select.border_px;
    for (border_px = 0; border_px <= 255 && !options.Validate().ok();) ++border_px;
    return border_px;
  };
  EXPECT_EQ(smallest_border_px(), 22);
  options.describe.descriptor = Descriptor::kNone;
  EXPECT_EQ(smallest_border_px(), 16);
  options.describe.orientation = Orientation::kNone;
  EXPECT_EQ(smallest_border_px(), 5);
  options.detect.score = Score::kFast;
  EXPECT_EQ(smallest_border_px(), 3);
}

TEST(FrameParametersTest, WhatIsOutOfRangeIsRefused) {
  using O = FrameParameters;
  ExpectRefused<O>(
      {{"max_features must be in [1, 100000]; got 0", [](O& o) { o.max_features = 0; }},
       {"max_features", [](O& o) { o.max_features = kMaxFeatures + 1; }},
       {"fast_threshold must be in [1, 254]; got 0", [](O& o) { o.fast_threshold_grey = 0; }},
       {"fast_threshold", [](O& o) { o.fast_threshold_grey = 255; }},
       {"fast_threshold_low must be 0 (off), or in [1, 20], up to fast_threshold; got 21",
        [](O& o) { o.fast_threshold_low_grey = 21; }},
       {"fast_threshold_low", [](O& o) { o.fast_threshold_low_grey = -1; }},
       {"quality_level must be above 0 and below 1; got 0", [](O& o) { o.quality_level = 0.0f; }},
       {"quality_level must be above 0 and below 1; got 1", [](O& o) { o.quality_level = 1.0f; }},
       {"quality_level", [](O& o) { o.quality_level = kNaN; }}},
      ErrorReason::kBadOptions);
}

TEST(FrameParametersTest, TheEndsOfRangesAreAllowed) {
  for (const float quality_level : {1e-7f, 0.999f}) {
    FrameParameters parameters;
    parameters.quality_level = quality_level;
    EXPECT_TRUE(parameters.Validate().ok()) << quality_level;
  }
  for (const int low : {0, 1, 20}) {
    FrameParameters parameters;
    parameters.fast_threshold_low_grey = low;
    EXPECT_TRUE(parameters.Validate().ok()) << low;
    EXPECT_EQ(parameters.detection_threshold_grey(), low > 0 ? low : 20);
  }
}

TEST(MatchOptionsTest, WhatIsOutOfRangeOrContradictsIsRefused) {
  using O = MatchOptions;
  ExpectRefused<O>(
      {{"match.k must be in [1, 16]; got 0", [](O& o) { o.k = 0; }},
       {"match.k", [](O& o) { o.k = 17; }},
       {"match.ratio", [](O& o) { o.ratio = -0.1f; }},
       {"match.ratio", [](O& o) { o.ratio = 1.01f; }},
       {"match.ratio", [](O& o) { o.ratio = kNaN; }},
       {"match.max_distance", [](O& o) { o.max_distance = -1; }},
       {"match.max_distance", [](O& o) { o.max_distance = 8'323'201; }},
       {"match.window_px must be 0 (off), or a finite number above 0; got -1",
        [](O& o) { o.window_px = -1.0f; }},
       {"match.window_px", [](O& o) { o.window_px = kNaN; }},
       {"match.window_px", [](O& o) { o.window_px = kInfinity; }},
       {"match.offset_x is 2 and match.window_px is 0 (off); allowed: a window",
        [](O& o) { o.offset_x_px = 2.0f; }},
       {"match.offset_y is -2 and match.window_px is 0 (off)", [](O& o) { o.offset_y_px = -2.0f; }},
       {"match.offset_x must be a finite number; got nan",
        [](O& o) { o = {.window_px = 1.0f, .offset_x_px = kNaN}; }},
       {"match.offset_y must be a finite number; got -inf",
        [](O& o) { o = {.window_px = 1.0f, .offset_y_px = -kInfinity}; }},
       {"need match.k = 1", [](O& o) { o = {.k = 2, .cross_check = true}; }},
       {"need match.k = 1", [](O& o) { o = {.k = 2, .ratio = 0.8f}; }}},
      ErrorReason::kBadOptions);
}

TEST(MatchOptionsTest, BandsOutOfRangeOrHalfGivenAreRefused) {
  using O = MatchOptions;
  ExpectRefused<O>(
      {{"match.min_dx must be in [-1000000, 1000000]; got -2e+06",
        [](O& o) { o.min_dx_px = -2e6f; }},
       {"match.min_dx must be in [-1000000, 1000000]; got nan", [](O& o) { o.min_dx_px = kNaN; }},
       {"match.max_dx must be in [-1000000, 1000000]; got inf",
        [](O& o) { o.max_dx_px = kInfinity; }},
       {"match.min_dx is 3 and match.max_dx is 2; allowed: min_dx up to max_dx",
        [](O& o) { o = {.min_dx_px = 3.0f, .max_dx_px = 2.0f}; }},
       {"match.max_dy must be in [0, 1000000]; got -1", [](O& o) { o.max_dy_px = -1.0f; }},
       {"match.max_dy", [](O& o) { o.max_dy_px = kNaN; }},
       {"match.max_epipolar_px must be in [0, 1000000]; got -0.5",
        [](O& o) { o.max_epipolar_px = -0.5f; }},
       {"match.max_epipolar_px", [](O& o) { o.max_epipolar_px = kNaN; }},
       {"match.fundamental must be nine finite numbers; got nan",
        [](O& o) {
          o = {.fundamental = {1, kNaN}, .max_epipolar_px = 1.0f};
        }},
       {"match.fundamental is given and match.max_epipolar_px is 0 (off); allowed: a "
        "max_epipolar_px above 0, or no matrix",
        [](O& o) { o.fundamental = {0, 0, 0, 0, 0, -1, 0, 1, 0}; }},
       {"match.max_epipolar_px is 2 and match.fundamental is none, or zeros only; allowed: both, "
        "or neither",
        [](O& o) { o.max_epipolar_px = 2.0f; }}},
      ErrorReason::kBadOptions);
  const MatchOptions band = {.min_dx_px = 0.0f,
                             .max_dx_px = 0.0f,
                             .max_dy_px = 0.0f,
                             .fundamental = {0, 0, 0, 0, 0, -1e300, 0, 1e300, 0},
                             .max_epipolar_px = 1e-30f};
  EXPECT_TRUE(band.Validate().ok()) << band.Validate();
  EXPECT_TRUE(band.needs_places());
  EXPECT_FALSE(MatchOptions().needs_places());
}

TEST(MatchOptionsTest, AWindowMayHaveAnyFiniteOffset) {
  for (const float offset_px : {0.0f, -0.5f, 1e30f}) {
    const MatchOptions options = {
        .window_px = 0.25f, .offset_x_px = offset_px, .offset_y_px = -offset_px};
    EXPECT_TRUE(options.Validate().ok()) << offset_px;
  }
}

TEST(PresetsTest, ErrorsNameTheAvailablePresetsFirst) {
  std::string available;
  std::string missing;
  for (const Preset& preset : Presets()) {
    std::string& list = preset.available ? available : missing;
    list += (list.empty() ? "" : ", ") + std::string(preset.name);
  }
  const std::string known =
      missing.empty() ? available : available + " (not available in this version: " + missing + ")";
  const absl::Status unknown = FindPreset("surf").status();
  EXPECT_EQ(ReasonOf(unknown), ErrorReason::kBadOptions);
  EXPECT_EQ(std::string(unknown.message()), "preset must be one of " + known + "; got \"surf\"");
  for (const Preset& preset : Presets()) {
    if (preset.available) continue;
    EXPECT_EQ(std::string(FindPreset(preset.name).status().message()),
              "preset \"" + std::string(preset.name) +
                  "\" is not available in this version; available are " + available);
  }
}

TEST(PresetsTest, EveryPresetIsEitherUsableOrSaysThatItIsNot) {
  for (const Preset& preset : Presets()) {
    const auto found = FindPreset(preset.name);
    if (preset.available) {
      ASSERT_TRUE(found.ok()) << preset.name;
      EXPECT_TRUE(preset.pipeline.Validate().ok()) << preset.name;
      EXPECT_TRUE(preset.frame.Validate().ok()) << preset.name;
      EXPECT_TRUE(preset.match.Validate().ok()) << preset.name;
    } else {
      EXPECT_EQ(ReasonOf(found.status()), ErrorReason::kUnsupported) << preset.name;
    }
  }
}

TEST(PresetsTest, OdometryIsVioWithMoreCornersAndOtherTracks) {
  const Preset& odometry = **FindPreset("odometry");
  const Preset& vio = **FindPreset("vio");
  EXPECT_EQ(odometry.pipeline, vio.pipeline);
  FrameParameters frame = odometry.frame;
  EXPECT_EQ(frame.max_features, 300);
  frame.max_features = vio.frame.max_features;
  EXPECT_EQ(frame, vio.frame);
  EXPECT_EQ(vio.track, TrackOptions{});  // those of the paper
  EXPECT_EQ(odometry.track, (TrackOptions{.max_residual = 12.0f,
                                          .illumination = Illumination::kOffset,
                                          .redetect_percent = 70}));
}

TEST(DescriptorBytesTest, AreThoseOfTheWire) {
  EXPECT_EQ(DescriptorBytes(Descriptor::kNone), 0);
  EXPECT_EQ(DescriptorBytes(Descriptor::kRBrief32), 4);
  EXPECT_EQ(DescriptorBytes(Descriptor::kRBrief256), 32);
  EXPECT_EQ(DescriptorBytes(Descriptor::kBFrost256), 32);
}

TEST(PipelineOptionsTest, SiftDescribesWhatItDetectsAndNothingElse) {
  using O = PipelineOptions;
  ExpectRefused<O>(
      {
          {"describe.descriptor_type is SIFT and detect.detector is FAST; allowed: detect.detector "
           "SIFT, or another descriptor_type",
           [](O& o) { o.describe.descriptor = Descriptor::kSift; }},
          {"detect.detector is SIFT and describe.descriptor_type is RBRIEF_256; allowed: "
           "describe.descriptor_type SIFT, ROOT_SIFT, L1_ROOT_SIFT or NONE, or another detector",
           [](O& o) { o.detect.detector = Detector::kSift; }},
          {"sift.sigma must be in [0.1, 4]; got 5", [](O& o) { o.sift.sigma = 5.0; }},
          {"select.selection is ORB_SLAM3 and detect.detector is SIFT",
           [](O& o) {
             o = (*FindPreset("orb-slam3"))->pipeline;
             o.detect.detector = Detector::kSift;
             o.describe.descriptor = Descriptor::kSift;
           }},
      },
      ErrorReason::kBadOptions);
  O options = (*FindPreset("sift"))->pipeline;
  options.describe.descriptor = Descriptor::kNone;
  EXPECT_TRUE(options.Validate().ok());
  // Options of other detectors have no effect.
  options.describe.orientation = Orientation::kNone;
  options.select.border_px = 0;
  EXPECT_TRUE(options.Validate().ok());
  const absl::Status tracks = CheckTrackPyramid(options);
  EXPECT_EQ(ReasonOf(tracks), ErrorReason::kBadOptions);
  EXPECT_THAT(tracks.message(), HasSubstr("track is on and detect.detector is SIFT"));
}

TEST(DescriptorOfBytesTest, IsWhatTheNumberOfBytesStoodFor) {
  EXPECT_EQ(DescriptorOfBytes(32), Descriptor::kRBrief256);
  EXPECT_EQ(DescriptorOfBytes(4), Descriptor::kRBrief32);
  EXPECT_EQ(DescriptorOfBytes(0), Descriptor::kNone);
}

TEST(ErrorReasonsTest, TableIsInOrderAndErrorsKeepTheirReason) {
  for (size_t i = 0; i < kErrorReasons.size(); ++i) {
    const ErrorReason reason = static_cast<ErrorReason>(i);
    EXPECT_EQ(kErrorReasons[i].reason, reason);
    const absl::Status status = MakeError(reason, "what was wrong");
    EXPECT_EQ(status.code(), kErrorReasons[i].code);
    EXPECT_EQ(ReasonOf(status), reason);
    EXPECT_EQ(status.message(), "what was wrong");
  }
  EXPECT_EQ(ReasonOf(absl::InternalError("other")), ErrorReason::kInternal);
}

}  // namespace
}  // namespace orbserve
