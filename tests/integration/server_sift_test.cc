// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The preset `sift` through a running server: its columns on the wire, matches of every kind, what
// it refuses.

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "server/rpc/conversion/features.h"
#include "tests/integration/server_fixture.h"
#include "tests/support/image_makers.h"
#include "tests/support/match_oracle.h"
#include "tests/support/reference_lines.h"
#include "tests/support/sift_records.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

v1::Pipeline SiftPipeline() {
  v1::Pipeline pipeline;
  pipeline.set_preset("sift");
  return pipeline;
}

// The columns of an answer, those that are not read from clients as well.
Features FeaturesOf(const v1::FeatureSet& set) {
  const auto read = FeaturesFromProto(set);
  EXPECT_TRUE(read.ok()) << read.status();
  Features features = read.ok() ? **read : Features();
  features.layer.assign(set.layer().begin(), set.layer().end());
  features.layer_fraction.assign(set.layer_fraction().begin(), set.layer_fraction().end());
  return features;
}

void ExpectOracleMatches(const v1::FeatureSet& query, const v1::FeatureSet& train,
                         const MatchOptions& options, const v1::MatchSet& actual) {
  const Matches expected =
      testing::OracleMatch(FeaturesOf(query), FeaturesOf(train), options, /*window=*/{});
  EXPECT_GT(expected.count(), 0u);
  EXPECT_THAT(actual.query_index(), ::testing::ElementsAreArray(expected.query_index));
  EXPECT_THAT(actual.train_index(), ::testing::ElementsAreArray(expected.train_index));
  EXPECT_THAT(actual.distance(), ::testing::ElementsAreArray(expected.distance));
}

class SiftTest : public ServerTest {
 protected:
  v1::FeatureSet ExtractOf(const testing::TestImage& image) {
    v1::ExtractRequest request;
    *request.mutable_pipeline() = SiftPipeline();
    *request.mutable_frame() = FrameOf(image);
    v1::ExtractResponse response;
    const grpc::Status status = Extract(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.features();
  }
  // The details of the failure of an Extract that differs from a good one by `change`.
  template <typename Change>
  v1::Status Refusal(const Change& change) {
    v1::ExtractRequest request;
    *request.mutable_pipeline() = SiftPipeline();
    *request.mutable_frame() = FrameOf(testing::SceneImage(160, 120, 1));
    change(request);
    v1::ExtractResponse response;
    return Details(Extract(request, &response));
  }
};

TEST_F(SiftTest, TheWireHasTheRowsOfOpenCv) {
  const v1::FeatureSet set = ExtractOf(testing::SceneImage(401, 300, 81));
  EXPECT_EQ(set.descriptor_type(), v1::DESCRIPTOR_TYPE_SIFT);
  EXPECT_EQ(set.descriptor_bytes(), 128u);
  EXPECT_EQ(set.layer_size(), set.x_size());
  EXPECT_THAT(set.octave(), ::testing::Contains(-1));
  // cpu_backend_sift_test.cc expects the same.
  EXPECT_EQ(set.x_size(), 200);
  EXPECT_EQ(testing::Crc32(testing::SiftRecordsOf(FeaturesOf(set))), 0x2bb95072u);
}

TEST_F(SiftTest, FramesAndSetsAreMatchedByTheirEuclideanDistance) {
  const testing::TestImage image = testing::SceneImage(320, 240, 2);
  const testing::TestImage other = testing::SceneImage(320, 240, 3);
  v1::MatchRequest request;
  *request.mutable_pipeline() = SiftPipeline();
  *request.mutable_query_frame() = FrameOf(image);
  *request.mutable_train_frame() = FrameOf(other);
  request.mutable_options()->set_cross_check(true);
  v1::MatchResponse response;
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub_->Match(&context, request, &response).ok());
  const MatchOptions options = {.cross_check = true};
  ExpectOracleMatches(response.query_features(), response.train_features(), options,
                      response.matches());
  // Sets of an answer can be sent as they are.
  *request.mutable_query_features() = response.query_features();
  *request.mutable_train_features() = response.train_features();
  v1::MatchResponse again;
  grpc::ClientContext second;
  SetLimit(second);
  const grpc::Status status = stub_->Match(&second, request, &again);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(again.matches().SerializeAsString(), response.matches().SerializeAsString());
}

