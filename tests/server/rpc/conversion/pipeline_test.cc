// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/pipeline.h"

#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/reason_of_failure.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

// Compares the names and the numbers of the wire's enum with those of ours; adds it to `seen`.
template <typename P, typename E>
void ExpectOurNames(std::set<std::string>* seen) {
  const auto& type = *google::protobuf::GetEnumDescriptor<P>();
  seen->insert(std::string(type.name()));
  const std::string zero(type.value(0)->name());
  ASSERT_TRUE(absl::EndsWith(zero, "UNSPECIFIED")) << zero;
  const std::string prefix = zero.substr(0, zero.size() - absl::string_view("UNSPECIFIED").size());
  ASSERT_EQ(type.value_count(), static_cast<int>(orbserve::AllOf<E>().size()) + 1) << type.name();
  for (const E value : orbserve::AllOf<E>()) {
    const int number = static_cast<int>(value) + 1;
    ASSERT_NE(type.FindValueByNumber(number), nullptr) << type.name() << " " << number;
    EXPECT_EQ(type.FindValueByNumber(number)->name(), absl::StrCat(prefix, EnumName(value)));
  }
}

TEST(PipelineConversionTest, EveryEnumOfTheWireIsOneOfOursByNameAndNumber) {
  // Numbers of these are no values of an enum of ours.
  std::set<std::string> seen = {"CandidateTest", "MatchSelection"};
  ExpectOurNames<v1::PyramidSource, PyramidSource>(&seen);
  ExpectOurNames<v1::Detector, Detector>(&seen);
  ExpectOurNames<v1::Score, Score>(&seen);
  ExpectOurNames<v1::Suppression, Suppression>(&seen);
  ExpectOurNames<v1::Compare, Compare>(&seen);
  ExpectOurNames<v1::DistanceShape, DistanceShape>(&seen);
  ExpectOurNames<v1::Selection, Selection>(&seen);
  ExpectOurNames<v1::Orientation, Orientation>(&seen);
  ExpectOurNames<v1::DescriptorType, Descriptor>(&seen);
  ExpectOurNames<v1::Illumination, Illumination>(&seen);
  ExpectOurNames<v1::TrackTemplate, TrackTemplate>(&seen);
  const auto& pipeline = *v1::Pipeline::descriptor();
  for (int i = 0; i < pipeline.field_count(); ++i) {
    const auto* const group = pipeline.field(i)->message_type();
    for (int j = 0; group != nullptr && j < group->field_count(); ++j) {
      const auto* const type = group->field(j)->enum_type();
      if (type == nullptr) continue;
      EXPECT_TRUE(seen.contains(std::string(type->name()))) << type->name();
    }
  }
}

TEST(PipelineConversionTest, AnEmptyPipelineIsThePresetOrb) {
  const auto pipeline = PipelineFromProto({});
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ(pipeline->preset, "orb");
  EXPECT_EQ(pipeline->options, PipelineOptions());
  EXPECT_EQ(pipeline->frame, FrameParameters());
  EXPECT_EQ(pipeline->match, MatchOptions());
  EXPECT_EQ(pipeline->track, TrackOptions());
}

TEST(PipelineConversionTest, APipelineSurvivesTheWayToTheWireAndBack) {
  v1::Pipeline proto;
  proto.mutable_pyramid()->set_levels(4);
  proto.mutable_pyramid()->set_scale_factor(2.0f);
  proto.mutable_detect()->set_fast_threshold(7);
  proto.mutable_detect()->set_score(v1::SCORE_FAST);
  proto.mutable_select()->set_max_features(123);
  proto.mutable_match()->set_selection(v1::MATCH_SELECTION_K_BEST);
  proto.mutable_match()->set_k(3);
  const auto pipeline = PipelineFromProto(proto);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->options.detect.score, Score::kFast);
  EXPECT_EQ(pipeline->frame.fast_threshold_grey, 7);
  EXPECT_EQ(pipeline->match.k, 3);
  v1::Pipeline resolved;
  PipelineToProto(*pipeline, &resolved);
  const auto again = PipelineFromProto(resolved);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->options, pipeline->options);
  EXPECT_EQ(again->frame, pipeline->frame);
  EXPECT_EQ(again->match, pipeline->match);
}

