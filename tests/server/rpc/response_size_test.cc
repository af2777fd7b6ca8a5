// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/response_size.h"

#include <string>

#include "gtest/gtest.h"
#include "server/rpc/conversion/features.h"

namespace orbserve {
namespace {

TEST(ResponseSizeTest, NoAnswerHasMoreBytesThanItsFeaturesAndTheRest) {
  constexpr size_t kCount = 100'000;
  Features features;
  features.descriptor_bytes = 32;
  features.Resize(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    features.octave[i] = 15;
    features.source_index.push_back(static_cast<uint32_t>(99'999));
  }
  v1::FeatureSet proto;
  FeaturesToProto(features, &proto);
  const auto bytes = static_cast<int64_t>(proto.ByteSizeLong());
  const int64_t most = MostWireBytes(kCount, (*FindPreset("orb"))->pipeline);
  EXPECT_LE(bytes, most + kOtherWireBytes);
  EXPECT_GE(bytes, most) << "more is reserved than any answer needs";
}

TEST(ResponseSizeTest, NoSetOfSiftFeaturesHasMoreBytesThanExpected) {
  constexpr size_t kCount = 100'000;
  Features features;
  features.descriptor_bytes = 128;
  features.Resize(kCount);
  features.octave.assign(kCount, -1);
  features.layer.assign(kCount, 8);
  features.layer_fraction.assign(kCount, 255);
  v1::FeatureSet proto;
  FeaturesToProto(features, &proto);
  const auto bytes = static_cast<int64_t>(proto.ByteSizeLong());
  const int64_t most = MostWireBytes(kCount, (*FindPreset("sift"))->pipeline);
  EXPECT_LE(bytes, most + kOtherWireBytes);
  EXPECT_GE(bytes, most) << "more is reserved than any answer needs";
}

TEST(ResponseSizeTest, NoMatchHasMoreBytesThanExpected) {
  constexpr size_t kCount = 1000;
  Matches matches;
  matches.query_index.assign(kCount, 99'999);
  matches.train_index.assign(kCount, 99'999);
  matches.distance.assign(kCount, 8'323'200);
  v1::MatchSet proto;
  MatchesToProto(matches, Descriptor::kSift, &proto);
  EXPECT_LE(static_cast<int64_t>(proto.ByteSizeLong()),
            static_cast<int64_t>(kCount) * kMatchWireBytes + kOtherWireBytes);
  EXPECT_GE(static_cast<int64_t>(proto.ByteSizeLong()),
            static_cast<int64_t>(kCount) * kMatchWireBytes);
}

TEST(ResponseSizeTest, ExpectedFeaturesAreWhatTheFrameAsksForWithinTheCapacity) {
  ResolvedPipeline pipeline;
  pipeline.frame.max_features = 700;
  pipeline.options.select.capacity = 1000;
  v1::Frame frame;
  EXPECT_EQ(ExpectedFeatures(frame, pipeline), 700);
  frame.mutable_parameters()->set_max_features(20);
  EXPECT_EQ(ExpectedFeatures(frame, pipeline), 20);
  frame.mutable_parameters()->set_max_features(4294967295u);
  EXPECT_EQ(ExpectedFeatures(frame, pipeline), 1000);
  for (int i = 0; i < 3; ++i) frame.mutable_keypoints()->add_x(0);
  EXPECT_EQ(ExpectedFeatures(frame, pipeline), 3);
}

}  // namespace
}  // namespace orbserve