TEST_F(SiftTest, StreamsMatchWithTheFrameBeforeTheKeyframeAndAReference) {
  const testing::TestImage first = testing::SceneImage(320, 240, 4);
  const testing::TestImage second = testing::SceneImage(320, 240, 5);
  v1::PutReferenceRequest put;
  put.set_name("place");
  *put.mutable_pipeline() = SiftPipeline();
  *put.mutable_frame() = FrameOf(first);
  v1::PutReferenceResponse stored;
  grpc::ClientContext put_context;
  SetLimit(put_context);
  ASSERT_TRUE(stub_->PutReference(&put_context, put, &stored).ok());
  EXPECT_EQ(stored.reference().descriptor_type(), v1::DESCRIPTOR_TYPE_SIFT);

  v1::StreamOpen open;
  *open.mutable_pipeline() = SiftPipeline();
  open.mutable_pipeline()->mutable_match()->set_ratio(0.9f);
  open.set_match_previous(true);
  open.set_match_keyframe(true);
  open.add_references("place");
  grpc::ClientContext context;
  const auto stream = Open(context, open);
  ASSERT_TRUE(Send(*stream, FrameOf(first)));
  ASSERT_TRUE(Send(*stream, FrameOf(second)));
  stream->WritesDone();
  v1::StreamFramesResponse responses[2];
  for (v1::StreamFramesResponse& response : responses) {
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.result().status().code(), 0) << response.result().status().message();
  }
  EXPECT_TRUE(stream->Finish().ok());
  const v1::FrameResult& result = responses[1].result();
  ASSERT_EQ(result.matches_size(), 3);
  for (const v1::FrameMatches& matches : result.matches()) {
    EXPECT_EQ(matches.status().code(), 0) << matches.status().message();
    ExpectOracleMatches(result.features(), responses[0].result().features(), {.ratio = 0.9f},
                        matches.matches());
  }
}

TEST_F(SiftTest, MasksGivenKeypointsAndTracksAreRefused) {
  const v1::Status masked = Refusal([](v1::ExtractRequest& request) {
    v1::Mask& mask = *request.mutable_frame()->mutable_mask();
    mask.set_width_px(160);
    mask.set_height_px(120);
    mask.set_pixels(std::string(160 * 120, '\xff'));
  });
  EXPECT_EQ(masked.reason(), "BAD_OPTIONS");
  EXPECT_THAT(masked.message(), HasSubstr("detect.detector is SIFT and the frame has a mask"));
  const v1::Status given = Refusal([](v1::ExtractRequest& request) {
    v1::GivenKeypoints& keypoints = *request.mutable_frame()->mutable_keypoints();
    keypoints.add_x(50);
    keypoints.add_y(50);
    keypoints.add_angle(0);
    keypoints.add_octave(0);
  });
  EXPECT_EQ(given.reason(), "BAD_OPTIONS");
  EXPECT_THAT(given.message(), HasSubstr("detect.detector is SIFT and keypoints are given"));
  const v1::Status other = Refusal([](v1::ExtractRequest& request) {
    request.mutable_pipeline()->mutable_describe()->set_descriptor_type(
        v1::DESCRIPTOR_TYPE_TEBLID_256);
  });
  EXPECT_EQ(other.reason(), "BAD_OPTIONS");
  const v1::Status sigma = Refusal([](v1::ExtractRequest& request) {
    request.mutable_pipeline()->mutable_sift()->set_sigma(9.0);
  });
  EXPECT_THAT(sigma.message(), HasSubstr("sift.sigma must be in [0.1, 4]; got 9"));

  v1::StreamFramesRequest request;
  *request.mutable_open()->mutable_pipeline() = SiftPipeline();
  request.mutable_open()->set_track(true);
  grpc::ClientContext context;
  SetLimit(context);
  const auto stream = stub_->StreamFrames(&context);
  stream->Write(request);
  v1::StreamFramesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(stream->Finish().error_message(),
              HasSubstr("track is on and detect.detector is SIFT"));
}

}  // namespace
}  // namespace orbserve