// Every option differs from the preset `orb`, so that none can be lost unnoticed.
v1::Pipeline PipelineUnlikeOrb() {
  v1::Pipeline proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        preset: "orb"
        pyramid { levels: 3 scale_factor: 2 source: PYRAMID_SOURCE_LEVEL_ZERO }
        detect {
          detector: DETECTOR_SHI_TOMASI
          fast_threshold: 30
          fast_arc_length: 11
          candidate_test: CANDIDATE_TEST_BIT_TABLE
          score: SCORE_SAD_CIRCLE
          quality_level: 0.25
          fast_threshold_low: 6
        }
        suppress {
          suppression: SUPPRESSION_MINIMUM_DISTANCE
          window_px: 7
          cell_width_px: 64
          cell_height_px: 24
          minimum_distance_px: 11
          compare: COMPARE_SCORE
          distance_shape: DISTANCE_SHAPE_DISC
          cornerness_compression: true
          max_passes: 3
        }
        select {
          selection: SELECTION_QUADTREE
          max_features: 123
          capacity: 456
          border_px: 50
          lapping_begin_px: 17
          lapping_end_px: 300
        }
        describe { orientation: ORIENTATION_ARC_MIDDLE descriptor_type: DESCRIPTOR_TYPE_BFROST_256 }
        match {
          selection: MATCH_SELECTION_K_BEST
          k: 3
          ratio: 0
          cross_check: false
          max_distance: 99
          window_px: 12.5
          offset_x: -3
          offset_y: 4.5
          min_dx: -2.5
          max_dx: 64
          max_dy: 1.5
          fundamental: [ 0, 0.1, 0, 0, 0, -1, 0, 1, 7 ]
          max_epipolar_px: 0.75
        }
        track {
          levels: 7
          coarse_patch_px: 8
          iterations: 12
          epsilon_px: 0.25
          min_eigen: 2.5
          max_residual: 17.5
          illumination: ILLUMINATION_GAIN
          template: TRACK_TEMPLATE_FIRST
          redetect_percent: 70
        }
        sift {
          octave_layers: 5
          contrast_threshold: 0.01
          edge_threshold: 7.5
          sigma: 1.1
          first_octave: 0
        }
      )pb",
      &proto));
  return proto;
}

TEST(PipelineConversionTest, EveryOptionOfTheWireIsOneOfOurs) {
  const auto read = ReadPipeline(PipelineUnlikeOrb());
  ASSERT_TRUE(read.ok()) << read.status();
  PipelineOptions options;
  options.pyramid = {3, 2.0f, PyramidSource::kLevelZero};
  options.detect = {Detector::kShiTomasi, 11, CandidateTest::kBitTable, Score::kSadCircle};
  options.suppress = {.suppression = Suppression::kMinimumDistance,
                      .compare = Compare::kScore,
                      .window_px = 7,
                      .cell_width_px = 64,
                      .cell_height_px = 24,
                      .minimum_distance_px = 11,
                      .distance_shape = DistanceShape::kDisc,
                      .cornerness_compression = true,
                      .max_passes = 3};
  options.select = {Selection::kQuadtree, 456, 50};
  options.describe = {Orientation::kArcMiddle, Descriptor::kBFrost256};
  options.sift = {5, 0.01, 7.5, 1.1, 0};
  EXPECT_EQ(read->options, options);
  const FrameParameters frame = {.max_features = 123,
                                 .fast_threshold_grey = 30,
                                 .fast_threshold_low_grey = 6,
                                 .quality_level = 0.25f,
                                 .lapping_begin_px = 17,
                                 .lapping_end_px = 300};
  EXPECT_EQ(read->frame, frame);
  const MatchOptions match = {.k = 3,
                              .max_distance = 99,
                              .window_px = 12.5f,
                              .offset_x_px = -3.0f,
                              .offset_y_px = 4.5f,
                              .min_dx_px = -2.5f,
                              .max_dx_px = 64.0f,
                              .max_dy_px = 1.5f,
                              .fundamental = {0, 0.1, 0, 0, 0, -1, 0, 1, 7},
                              .max_epipolar_px = 0.75f};
  EXPECT_EQ(read->match, match);
  const TrackOptions track = {.levels = 7,
                              .coarse_patch_px = 8,
                              .iterations = 12,
                              .epsilon_px = 0.25f,
                              .min_eigen = 2.5f,
                              .max_residual = 17.5f,
                              .illumination = Illumination::kGain,
                              .track_template = TrackTemplate::kFirst,
                              .redetect_percent = 70};
  EXPECT_EQ(read->track, track);
}

