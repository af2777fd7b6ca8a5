// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every value of every option on the CPU backend: the answer of the independent oracle from the
// reference and from every SIMD target, and another one than with another value.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cpu/cpu_backend_support.h"
#include "tests/support/feature_compare.h"
#include "tests/support/match_oracle.h"
#include "tests/support/method_oracle.h"
#include "tests/support/option_values.h"
#include "tests/support/reference_answers.h"
#include "tests/support/track_oracle.h"
#include "tests/support/track_stream.h"

namespace orbserve::cpu {
namespace {

using ::orbserve::testing::OptionValue;

Features AnswerOfOracle(const testing::TestImage& image, const PipelineOptions& pipeline,
                        const FrameParameters& parameters) {
  // The oracle of SIFT is OpenCV itself (sift_parity.cc), with which the plain loops agree.
  if (pipeline.detect.detector == Detector::kSift) {
    return *Compute(*Backend({.threads = 1, .reference = true}), image, pipeline, parameters);
  }
  testing::OracleOptions options = testing::OracleOptionsOf(pipeline, parameters);
  options.count_passes = pipeline.suppress.suppression == Suppression::kMinimumDistance;
  const testing::GreyPlane plane = testing::PlaneOf(image.view());
  const testing::OracleAnswer answer = testing::OracleExtract(plane, nullptr, options);
  Features features = testing::FeaturesOf(answer, plane, options);
  features.suppression_passes = answer.passes;
  features.truncated = answer.truncated;
  return features;
}

class CpuOptionValueTest : public ::testing::TestWithParam<OptionValue> {};

TEST_P(CpuOptionValueTest, GivesTheOraclesAnswerAndNotThatOfAnotherValue) {
  const OptionValue& value = GetParam();
  ASSERT_TRUE(value.pipeline.Validate().ok()) << value.pipeline.Validate();
  ASSERT_TRUE(value.parameters.Validate().ok()) << value.parameters.Validate();
  const testing::TestImage image = testing::OptionValueImage();
  const Features expected = AnswerOfOracle(image, value.pipeline, value.parameters);
  const Features other = AnswerOfOracle(image, value.other_pipeline, value.other_parameters);
  EXPECT_EQ(testing::FirstDifference(expected, other) != "", value.changes_answer);
  for (const auto& backend : AllBackends()) {
    SCOPED_TRACE(std::string(backend->devices()[0].details));
    const auto actual = Compute(*backend, image, value.pipeline, value.parameters);
    EXPECT_EQ(testing::FirstDifference(expected, *actual), "");
    EXPECT_EQ(actual->truncated, expected.truncated);
    EXPECT_EQ(actual->suppression_passes, expected.suppression_passes);
    EXPECT_EQ(actual->descriptor_kind(), value.pipeline.describe.descriptor);
  }
}

INSTANTIATE_TEST_SUITE_P(Values, CpuOptionValueTest, ::testing::ValuesIn(testing::OptionValues()),
                         testing::NameOfOptionValue());

using ::orbserve::testing::MatchOptionValue;

class CpuMatchOptionValueTest : public ::testing::TestWithParam<MatchOptionValue> {};

TEST_P(CpuMatchOptionValueTest, GivesTheOraclesMatchesAndNotThoseOfAnotherValue) {
  const MatchOptionValue& value = GetParam();
  const auto matches_of_oracle = [](const Features& query, const Features& train,
                                    const MatchOptions& options) {
    return testing::OracleMatch(query, train, options,
                                {options.window_px, options.offset_x_px, options.offset_y_px});
  };
  const auto columns = [](const Matches& matches) {
    return std::tuple(matches.query_index, matches.train_index, matches.distance);
  };
  const auto backends = AllBackends();
  const auto train = Compute(*backends[0], testing::OptionValueImage());
  const auto query = Compute(*backends[0], testing::OptionValueQueryImage());
  const Matches expected = matches_of_oracle(*query, *train, value.options);
  EXPECT_NE(columns(expected), columns(matches_of_oracle(*query, *train, value.other)));
  for (const auto& backend : backends) {
    SCOPED_TRACE(std::string(backend->devices()[0].details));
    const MatchBatchAnswer answer = testing::RunMatches(
        *backend, {{*backend->ImportState(query), *backend->ImportState(train), value.options}});
    ASSERT_TRUE(answer.pairs[0].status.ok()) << answer.pairs[0].status;
    EXPECT_EQ(columns(answer.pairs[0].matches), columns(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Values, CpuMatchOptionValueTest,
                         ::testing::ValuesIn(testing::MatchOptionValues()),
                         testing::NameOfOptionValue());

using ::orbserve::testing::TrackOptionValue;

// Tracks of OptionValueFrames() with the searches of the slow program. The reference detects.
std::vector<FrameTracks> TracksOfOracle(const TrackOptions& options,
                                        absl::string_view preset = "vio") {
  const std::vector<testing::TestImage> frames = testing::OptionValueFrames();
  std::vector<testing::TrackLevels> levels;
  for (const testing::TestImage& frame : frames) {
    levels.push_back(testing::OracleTrackPyramid(testing::PlaneOf(frame.view()), options.levels));
  }
  const auto reference = Backend({.threads = 1, .reference = true});
  auto tracks = testing::TracksOfStream(
      *reference, frames, options,
      [&](const testing::StreamSearch& search) {
        return testing::OracleSearch(levels[search.frame], levels[search.frame + 1], options,
                                     *search.points,
                                     [&](size_t point) -> const testing::TrackLevels& {
                                       return levels[search.begins[point]];
                                     });
      },
      preset);
  EXPECT_TRUE(tracks.ok()) << tracks.status();
  return tracks.ok() ? *std::move(tracks) : std::vector<FrameTracks>();
}

class CpuTrackOptionValueTest : public ::testing::TestWithParam<TrackOptionValue> {};

TEST_P(CpuTrackOptionValueTest, GivesTheOraclesTracksAndNotThoseOfAnotherValue) {
  const TrackOptionValue& value = GetParam();
  ASSERT_TRUE(value.options.Validate().ok()) << value.options.Validate();
  const std::vector<FrameTracks> expected = TracksOfOracle(value.options);
  EXPECT_NE(testing::FirstDifference(expected, TracksOfOracle(value.other)), "");
  for (const auto& backend : AllBackends()) {
    SCOPED_TRACE(std::string(backend->devices()[0].details));
    const auto actual =
        testing::TracksOfStream(*backend, testing::OptionValueFrames(), value.options);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(testing::FirstDifference(expected, *actual), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Values, CpuTrackOptionValueTest,
                         ::testing::ValuesIn(testing::TrackOptionValues()),
                         testing::NameOfOptionValue());

TEST(CpuTrackPresetTest, OdometryGivesTheTracksOfTheOracleAndNotThoseOfVio) {
  const TrackOptions& options = (*FindPreset("odometry"))->track;
  const std::vector<FrameTracks> expected = TracksOfOracle(options, "odometry");
  EXPECT_NE(testing::FirstDifference(expected, TracksOfOracle((*FindPreset("vio"))->track)), "");
  for (const auto& backend : AllBackends()) {
    SCOPED_TRACE(std::string(backend->devices()[0].details));
    const auto actual = testing::TracksOfStream(*backend, testing::OptionValueFrames(), options,
                                                nullptr, "odometry");
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(testing::FirstDifference(expected, *actual), "");
  }
}

}  // namespace
}  // namespace orbserve::cpu
