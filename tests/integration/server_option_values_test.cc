// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every value of every option, as text of the wire contract and as flags of the program `orbserve`,
// through a server: the answer of the backend for the options that are meant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/pipeline_flags.h"
#include "cpu/cpu_backend.h"
#include "google/protobuf/text_format.h"
#include "server/rpc/conversion/features.h"
#include "tests/integration/server_fixture.h"
#include "tests/support/backend_runner.h"
#include "tests/support/match_oracle.h"
#include "tests/support/option_values.h"
#include "tests/support/track_oracle.h"

namespace orbserve {
namespace {

using ::orbserve::testing::OptionValue;
using ::testing::ElementsAreArray;

// A server on the CPU backend.
class CpuServerTest : public ServerTest {
 protected:
  void SetUp() override {
    server::Config config;
    config.mutable_backend()->set_name("cpu");
    StartServer(config);
  }
};

class ServerOptionValueTest : public CpuServerTest,
                              public ::testing::WithParamInterface<OptionValue> {
 protected:
  // Expects the answer of the CPU backend for the options of the value.
  void ExpectAnswerFor(const v1::Pipeline& pipeline) {
    const OptionValue& value = GetParam();
    const testing::TestImage image = testing::OptionValueImage();
    v1::ExtractRequest request;
    *request.mutable_pipeline() = pipeline;
    v1::Frame& frame = *request.mutable_frame();
    frame.set_format(v1::PIXEL_FORMAT_GRAY8);
    frame.set_width_px(static_cast<uint32_t>(image.width_px()));
    frame.set_height_px(static_cast<uint32_t>(image.height_px()));
    for (int y = 0; y < image.height_px(); ++y) {
      frame.mutable_pixels()->append(reinterpret_cast<const char*>(image.view().Row(y)),
                                     static_cast<size_t>(image.width_px()));
    }
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

class ServerMatchOptionValueTest : public CpuServerTest,
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

using ::orbserve::testing::TrackOptionValue;

class ServerTrackOptionValueTest : public CpuServerTest,
                                   public ::testing::WithParamInterface<TrackOptionValue> {
 protected:
  static constexpr int kWanted = 60;
  static constexpr double kUnit = 1 << 14;  // places of a pixel

  // A track, as the oracle follows it.
  struct Followed {
    testing::OracleTrackPoint point;
    size_t begin = 0;  // frame that it began in
  };

  // The search for `track` in the frame `step`.
  static testing::OracleTrack Follow(const std::vector<std::vector<testing::GreyPlane>>& levels,
                                     size_t step, const TrackOptions& options,
                                     const Followed& track) {
    const bool first = options.track_template == TrackTemplate::kFirst;
    testing::OracleTrackPoint point = track.point;
    if (!first) point = {point.x, point.y, 0, 0, point.x, point.y};
    return testing::OracleFollow(levels[first ? track.begin : step - 1], levels[step], options,
                                 point);
  }
  static void Advance(const testing::OracleTrack& found, testing::OracleTrackPoint* point) {
    point->x = found.x;
    point->y = found.y;
    point->alpha = found.alpha;
    point->beta = found.beta;
  }

  static v1::TrackEnd EndOf(TrackStatus status) {
    switch (status) {
      case TrackStatus::kNoTexture:
        return v1::TRACK_END_NO_TEXTURE;
      case TrackStatus::kLeftImage:
        return v1::TRACK_END_LEFT_IMAGE;
      case TrackStatus::kNotConverged:
        return v1::TRACK_END_NOT_CONVERGED;
      case TrackStatus::kDifferent:
        return v1::TRACK_END_DIFFERENT;
      case TrackStatus::kOk:
        break;
    }
    return v1::TRACK_END_UNSPECIFIED;
  }

  // The answers to all frames, as text of numbers, for tracks that begin in the first one.
  static std::string TextOf(const std::vector<testing::GreyPlane>& frames,
                            const TrackOptions& options, std::map<uint64_t, Followed> tracks) {
    const auto levels = LevelsOf(frames, options);
    std::string text;
    for (size_t step = 1; step < frames.size(); ++step) {
      for (auto& [id, track] : tracks) {
        const testing::OracleTrack found = Follow(levels, step, options, track);
        absl::StrAppend(&text, id, " ", static_cast<int>(found.status), " ", found.x, " ", found.y,
                        "\n");
        if (found.status == TrackStatus::kOk) Advance(found, &track.point);
      }
    }
    return text;
  }
  static std::vector<std::vector<testing::GreyPlane>> LevelsOf(
      const std::vector<testing::GreyPlane>& frames, const TrackOptions& options) {
    std::vector<std::vector<testing::GreyPlane>> levels;
    for (const testing::GreyPlane& frame : frames) {
      levels.push_back(testing::OracleTrackPyramid(frame, options.levels));
    }
    return levels;
  }

  // Streams the frames, and expects the tracks of the oracle for the options of the value.
  void ExpectTracksFor(v1::Pipeline pipeline) {
    const TrackOptions& options = GetParam().options;
    const std::vector<testing::TestImage> images = testing::TrackOptionValueFrames();
    std::vector<testing::GreyPlane> frames;
    for (const testing::TestImage& image : images) {
      frames.push_back(testing::PlaneOf(image.view()));
    }
    const auto levels = LevelsOf(frames, options);
    v1::StreamOpen open;
    open.set_track(true);
    *open.mutable_pipeline() = std::move(pipeline);
    open.mutable_pipeline()->set_preset("vio");
    open.mutable_pipeline()->mutable_select()->set_max_features(kWanted);
    grpc::ClientContext context;
    const auto stream = Open(context, open);
    std::map<uint64_t, Followed> tracks;
    std::map<uint64_t, Followed> of_first_frame;
    for (size_t step = 0; step < images.size(); ++step) {
      ASSERT_TRUE(Send(*stream, FrameOf(images[step], step)));
      v1::StreamFramesResponse response;
      ASSERT_TRUE(stream->Read(&response));
      const v1::FrameResult& result = response.result();
      ASSERT_EQ(result.status().code(), 0) << result.status().message();
      std::map<uint64_t, v1::TrackEnd> ended;
      for (const v1::EndedTrack& track : result.ended_tracks()) ended[track.id()] = track.reason();
      std::map<uint64_t, v1::Track> going_on;
      for (const v1::Track& track : result.tracks()) going_on[track.id()] = track;
      for (auto track = tracks.begin(); track != tracks.end();) {
        const auto& [id, followed] = *track;
        const testing::OracleTrack found = Follow(levels, step, options, followed);
        if (found.status != TrackStatus::kOk) {
          EXPECT_EQ(ended[id], EndOf(found.status)) << id;
          track = tracks.erase(track);
          continue;
        }
        ASSERT_TRUE(going_on.contains(id)) << id << " in frame " << step;
        EXPECT_EQ(going_on[id].x(), static_cast<double>(found.x) / kUnit) << id;
        EXPECT_EQ(going_on[id].y(), static_cast<double>(found.y) / kUnit) << id;
        EXPECT_EQ(going_on[id].residual(), found.residual) << id;
        Advance(found, &track->second.point);
        ++track;
      }
      const auto kept = static_cast<int>(tracks.size());
      const bool begin = kept == 0 || 100 * kept < options.redetect_percent * kWanted;
      EXPECT_EQ(result.tracks_size() > kept, begin) << kept << " in frame " << step;
      for (const auto& [id, track] : going_on) {
        const auto x = static_cast<int64_t>(track.x() * kUnit);
        const auto y = static_cast<int64_t>(track.y() * kUnit);
        tracks.try_emplace(id, Followed{{x, y, 0, 0, x, y}, step});
      }
      if (step == 0) of_first_frame = tracks;
    }
    EXPECT_GT(of_first_frame.size(), 30u);
    if (!GetParam().changes_search) return;
    EXPECT_NE(TextOf(frames, options, of_first_frame),
              TextOf(frames, GetParam().other, of_first_frame));
  }

  static v1::Frame FrameOf(const testing::TestImage& image, uint64_t sequence) {
    v1::Frame frame;
    frame.set_sequence(sequence);
    frame.set_format(v1::PIXEL_FORMAT_GRAY8);
    frame.set_width_px(static_cast<uint32_t>(image.width_px()));
    frame.set_height_px(static_cast<uint32_t>(image.height_px()));
    for (int y = 0; y < image.height_px(); ++y) {
      frame.mutable_pixels()->append(reinterpret_cast<const char*>(image.view().Row(y)),
                                     static_cast<size_t>(image.width_px()));
    }
    return frame;
  }
};

TEST_P(ServerTrackOptionValueTest, OfTheWireGivesTheOraclesTracks) {
  v1::Pipeline pipeline;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(GetParam().wire, pipeline.mutable_track()));
  ExpectTracksFor(std::move(pipeline));
}

TEST_P(ServerTrackOptionValueTest, OfTheCommandLineGivesTheOraclesTracks) {
  cli::PipelineFlagValues values;
  for (const auto& [flag, value] : GetParam().flags) values[flag] = {value};
  v1::Pipeline pipeline;
  ASSERT_TRUE(cli::ApplyPipelineFlags(values, &pipeline).ok());
  ExpectTracksFor(std::move(pipeline));
}

INSTANTIATE_TEST_SUITE_P(Values, ServerTrackOptionValueTest,
                         ::testing::ValuesIn(testing::TrackOptionValues()),
                         testing::NameOfOptionValue());

INSTANTIATE_TEST_SUITE_P(Values, ServerMatchOptionValueTest,
                         ::testing::ValuesIn(testing::MatchOptionValues()),
                         testing::NameOfOptionValue());

INSTANTIATE_TEST_SUITE_P(Values, ServerOptionValueTest,
                         ::testing::ValuesIn(testing::OptionValues()),
                         testing::NameOfOptionValue());

}  // namespace
}  // namespace orbserve