TEST(PipelineConversionTest, EveryOptionOfOursIsOneOfTheWire) {
  const v1::Pipeline proto = PipelineUnlikeOrb();
  v1::Pipeline again;
  PipelineToProto(*ReadPipeline(proto), &again);
  EXPECT_EQ(again.DebugString(), proto.DebugString());
}

TEST(PipelineConversionTest, EveryPresetSurvivesTheWayToTheWireAndBack) {
  for (const Preset& preset : Presets()) {
    v1::Pipeline proto;
    PipelineToProto(
        {std::string(preset.name), preset.pipeline, preset.frame, preset.match, preset.track},
        &proto);
    proto.clear_preset();  // those that are not available can be written out, too
    const auto read = ReadPipeline(proto);
    ASSERT_TRUE(read.ok()) << preset.name << read.status();
    EXPECT_EQ(read->options, preset.pipeline) << preset.name;
    EXPECT_EQ(read->frame, preset.frame) << preset.name;
    EXPECT_EQ(read->match, preset.match) << preset.name;
    EXPECT_EQ(read->track, preset.track) << preset.name;
  }
}

TEST(PipelineConversionTest, OptionsThatContradictEachOtherAreRefusedWithBoth) {
  using P = v1::Pipeline;
  const struct {
    const char* message;
    void (*change)(P&);
  } rows[] = {
      {"fast_threshold_low is 7 and detect.detector is not FAST; allowed: fast_threshold_low 0",
       [](P& p) {
         p.mutable_detect()->set_fast_threshold_low(7);
         p.mutable_detect()->set_detector(v1::DETECTOR_HARRIS);
         // The rest of the pipeline is that of harris-corners.
         p.mutable_describe()->set_descriptor_type(v1::DESCRIPTOR_TYPE_NONE);
         p.mutable_describe()->set_orientation(v1::ORIENTATION_NONE);
       }},
      {"fast_threshold_low must be 0 (off), or in [1, 20], up to fast_threshold; got 21",
       [](P& p) { p.mutable_detect()->set_fast_threshold_low(21); }},
      {"detect.score is SAD_ARC and suppress.compare is FAST",
       [](P& p) { p.mutable_detect()->set_score(v1::SCORE_SAD_ARC); }},
      {"suppress.suppression is CELL and select.selection is LEVEL_QUOTA",
       [](P& p) { p.mutable_suppress()->set_suppression(v1::SUPPRESSION_CELL); }},
      {"suppress.cornerness_compression is on and suppress.distance_shape is DISC",
       [](P& p) {
         p.mutable_suppress()->set_cornerness_compression(true);
         p.mutable_suppress()->set_distance_shape(v1::DISTANCE_SHAPE_DISC);
       }},
      {"match.offset_x is 3 and match.window_px is 0 (off)",
       [](P& p) { p.mutable_match()->set_offset_x(3); }},
      {"match.offset_y is -3 and match.window_px is 0 (off)",
       [](P& p) { p.mutable_match()->set_offset_y(-3); }},
      {"match.fundamental must be nine numbers, row by row; got 8",
       [](P& p) {
         for (int i = 0; i < 8; ++i) p.mutable_match()->add_fundamental(1);
         p.mutable_match()->set_max_epipolar_px(1);
       }},
      {"match.min_dx is 5 and match.max_dx is 4",
       [](P& p) {
         p.mutable_match()->set_min_dx(5);
         p.mutable_match()->set_max_dx(4);
       }},
      {"suppress.max_passes must be in [0, 10000]; got 10001",
       [](P& p) { p.mutable_suppress()->set_max_passes(10'001); }},
      {"suppress.minimum_distance_px must be in [1, 64]; got 0",
       [](P& p) { p.mutable_suppress()->set_minimum_distance_px(0); }},
      {"suppress.compare must be one of the values known to this server, 1 to 2; got 3",
       [](P& p) { p.mutable_suppress()->set_compare(static_cast<v1::Compare>(3)); }},
      {"suppress.distance_shape must be one of the values known to this server, 1 to 2; got -1",
       [](P& p) { p.mutable_suppress()->set_distance_shape(static_cast<v1::DistanceShape>(-1)); }},
  };
  for (const auto& row : rows) {
    v1::Pipeline proto;
    row.change(proto);
    const absl::Status status = PipelineFromProto(proto).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions) << row.message;
  }
}

TEST(PipelineConversionTest, EveryKindOfLightAndTemplateIsOneOfOurs) {
  const std::pair<v1::Illumination, Illumination> lights[] = {
      {v1::ILLUMINATION_UNSPECIFIED, Illumination::kNone},
      {v1::ILLUMINATION_NONE, Illumination::kNone},
      {v1::ILLUMINATION_OFFSET, Illumination::kOffset},
      {v1::ILLUMINATION_GAIN, Illumination::kGain},
      {v1::ILLUMINATION_BOTH, Illumination::kBoth}};
  v1::Pipeline proto;
  for (const auto& [wire, ours] : lights) {
    proto.mutable_track()->set_illumination(wire);
    EXPECT_EQ(PipelineFromProto(proto)->track.illumination, ours);
  }
  const std::pair<v1::TrackTemplate, TrackTemplate> templates[] = {
      {v1::TRACK_TEMPLATE_UNSPECIFIED, TrackTemplate::kPrevious},
      {v1::TRACK_TEMPLATE_PREVIOUS, TrackTemplate::kPrevious},
      {v1::TRACK_TEMPLATE_FIRST, TrackTemplate::kFirst}};
  for (const auto& [wire, ours] : templates) {
    proto.mutable_track()->set_template_(wire);
    EXPECT_EQ(PipelineFromProto(proto)->track.track_template, ours);
  }
}

TEST(PipelineConversionTest, TrackOptionsOutOfRangeAreRefusedWithFieldValueAndRange) {
  using T = v1::TrackOptions;
  constexpr uint32_t kHuge = 4294967295u;
  const struct {
    const char* message;
    void (*change)(T&);
  } rows[] = {
      {"track.levels must be in [1, 11]; got 0", [](T& t) { t.set_levels(0); }},
      {"track.levels must be in [1, 11]; got 12", [](T& t) { t.set_levels(12); }},
      {"track.levels must be in [1, 11]; got 4294967295", [](T& t) { t.set_levels(kHuge); }},
      {"track.coarse_patch_px must be 8 or 16; got 0", [](T& t) { t.set_coarse_patch_px(0); }},
      {"track.coarse_patch_px must be 8 or 16; got 12", [](T& t) { t.set_coarse_patch_px(12); }},
      {"track.coarse_patch_px must be 8 or 16; got 4294967295",
       [](T& t) { t.set_coarse_patch_px(kHuge); }},
      {"track.iterations must be in [1, 100]; got 0", [](T& t) { t.set_iterations(0); }},
      {"track.iterations must be in [1, 100]; got 101", [](T& t) { t.set_iterations(101); }},
      {"track.iterations must be in [1, 100]; got 4294967295",
       [](T& t) { t.set_iterations(kHuge); }},
      {"track.epsilon_px must be in [0.001, 1]; got 0", [](T& t) { t.set_epsilon_px(0); }},
      {"track.epsilon_px must be in [0.001, 1]; got 1.5", [](T& t) { t.set_epsilon_px(1.5f); }},
      {"track.epsilon_px must be in [0.001, 1]; got nan",
       [](T& t) { t.set_epsilon_px(std::nanf("")); }},
      {"track.min_eigen must be in [0.001, 1000]; got 0", [](T& t) { t.set_min_eigen(0); }},
      {"track.min_eigen must be in [0.001, 1000]; got 1001", [](T& t) { t.set_min_eigen(1001); }},
      {"track.min_eigen must be in [0.001, 1000]; got inf",
       [](T& t) { t.set_min_eigen(HUGE_VALF); }},
      {"track.max_residual must be above 0 and up to 128 (off); got 0",
       [](T& t) { t.set_max_residual(0); }},
      {"track.max_residual must be above 0 and up to 128 (off); got 128.5",
       [](T& t) { t.set_max_residual(128.5f); }},
      {"track.max_residual must be above 0 and up to 128 (off); got nan",
       [](T& t) { t.set_max_residual(std::nanf("")); }},
      {"track.illumination must be one of the values known to this server, 1 to 4; got 5",
       [](T& t) { t.set_illumination(static_cast<v1::Illumination>(5)); }},
      {"track.template must be one of the values known to this server, 1 to 2; got -1",
       [](T& t) { t.set_template_(static_cast<v1::TrackTemplate>(-1)); }},
      {"track.redetect_percent must be in [0, 100]; got 101",
       [](T& t) { t.set_redetect_percent(101); }},
      {"track.redetect_percent must be in [0, 100]; got 4294967295",
       [](T& t) { t.set_redetect_percent(kHuge); }},
  };
  for (const auto& row : rows) {
    v1::Pipeline proto;
    row.change(*proto.mutable_track());
    const absl::Status status = PipelineFromProto(proto).status();
    EXPECT_EQ(std::string(status.message()), row.message);
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions) << row.message;
  }
  const struct {
    void (*change)(T&);
  } edges[] = {
      {[](T& t) { t.set_levels(1); }},           {[](T& t) { t.set_levels(11); }},
      {[](T& t) { t.set_iterations(1); }},       {[](T& t) { t.set_iterations(100); }},
      {[](T& t) { t.set_epsilon_px(0.001f); }},  {[](T& t) { t.set_epsilon_px(1); }},
      {[](T& t) { t.set_min_eigen(0.001f); }},   {[](T& t) { t.set_min_eigen(1000); }},
      {[](T& t) { t.set_max_residual(0.5f); }},  {[](T& t) { t.set_max_residual(128); }},
      {[](T& t) { t.set_redetect_percent(0); }}, {[](T& t) { t.set_redetect_percent(100); }}};
  for (const auto& edge : edges) {
    v1::Pipeline proto;
    edge.change(*proto.mutable_track());
    EXPECT_TRUE(PipelineFromProto(proto).ok()) << proto.DebugString();
  }
}

TEST(PipelineConversionTest, AFramesSecondThresholdNeedsFast) {
  ResolvedPipeline pipeline;
  v1::FrameParameters frame;
  frame.set_fast_threshold_low(21);
  absl::Status status = FrameParametersFromProto(frame, pipeline).status();
  EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions);
  EXPECT_THAT(std::string(status.message()), HasSubstr("up to fast_threshold; got 21"));
  frame.set_fast_threshold_low(7);
  const auto accepted = FrameParametersFromProto(frame, pipeline);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(accepted->fast_threshold_low_grey, 7);
  // A frame may switch off the threshold of its pipeline, or keep it.
  pipeline.frame.fast_threshold_low_grey = 7;
  frame.set_fast_threshold_low(0);
  const auto off = FrameParametersFromProto(frame, pipeline);
  ASSERT_TRUE(off.ok()) << off.status();
  EXPECT_EQ(off->fast_threshold_low_grey, 0);
  // The frame's first threshold is below the pipeline's second one.
  frame.Clear();
  frame.set_fast_threshold(6);
  status = FrameParametersFromProto(frame, pipeline).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("[1, 6], up to fast_threshold; got 7"));

  pipeline.options.detect.detector = Detector::kHarris;
  pipeline.frame.fast_threshold_low_grey = 0;
  frame.Clear();
  frame.set_fast_threshold_low(7);
  status = FrameParametersFromProto(frame, pipeline).status();
  EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("fast_threshold_low is 7 and detect.detector is not FAST"));
  frame.set_fast_threshold_low(0);
  EXPECT_TRUE(FrameParametersFromProto(frame, pipeline).ok());
}

