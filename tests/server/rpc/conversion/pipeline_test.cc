// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/pipeline.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/reason_of_failure.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

TEST(PipelineConversionTest, AnEmptyPipelineIsThePresetOrb) {
  const auto pipeline = PipelineFromProto({});
  ASSERT_TRUE(pipeline.ok());
  EXPECT_EQ(pipeline->preset, "orb");
  EXPECT_EQ(pipeline->options, PipelineOptions());
  EXPECT_EQ(pipeline->frame, FrameParameters());
  EXPECT_EQ(pipeline->match, MatchOptions());
}

TEST(PipelineConversionTest, APipelineSurvivesTheWayToTheWireAndBack) {
  v1::Pipeline proto;
  proto.mutable_pyramid()->set_levels(4);
  proto.mutable_pyramid()->set_scale_factor(2.0f);
  proto.mutable_detect()->set_fast_threshold(7);
  proto.mutable_detect()->set_score(v1::SCORE_LARGEST_THRESHOLD);
  proto.mutable_select()->set_max_features(123);
  proto.mutable_match()->set_selection(v1::MATCH_SELECTION_K_BEST);
  proto.mutable_match()->set_k(3);
  const auto pipeline = PipelineFromProto(proto);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_EQ(pipeline->options.detect.score, Score::kLargestThreshold);
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
  EXPECT_EQ(FrameParametersFromProto(frame, pipeline->frame)->quality_level, 0.25f);
  frame.set_quality_level(0.5f);
  EXPECT_EQ(FrameParametersFromProto(frame, pipeline->frame)->quality_level, 0.5f);

  for (const float bad : {0.0f, 1.0f, -1.0f, std::nanf("")}) {
    proto.mutable_detect()->set_quality_level(bad);
    EXPECT_EQ(ReasonOfFailure(PipelineFromProto(proto).status()), ErrorReason::kBadOptions) << bad;
    frame.set_quality_level(bad);
    const absl::Status status = FrameParametersFromProto(frame, {}).status();
    EXPECT_EQ(ReasonOfFailure(status), ErrorReason::kBadOptions) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("quality_level must be above 0"));
  }
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
      {"max_features must be in [1, 100000]; got ",
       [](P& p) { p.mutable_select()->set_max_features(kHuge); }},
      {"select.capacity must be in [1, 100000]; got ",
       [](P& p) { p.mutable_select()->set_capacity(kHuge); }},
      {"select.border_px must be in [22, 255]; got ",
       [](P& p) { p.mutable_select()->set_border_px(kHuge); }},
      {"match.max_distance must be in [0, 256]; got ",
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
  frame.set_match_max_distance(kHuge);
  EXPECT_THAT(std::string(FrameMatchFromProto(frame, {}).status().message()),
              HasSubstr("got 4294967295"));
}

}  // namespace
}  // namespace orbserve
