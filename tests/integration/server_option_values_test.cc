// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every value of every option, as text of the wire contract and as flags of the program `orbserve`,
// through a server: the answer of the backend for the options that are meant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/pipeline_flags.h"
#include "cpu/cpu_backend.h"
#include "google/protobuf/text_format.h"
#include "server/rpc/conversion/features.h"
#include "server/rpc/conversion/frame_result.h"
#include "tests/integration/server_fixture.h"
#include "tests/support/backend_runner.h"
#include "tests/support/match_oracle.h"
#include "tests/support/option_values.h"
#include "tests/support/track_stream.h"

namespace orbserve {
namespace {

using ::orbserve::testing::OptionValue;
using ::testing::ElementsAreArray;

class ServerOptionValueTest : public ServerTest, public ::testing::WithParamInterface<OptionValue> {
 protected:
  // Expects the answer of the CPU backend for the options of the value.
  void ExpectAnswerFor(const v1::Pipeline& pipeline) {
    const OptionValue& value = GetParam();
    const testing::TestImage image = testing::OptionValueImage();
    v1::ExtractRequest request;
    *request.mutable_pipeline() = pipeline;
    *request.mutable_frame() = FrameOf(testing::OptionValueImage());
    v1::ExtractResponse response;
    const grpc::Status status = Extract(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();

    auto backend = cpu::CreateCpuBackend({.threads = 1});
    ASSERT_TRUE(backend.ok()) << backend.status();
    const auto expected = testing::RunFrame(
        **backend, value.pipeline, {.image = image.view(), .parameters = value.parameters});
    ASSERT_TRUE(expected.ok()) << expected.status();
    const Features& features = **expected;
    const v1::FeatureSet& actual = response.features();
    EXPECT_THAT(actual.x(), ElementsAreArray(features.x));
    EXPECT_THAT(actual.y(), ElementsAreArray(features.y));
    EXPECT_THAT(actual.size(), ElementsAreArray(features.size));
    EXPECT_THAT(actual.angle(), ElementsAreArray(features.angle_deg));
    EXPECT_THAT(actual.response(), ElementsAreArray(features.response));
    EXPECT_THAT(actual.octave(), ElementsAreArray(features.octave));
    EXPECT_TRUE(std::equal(
        actual.descriptors().begin(), actual.descriptors().end(),
        reinterpret_cast<const char*>(features.descriptors.data()),
        reinterpret_cast<const char*>(features.descriptors.data()) + features.descriptors.size()));
    EXPECT_EQ(actual.descriptor_type(), DescriptorTypeToProto(value.pipeline.describe.descriptor));
    EXPECT_EQ(actual.truncated(), features.truncated);
    EXPECT_EQ(static_cast<int>(actual.suppression_passes()), features.suppression_passes);
  }
};

TEST_P(ServerOptionValueTest, OfTheWireGivesTheBackendsAnswer) {
  v1::Pipeline pipeline;
  for (const std::string& text : GetParam().wire) {
    ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &pipeline)) << text;
  }
  ExpectAnswerFor(pipeline);
}

TEST_P(ServerOptionValueTest, OfTheCommandLineGivesTheBackendsAnswer) {
  cli::PipelineFlagValues values;
  for (const auto& [flag, value] : GetParam().flags) values[flag] = {value};  // the last one counts
  v1::Pipeline pipeline;
  ASSERT_TRUE(cli::ApplyPipelineFlags(values, &pipeline).ok());
  ExpectAnswerFor(pipeline);
}

using ::orbserve::testing::MatchOptionValue;

class ServerMatchOptionValueTest : public ServerTest,
                                   public ::testing::WithParamInterface<MatchOptionValue> {
 protected:
  // Expects the matches of the oracle for the options of the value.
  void ExpectMatchesFor(v1::MatchRequest request) {
    auto backend = cpu::CreateCpuBackend({.threads = 1});
    ASSERT_TRUE(backend.ok()) << backend.status();
    const testing::TestImage images[] = {testing::OptionValueQueryImage(),
                                         testing::OptionValueImage()};
    std::shared_ptr<const Features> sides[2];
    for (int i = 0; i < 2; ++i) {
      const auto features = testing::RunFrame(**backend, {}, {.image = images[i].view()});
      ASSERT_TRUE(features.ok()) << features.status();
      sides[i] = *features;
    }
    FeaturesToProto(*sides[0], request.mutable_query_features());
    FeaturesToProto(*sides[1], request.mutable_train_features());
    v1::MatchResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->Match(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();

    const MatchOptions& options = GetParam().options;
    const Matches expected =
        testing::OracleMatch(*sides[0], *sides[1], options,
                             {options.window_px, options.offset_x_px, options.offset_y_px});
    EXPECT_THAT(response.matches().query_index(), ElementsAreArray(expected.query_index));
    EXPECT_THAT(response.matches().train_index(), ElementsAreArray(expected.train_index));
    EXPECT_THAT(response.matches().distance(), ElementsAreArray(expected.distance));
  }
};

TEST_P(ServerMatchOptionValueTest, OfTheWireGivesTheOraclesMatches) {
  v1::MatchRequest request;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(GetParam().wire, request.mutable_options()));
  ExpectMatchesFor(request);
}

TEST_P(ServerMatchOptionValueTest, OfTheCommandLineGivesTheOraclesMatches) {
  cli::PipelineFlagValues values;
  for (const auto& [flag, value] : GetParam().flags) values[flag] = {value};
  v1::MatchRequest request;
  ASSERT_TRUE(cli::ApplyPipelineFlags(values, request.mutable_pipeline()).ok());
  ExpectMatchesFor(request);
}

INSTANTIATE_TEST_SUITE_P(Values, ServerMatchOptionValueTest,
                         ::testing::ValuesIn(testing::MatchOptionValues()),
                         testing::NameOfOptionValue());

using ::orbserve::testing::TrackOptionValue;

class ServerTrackOptionValueTest : public ServerTest,
                                   public ::testing::WithParamInterface<TrackOptionValue> {
 protected:
  // Expects the tracks of the CPU backend for the options of the value.
  void ExpectTracksFor(const v1::Pipeline& pipeline) {
    const std::vector<testing::TestImage> frames = testing::OptionValueFrames();
    auto backend = cpu::CreateCpuBackend({.threads = 1});
    ASSERT_TRUE(backend.ok()) << backend.status();
    const auto expected = testing::TracksOfStream(**backend, frames, GetParam().options);
    ASSERT_TRUE(expected.ok()) << expected.status();

    grpc::ClientContext context;
    v1::StreamOpen open;
    *open.mutable_pipeline() = pipeline;
    open.set_track(true);
    const auto stream = Open(context, open);
    for (const testing::TestImage& frame : frames) ASSERT_TRUE(Send(*stream, FrameOf(frame)));
    stream->WritesDone();
    for (const FrameTracks& tracks : *expected) {
      v1::StreamFramesResponse response;
      ASSERT_TRUE(stream->Read(&response));
      ASSERT_EQ(response.result().status().code(), 0) << response.result().status().message();
      v1::FrameResult actual;
      *actual.mutable_tracks() = response.result().tracks();
      *actual.mutable_ended_tracks() = response.result().ended_tracks();
      v1::FrameResult wanted;
      TracksToProto(tracks, &wanted);
      EXPECT_EQ(actual.SerializeAsString(), wanted.SerializeAsString());
    }
    EXPECT_TRUE(stream->Finish().ok());
  }
};

TEST_P(ServerTrackOptionValueTest, OfTheWireGivesTheBackendsTracks) {
  v1::Pipeline pipeline;
  pipeline.set_preset("vio");
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(GetParam().wire, pipeline.mutable_track()));
  ExpectTracksFor(pipeline);
}

TEST_P(ServerTrackOptionValueTest, OfTheCommandLineGivesTheBackendsTracks) {
  cli::PipelineFlagValues values;
  for (const auto& [flag, value] : GetParam().flags) values[flag] = {value};
  v1::Pipeline pipeline;
  pipeline.set_preset("vio");
  ASSERT_TRUE(cli::ApplyPipelineFlags(values, &pipeline).ok());
  ExpectTracksFor(pipeline);
}

INSTANTIATE_TEST_SUITE_P(Values, ServerTrackOptionValueTest,
                         ::testing::ValuesIn(testing::TrackOptionValues()),
                         testing::NameOfOptionValue());

INSTANTIATE_TEST_SUITE_P(Values, ServerOptionValueTest,
                         ::testing::ValuesIn(testing::OptionValues()),
                         testing::NameOfOptionValue());

}  // namespace
}  // namespace orbserve