TEST(PipelineConversionTest, AFramesParametersReplaceThoseOfItsPipeline) {
  ResolvedPipeline pipeline;
  pipeline.frame = {.max_features = 7,
                    .fast_threshold_grey = 40,
                    .fast_threshold_low_grey = 9,
                    .quality_level = 0.5f,
                    .lapping_begin_px = 1,
                    .lapping_end_px = 2};
  pipeline.match = {.ratio = 0.75f, .max_distance = 64};
  v1::FrameParameters frame;
  EXPECT_EQ(*FrameParametersFromProto(frame, pipeline), pipeline.frame);
  EXPECT_EQ(*FrameMatchFromProto(frame, pipeline.match), pipeline.match);
  frame.set_max_features(8);
  frame.set_fast_threshold(41);
  frame.set_fast_threshold_low(10);
  frame.set_quality_level(0.25f);
  frame.set_lapping_begin_px(3);
  frame.set_lapping_end_px(0);
  frame.set_match_ratio(0.5f);
  frame.set_match_max_distance(65);
  const FrameParameters parameters = {.max_features = 8,
                                      .fast_threshold_grey = 41,
                                      .fast_threshold_low_grey = 10,
                                      .quality_level = 0.25f,
                                      .lapping_begin_px = 3,
                                      .lapping_end_px = 0};
  EXPECT_EQ(*FrameParametersFromProto(frame, pipeline), parameters);
  const MatchOptions match = {.ratio = 0.5f, .max_distance = 65};
  EXPECT_EQ(*FrameMatchFromProto(frame, pipeline.match), match);
}

TEST(PipelineConversionTest, AFrameMayHaveAWindowOfItsOwn) {
  const MatchOptions pipeline = {.window_px = 9.0f, .offset_x_px = 1.0f, .offset_y_px = 2.0f};
  v1::FrameParameters frame;
  EXPECT_EQ(*FrameMatchFromProto(frame, pipeline), pipeline);
  frame.set_match_offset_x(-8.0f);
  frame.set_match_offset_y(16.0f);
  MatchOptions moved = pipeline;
  moved.offset_x_px = -8.0f;
  moved.offset_y_px = 16.0f;
  EXPECT_EQ(*FrameMatchFromProto(frame, pipeline), moved);
  const absl::Status none = FrameMatchFromProto(frame, {}).status();
  EXPECT_EQ(ReasonOfFailure(none), ErrorReason::kBadOptions);
  EXPECT_THAT(std::string(none.message()),
              HasSubstr("match.offset_x is -8 and match.window_px is 0 (off)"));
  frame.set_match_window_px(4.0f);
  moved.window_px = 4.0f;
  EXPECT_EQ(*FrameMatchFromProto(frame, {}), moved);
  for (const float bad : {-1.0f, std::nanf(""), HUGE_VALF}) {
    frame.set_match_window_px(bad);
    EXPECT_EQ(ReasonOfFailure(FrameMatchFromProto(frame, {}).status()), ErrorReason::kBadOptions);
  }
}

TEST(PipelineConversionTest, TheCandidateTestIsThatOfTheClient) {
  v1::Pipeline proto;
  EXPECT_EQ(PipelineFromProto(proto)->options.detect.candidate_test, CandidateTest::kAutomatic);
  proto.mutable_detect()->set_candidate_test(v1::CANDIDATE_TEST_BINARY_ENCODING);
  EXPECT_EQ(PipelineFromProto(proto)->options.detect.candidate_test,
            CandidateTest::kBinaryEncoding);
  proto.mutable_detect()->set_candidate_test(v1::CANDIDATE_TEST_BIT_TABLE);
  EXPECT_EQ(PipelineFromProto(proto)->options.detect.candidate_test, CandidateTest::kBitTable);
  proto.mutable_detect()->set_candidate_test(static_cast<v1::CandidateTest>(3));
  EXPECT_EQ(ReasonOfFailure(PipelineFromProto(proto).status()), ErrorReason::kBadOptions);
}

TEST(PipelineConversionTest, TheQualityLevelIsThePipelinesUnlessTheFrameHasOne) {
  v1::Pipeline proto;
  proto.mutable_detect()->set_quality_level(0.25f);
  const auto pipeline = PipelineFromProto(proto);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->frame.quality_level, 0.25f);
  EXPECT_EQ(pipeline->options, PipelineOptions()) << "it must not part plans";
  v1::Pipeline resolved;
  PipelineToProto(*pipeline, &resolved);
  EXPECT_EQ(resolved.detect().quality_level(), 0.25f);

  v1::FrameParameters frame;
  EXPECT_EQ(FrameParametersFromProto(frame, *pipeline)->quality_level, 0.25f);
  frame.set_quality_level(0.5f);
  EXPECT_EQ(FrameParametersFromProto(frame, *pipeline)->quality_level, 0.5f);

  for (const float bad : {0.0f, 1.0f, -1.0f, std::nanf("")}) {
    proto.mutable_detect()->set_quality_level(bad);
    EXPECT_EQ(ReasonOfFailure(PipelineFromProto(proto).status()), ErrorReason::kBadOptions) << bad;
    frame.set_quality_level(bad);
    const absl::Status status = FrameParametersFromProto(frame, {}).status();
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("quality_level must be above 0"));
  }
}

TEST(PipelineConversionTest, AnErrorOfAFramesOptionsSaysThatItIsTheFrames) {
  v1::FrameParameters frame;
  frame.set_max_features(0);
  EXPECT_EQ(FrameParametersFromProto(frame, {}).status().message(),
            "frame.parameters: max_features must be in [1, 100000]; got 0");
  frame.Clear();
  frame.set_match_ratio(2);
  const absl::Status status = FrameMatchFromProto(frame, {}).status();
  EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions);
  EXPECT_EQ(status.message(), "frame.parameters: match.ratio must be in [0, 1]; got 2");
}

TEST(PipelineConversionTest, KBelongsToKBest) {
  v1::MatchOptions proto;
  proto.set_selection(v1::MATCH_SELECTION_K_BEST);
  EXPECT_EQ(MatchOptionsFromProto(proto, {})->k, 2);
  proto.set_selection(v1::MATCH_SELECTION_BEST);
  proto.set_k(2);
  EXPECT_EQ(ReasonOfFailure(MatchOptionsFromProto(proto, {}).status()), ErrorReason::kBadOptions);
  proto.set_selection(static_cast<v1::MatchSelection>(9));
  EXPECT_EQ(ReasonOfFailure(MatchOptionsFromProto(proto, {}).status()), ErrorReason::kBadOptions);
}

TEST(PipelineConversionTest, NumbersThatDoNotFitAreToldAsGiven) {
  constexpr uint32_t kHuge = 4294967295u;
  using P = v1::Pipeline;
  const struct {
    const char* message;
    void (*change)(P&);
  } rows[] = {
      {"pyramid.levels must be in [1, 16]; got ",
       [](P& p) { p.mutable_pyramid()->set_levels(kHuge); }},
      {"fast_threshold must be in [1, 254]; got ",
       [](P& p) { p.mutable_detect()->set_fast_threshold(kHuge); }},
      {"detect.fast_arc_length must be in [9, 12]; got ",
       [](P& p) { p.mutable_detect()->set_fast_arc_length(kHuge); }},
      {"suppress.window_px must be in [3, 9]; got ",
       [](P& p) { p.mutable_suppress()->set_window_px(kHuge); }},
      {"suppress.cell_width_px must be in [32, 512]; got ",
       [](P& p) { p.mutable_suppress()->set_cell_width_px(kHuge); }},
      {"suppress.cell_height_px must be in [8, 512]; got ",
       [](P& p) { p.mutable_suppress()->set_cell_height_px(kHuge); }},
      {"suppress.minimum_distance_px must be in [1, 64]; got ",
       [](P& p) { p.mutable_suppress()->set_minimum_distance_px(kHuge); }},
      {"suppress.max_passes must be in [0, 10000]; got ",
       [](P& p) { p.mutable_suppress()->set_max_passes(kHuge); }},
      {"fast_threshold_low must be in [0, 254]; got ",
       [](P& p) { p.mutable_detect()->set_fast_threshold_low(kHuge); }},
      {"max_features must be in [1, 100000]; got ",
       [](P& p) { p.mutable_select()->set_max_features(kHuge); }},
      {"select.capacity must be in [1, 100000]; got ",
       [](P& p) { p.mutable_select()->set_capacity(kHuge); }},
      {"select.border_px must be in [22, 255]; got ",
       [](P& p) { p.mutable_select()->set_border_px(kHuge); }},
      {"lapping_begin_px must be in [0, 1000000]; got ",
       [](P& p) { p.mutable_select()->set_lapping_begin_px(kHuge); }},
      {"lapping_end_px must be in [0, 1000000]; got ",
       [](P& p) { p.mutable_select()->set_lapping_end_px(kHuge); }},
      {"match.max_distance must be in [0, 8323200]; got ",
       [](P& p) { p.mutable_match()->set_max_distance(kHuge); }},
      {"match.k must be in [1, 16]; got ",
       [](P& p) {
         p.mutable_match()->set_selection(v1::MATCH_SELECTION_K_BEST);
         p.mutable_match()->set_k(kHuge);
       }},
  };
  for (const auto& row : rows) {
    v1::Pipeline proto;
    row.change(proto);
    const absl::Status status = PipelineFromProto(proto).status();
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions) << row.message;
    EXPECT_EQ(std::string(status.message()), absl::StrCat(row.message, kHuge));
  }
  v1::FrameParameters frame;
  frame.set_max_features(kHuge);
  EXPECT_THAT(std::string(FrameParametersFromProto(frame, {}).status().message()),
              HasSubstr("got 4294967295"));
  frame.Clear();
  frame.set_fast_threshold(kHuge);
  EXPECT_THAT(std::string(FrameParametersFromProto(frame, {}).status().message()),
              HasSubstr("got 4294967295"));
  frame.Clear();
  frame.set_fast_threshold_low(kHuge);
  EXPECT_THAT(std::string(FrameParametersFromProto(frame, {}).status().message()),
              HasSubstr("got 4294967295"));
  frame.Clear();
  frame.set_match_max_distance(kHuge);
  EXPECT_THAT(std::string(FrameMatchFromProto(frame, {}).status().message()),
              HasSubstr("got 4294967295"));
}

}  // namespace
}  // namespace orbserve
