// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every unary call of a running server, and how each refuses what it must.

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/decode/made_jpegs.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

class CallsTest : public ServerTest {
 protected:
  // The details of the failure of a Match.
  v1::Status DetailsOfMatch(const v1::MatchRequest& request) {
    v1::MatchResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    return Details(stub_->Match(&context, request, &response));
  }
};

TEST_F(CallsTest, ExtractGivesFeaturesTimesAndPlace) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(640, 480, 1);
  request.mutable_frame()->set_timestamp_ns(-5);
  v1::ExtractResponse response;
  const grpc::Status status = Extract(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::FeatureSet& features = response.features();
  EXPECT_GE(features.x_size(), 300);
  EXPECT_EQ(features.y_size(), features.x_size());
  EXPECT_EQ(features.octave_size(), features.x_size());
  EXPECT_EQ(features.descriptors().size(), 32u * static_cast<size_t>(features.x_size()));
  EXPECT_EQ(features.image_width_px(), 640u);
  EXPECT_EQ(response.sequence(), 1u);
  EXPECT_EQ(response.timestamp_ns(), -5);
  EXPECT_EQ(response.execution().batch_size(), 1u);
  EXPECT_EQ(response.execution().backend(), "cpu");
  EXPECT_GT(response.timings().compute_ns(), 0u);
  EXPECT_GE(response.timings().total_ns(), response.timings().compute_ns());
}

TEST_F(CallsTest, AMaskKeepsKeypointsOut) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(640, 480, 1);
  v1::Mask& mask = *request.mutable_frame()->mutable_mask();
  mask.set_width_px(640);
  mask.set_height_px(480);
  mask.set_stride_bytes(700);
  std::string pixels(700 * 480, '\0');
  for (size_t y = 0; y < 480; ++y) pixels.replace(y * 700, 320, 320, '\xff');
  mask.set_pixels(pixels);
  v1::ExtractResponse response;
  ASSERT_TRUE(Extract(request, &response).ok());
  EXPECT_GT(response.features().x_size(), 100);
  for (const float x : response.features().x()) EXPECT_LE(x, 321.0f);
}

TEST_F(CallsTest, GivenKeypointsAreDescribedAndKeepTheirOrder) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(640, 480, 1);
  v1::ExtractResponse detected;
  ASSERT_TRUE(Extract(request, &detected).ok());
  v1::GivenKeypoints& given = *request.mutable_frame()->mutable_keypoints();
  for (int i = 9; i >= 0; --i) {
    given.add_x(detected.features().x(i));
    given.add_y(detected.features().y(i));
    given.add_angle(detected.features().angle(i));
    given.add_octave(detected.features().octave(i));
  }
  given.add_x(1);  // too near to the border
  given.add_y(1);
  given.add_angle(0);
  given.add_octave(0);
  v1::ExtractResponse described;
  const grpc::Status status = Extract(request, &described);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(described.features().x_size(), 10);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(described.features().source_index(i), static_cast<uint32_t>(i));
    const auto row = [](const v1::FeatureSet& set, int index) {
      return set.descriptors().substr(static_cast<size_t>(index) * 32, 32);
    };
    EXPECT_EQ(row(described.features(), i), row(detected.features(), 9 - i)) << i;
  }
}

struct BadExtract {
  const char* name;
  void (*change)(v1::ExtractRequest&);
  const char* reason;
  grpc::StatusCode code;
};

class BadExtractTest : public ServerTest, public ::testing::WithParamInterface<BadExtract> {};

TEST_P(BadExtractTest, IsRefusedWithItsReasonAndTheServerGoesOn) {
  v1::ExtractRequest good;
  *good.mutable_frame() = MakeFrame(160, 120, 1);
  v1::ExtractRequest bad = good;
  GetParam().change(bad);
  v1::ExtractResponse response;
  const grpc::Status status = Extract(bad, &response);
  EXPECT_EQ(status.error_code(), GetParam().code) << status.error_message();
  EXPECT_EQ(Details(status).reason(), GetParam().reason) << status.error_message();
  EXPECT_FALSE(status.error_message().empty());
  EXPECT_TRUE(Extract(good, &response).ok());
  if (bad.has_frame()) {
    EXPECT_EQ(Metric("orbserve_frames_received_total"), 2);
    EXPECT_EQ(Metric(absl::StrCat("orbserve_frames_total{outcome=\"", GetParam().reason, "\"}")),
              1);
  }
}

constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;
constexpr auto kUnimplemented = grpc::StatusCode::UNIMPLEMENTED;
using R = v1::ExtractRequest;

INSTANTIATE_TEST_SUITE_P(
    Rows, BadExtractTest,
    ::testing::Values(
        BadExtract{"NoFrame", [](R& r) { r.clear_frame(); }, "BAD_REQUEST", kInvalid},
        BadExtract{"NoPixels", [](R& r) { r.mutable_frame()->clear_pixels(); }, "BAD_REQUEST",
                   kInvalid},
        BadExtract{"NoFormat", [](R& r) { r.mutable_frame()->clear_format(); }, "BAD_REQUEST",
                   kInvalid},
        BadExtract{"UnknownFormat",
                   [](R& r) { r.mutable_frame()->set_format(static_cast<v1::PixelFormat>(77)); },
                   "BAD_REQUEST", kInvalid},
        BadExtract{"EmptyWindow",
                   [](R& r) {
                     r.mutable_frame()->set_format(v1::PIXEL_FORMAT_GRAY16);
                     r.mutable_frame()->set_width_px(80);
                     r.mutable_frame()->mutable_window()->set_low(7);
                     r.mutable_frame()->mutable_window()->set_high(7);
                   },
                   "BAD_REQUEST", kInvalid},
        BadExtract{"WindowOfGray8", [](R& r) { r.mutable_frame()->mutable_window()->set_high(7); },
                   "BAD_REQUEST", kInvalid},
        BadExtract{"MosaicOfOneRow",
                   [](R& r) {
                     r.mutable_frame()->set_format(v1::PIXEL_FORMAT_BAYER_GBRG8);
                     r.mutable_frame()->set_width_px(1);
                     r.mutable_frame()->set_height_px(4000);
                     r.mutable_frame()->set_pixels(std::string(4000, 'x'));
                   },
                   "BAD_IMAGE", kInvalid},
        BadExtract{"SharedMemory",
                   [](R& r) { r.mutable_frame()->mutable_shared_memory()->set_region("x"); },
                   "UNSUPPORTED", kUnimplemented},
        BadExtract{"TooFewPixels", [](R& r) { r.mutable_frame()->set_height_px(121); }, "BAD_IMAGE",
                   kInvalid},
        BadExtract{"NoWidth", [](R& r) { r.mutable_frame()->set_width_px(0); }, "BAD_IMAGE",
                   kInvalid},
        BadExtract{"TooWide", [](R& r) { r.mutable_frame()->set_width_px(4'000'000'000u); },
                   "TOO_LARGE", kInvalid},
        BadExtract{"BrokenJpeg",
                   [](R& r) {
                     r.mutable_frame()->clear_width_px();
                     r.mutable_frame()->clear_height_px();
                     r.mutable_frame()->set_format(v1::PIXEL_FORMAT_JPEG);
                   },
                   "BAD_IMAGE", kInvalid},
        BadExtract{"MaskOfAnotherSize",
                   [](R& r) {
                     r.mutable_frame()->mutable_mask()->set_width_px(159);
                     r.mutable_frame()->mutable_mask()->set_height_px(120);
                     r.mutable_frame()->mutable_mask()->set_pixels(std::string(159 * 120, 'x'));
                   },
                   "BAD_IMAGE", kInvalid},
        BadExtract{"ShortMask",
                   [](R& r) {
                     r.mutable_frame()->mutable_mask()->set_width_px(160);
                     r.mutable_frame()->mutable_mask()->set_height_px(120);
                     r.mutable_frame()->mutable_mask()->set_stride_bytes(4'000'000'000u);
                     r.mutable_frame()->mutable_mask()->set_pixels("x");
                   },
                   "BAD_IMAGE", kInvalid},
        BadExtract{"UnknownPreset", [](R& r) { r.mutable_pipeline()->set_preset("surf"); },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"FormatOfLater",
                   [](R& r) {
                     r.mutable_frame()->set_format(
                         static_cast<v1::PixelFormat>(v1::PixelFormat_MAX + 1));
                   },
                   "BAD_REQUEST", kInvalid},
        BadExtract{"NoLevels", [](R& r) { r.mutable_pipeline()->mutable_pyramid()->set_levels(0); },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"ManyLevels",
                   [](R& r) { r.mutable_pipeline()->mutable_pyramid()->set_levels(4294967295u); },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"ScaleIsNoNumber",
                   [](R& r) {
                     r.mutable_pipeline()->mutable_pyramid()->set_scale_factor(
                         std::numeric_limits<float>::quiet_NaN());
                   },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"UnknownScore",
                   [](R& r) {
                     r.mutable_pipeline()->mutable_detect()->set_score(static_cast<v1::Score>(9));
                   },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"ThresholdOfFrame",
                   [](R& r) { r.mutable_frame()->mutable_parameters()->set_fast_threshold(300); },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"MaxFeaturesOfFrame",
                   [](R& r) { r.mutable_frame()->mutable_parameters()->set_max_features(100001); },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{
            "RatioOfFrameIsNoNumber",
            [](R& r) { r.mutable_frame()->mutable_parameters()->set_match_ratio(std::nanf("")); },
            "BAD_OPTIONS", kInvalid},
        BadExtract{
            "DistanceOfFrame",
            [](R& r) { r.mutable_frame()->mutable_parameters()->set_match_max_distance(8323201); },
            "BAD_OPTIONS", kInvalid},
        BadExtract{"RaggedKeypoints",
                   [](R& r) { r.mutable_frame()->mutable_keypoints()->add_x(1); }, "BAD_REQUEST",
                   kInvalid},
        BadExtract{"KeypointIsNoNumber",
                   [](R& r) {
                     v1::GivenKeypoints& k = *r.mutable_frame()->mutable_keypoints();
                     k.add_x(std::nanf(""));
                     k.add_y(1);
                     k.add_angle(0);
                     k.add_octave(0);
                   },
                   "BAD_REQUEST", kInvalid},
        BadExtract{"KeypointOnNoLevel",
                   [](R& r) {
                     v1::GivenKeypoints& k = *r.mutable_frame()->mutable_keypoints();
                     k.add_x(50);
                     k.add_y(50);
                     k.add_angle(0);
                     k.add_octave(8);
                   },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"ManyKeypoints",
                   [](R& r) {
                     v1::GivenKeypoints& k = *r.mutable_frame()->mutable_keypoints();
                     for (int i = 0; i < 100'001; ++i) {
                       k.add_x(50);
                       k.add_y(50);
                       k.add_angle(0);
                       k.add_octave(0);
                     }
                   },
                   "TOO_LARGE", kInvalid}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(CallsTest, AClientIdMustBePrintable) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(160, 120, 1);
  v1::ExtractResponse response;
  grpc::ClientContext context;
  SetLimit(context);
  context.AddMetadata("x-client-id", std::string(129, 'x'));
  const grpc::Status status = stub_->Extract(&context, request, &response);
  EXPECT_EQ(Details(status).reason(), "BAD_REQUEST");
}

TEST_F(CallsTest, MatchWorksForEveryPairOfSides) {
  v1::MatchRequest request;
  *request.mutable_query_frame() = MakeFrame(640, 480, 1);
  *request.mutable_train_frame() = MakeFrame(640, 480, 1);
  request.mutable_options()->set_cross_check(true);
  v1::MatchResponse images;
  {
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->Match(&context, request, &images);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_GE(images.matches().query_index_size(), 300);
  for (const uint32_t distance : images.matches().distance()) EXPECT_EQ(distance, 0u);
  EXPECT_EQ(images.query_features().descriptors(), images.train_features().descriptors());
  EXPECT_GT(images.timings().match_ns(), 0u);
  ExpectMatchIsTheLastStage(images.timings());

  *request.mutable_query_features() = images.query_features();
  *request.mutable_train_features() = images.train_features();
  v1::MatchResponse sets;
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub_->Match(&context, request, &sets).ok());
  EXPECT_EQ(sets.matches().SerializeAsString(), images.matches().SerializeAsString());
  EXPECT_FALSE(sets.has_query_features());
  // No frame was batched, and matching was done somewhere.
  EXPECT_EQ(sets.execution().batch_size(), 0u);
  EXPECT_EQ(sets.execution().backend(), "cpu");
  EXPECT_EQ(sets.timings().compute_ns(), 0u);
  EXPECT_GT(sets.timings().match_ns(), 0u);
  EXPECT_EQ(sets.timings().stages_size(), 1);
  ExpectMatchIsTheLastStage(sets.timings());
}

TEST_F(CallsTest, ThePresetBFrostIsExtractedStoredAndMatchedWithItsOwnKindAlone) {
  v1::ExtractRequest extract;
  extract.mutable_pipeline()->set_preset("bfrost");
  *extract.mutable_frame() = MakeFrame(640, 480, 1);
  // The corners of exact blocks have equal scores side by side, which remove each other.
  uint32_t random = 1;
  for (char& pixel : *extract.mutable_frame()->mutable_pixels()) {
    random = random * 1664525u + 1013904223u;
    pixel = static_cast<char>(random >> 24);
  }
  v1::ExtractResponse extracted;
  const grpc::Status extract_status = Extract(extract, &extracted);
  ASSERT_TRUE(extract_status.ok()) << extract_status.error_message();
  const v1::FeatureSet& features = extracted.features();
  EXPECT_GT(features.x_size(), 100);
  EXPECT_LE(features.x_size(), 500);
  EXPECT_EQ(features.descriptor_type(), v1::DESCRIPTOR_TYPE_BFROST_256);
  for (int i = 0; i < features.x_size(); ++i) {
    EXPECT_EQ(features.size(i), 89.0f);
    EXPECT_EQ(std::fmod(features.angle(i), 11.25f), 0.0f);
  }

  v1::PutReferenceRequest put;
  put.set_name("bfrost");
  *put.mutable_features() = features;
  v1::PutReferenceResponse stored;
  {
    grpc::ClientContext context;
    SetLimit(context);
    ASSERT_TRUE(stub_->PutReference(&context, put, &stored).ok());
  }
  EXPECT_EQ(stored.reference().descriptor_type(), v1::DESCRIPTOR_TYPE_BFROST_256);

  // The preset's match is cross-checked: each keypoint finds itself.
  v1::MatchRequest match;
  *match.mutable_pipeline() = extract.pipeline();
  *match.mutable_query_frame() = extract.frame();
  match.set_train_reference("bfrost");
  v1::MatchResponse matched;
  {
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->Match(&context, match, &matched);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_GT(matched.matches().query_index_size(), features.x_size() * 9 / 10);
  for (const uint32_t distance : matched.matches().distance()) EXPECT_EQ(distance, 0u);

  match.mutable_pipeline()->set_preset("orb");
  grpc::ClientContext context;
  SetLimit(context);
  const grpc::Status refused = stub_->Match(&context, match, &matched);
  EXPECT_EQ(Details(refused).reason(), "BAD_OPTIONS");
  EXPECT_NE(refused.error_message().find("RBRIEF_256"), std::string::npos);
  EXPECT_NE(refused.error_message().find("BFROST_256"), std::string::npos);
}

TEST_F(CallsTest, ThePresetOrb32MatchesFramesWithAReferenceOf128Vectors) {
  v1::ExtractRequest extract;
  extract.mutable_pipeline()->set_preset("orb-32");
  *extract.mutable_frame() = MakeFrame(640, 480, 1);
  // Noise: no two patches have equal bits.
  std::mt19937 random(33);
  for (char& pixel : *extract.mutable_frame()->mutable_pixels()) {
    pixel = static_cast<char>(random() & 255);
  }
  v1::ExtractResponse extracted;
  const grpc::Status extract_status = Extract(extract, &extracted);
  ASSERT_TRUE(extract_status.ok()) << extract_status.error_message();
  const v1::FeatureSet& features = extracted.features();
  ASSERT_EQ(features.x_size(), 128);
  EXPECT_EQ(features.descriptor_type(), v1::DESCRIPTOR_TYPE_RBRIEF_32);
  EXPECT_EQ(features.descriptor_bytes(), 4u);
  EXPECT_EQ(features.descriptors().size(), 128u * 4);
  for (int i = 0; i < features.x_size(); ++i) EXPECT_EQ(features.size(i), 10.0f);

  v1::PutReferenceRequest put;
  put.set_name("orb-32");
  *put.mutable_features() = features;
  put.mutable_features()->clear_descriptor_type();  // 4 bytes tell it
  v1::PutReferenceResponse stored;
  {
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->PutReference(&context, put, &stored);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(stored.reference().descriptor_type(), v1::DESCRIPTOR_TYPE_RBRIEF_32);
  EXPECT_EQ(stored.reference().descriptor_bytes(), 4u);

  // The preset's match is cross-checked: each keypoint finds itself.
  v1::MatchRequest match;
  *match.mutable_pipeline() = extract.pipeline();
  *match.mutable_query_frame() = extract.frame();
  match.set_train_reference("orb-32");
  v1::MatchResponse matched;
  {
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->Match(&context, match, &matched);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_GT(matched.matches().query_index_size(), 120);
  for (const uint32_t distance : matched.matches().distance()) EXPECT_EQ(distance, 0u);
  std::set<uint32_t> trains(matched.matches().train_index().begin(),
                            matched.matches().train_index().end());
  EXPECT_EQ(static_cast<int>(trains.size()), matched.matches().train_index_size());

  match.mutable_pipeline()->set_preset("orb");
  grpc::ClientContext context;
  SetLimit(context);
  const grpc::Status refused = stub_->Match(&context, match, &matched);
  EXPECT_EQ(Details(refused).reason(), "BAD_OPTIONS");
  EXPECT_NE(refused.error_message().find("RBRIEF_256"), std::string::npos);
  EXPECT_NE(refused.error_message().find("RBRIEF_32"), std::string::npos);
}

TEST_F(CallsTest, MatchRefusesWhatItCannotDo) {
  const auto reason_for = [&](const v1::MatchRequest& request) {
    return DetailsOfMatch(request).reason();
  };
  v1::MatchRequest request;
  EXPECT_EQ(reason_for(request), "BAD_REQUEST");
  *request.mutable_query_frame() = MakeFrame(160, 120, 1);
  EXPECT_EQ(reason_for(request), "BAD_REQUEST");
  request.set_train_reference("none");
  EXPECT_EQ(reason_for(request), "REFERENCE_NOT_FOUND");
  request.mutable_train_features()->add_x(1);
  EXPECT_EQ(reason_for(request), "BAD_REQUEST");
  *request.mutable_train_frame() = MakeFrame(160, 120, 2);
  request.mutable_train_frame()->set_height_px(3000);
  EXPECT_EQ(reason_for(request), "BAD_IMAGE");
  *request.mutable_train_frame() = MakeFrame(160, 120, 2);
  request.mutable_options()->set_ratio(1.5f);
  EXPECT_EQ(reason_for(request), "BAD_OPTIONS");
  request.mutable_options()->Clear();
  request.mutable_pipeline()->mutable_describe()->set_descriptor_type(v1::DESCRIPTOR_TYPE_NONE);
  EXPECT_EQ(reason_for(request), "BAD_OPTIONS");
  // Frames of refused calls are accounted for too: two in the last three requests, one before each.
  EXPECT_TRUE(Eventually([&] {
    return Metric("orbserve_frames_received_total") ==
           Metric("orbserve_frames_total{outcome=\"ok\"}") +
               Metric("orbserve_frames_total{outcome=\"BAD_REQUEST\"}") +
               Metric("orbserve_frames_total{outcome=\"REFERENCE_NOT_FOUND\"}") +
               Metric("orbserve_frames_total{outcome=\"BAD_IMAGE\"}") +
               Metric("orbserve_frames_total{outcome=\"BAD_OPTIONS\"}");
  }));
}

TEST_F(CallsTest, AMatchThatIsRefusedNamesTheSide) {
  const auto text_for = [&](const v1::MatchRequest& request) {
    return DetailsOfMatch(request).message();
  };
  v1::MatchRequest request;
  *request.mutable_query_frame() = MakeFrame(160, 120, 1);
  request.mutable_train_features()->add_x(1);
  EXPECT_THAT(text_for(request), ::testing::StartsWith("train_features: features.y "));
  *request.mutable_train_frame() = MakeFrame(160, 120, 2);
  request.mutable_query_frame()->set_height_px(3000);
  EXPECT_THAT(text_for(request), ::testing::StartsWith("query_frame: GRAY8: "));
  // An error of the call is no side's.
  request.mutable_options()->set_ratio(1.5f);
  EXPECT_THAT(text_for(request), ::testing::StartsWith("match.ratio "));
}

TEST_F(CallsTest, ReferencesAreStoredMatchedListedAndForgotten) {
  const auto with_id = [](grpc::ClientContext& context, const char* id) {
    SetLimit(context);
    context.AddMetadata("x-client-id", id);
  };
  v1::PutReferenceRequest put;
  put.set_name("map tile");
  *put.mutable_frame() = MakeFrame(640, 480, 1);
  v1::PutReferenceResponse stored;
  {
    grpc::ClientContext context;
    with_id(context, "robot 1");
    const grpc::Status status = stub_->PutReference(&context, put, &stored);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_GE(stored.reference().feature_count(), 300u);
  EXPECT_EQ(stored.execution().batch_size(), 1u);
  EXPECT_EQ(stored.execution().backend(), "cpu");
  EXPECT_EQ(stored.execution().device(), "cpu");
  EXPECT_GT(stored.timings().decode_ns(), 0u);
  EXPECT_GT(stored.timings().compute_ns(), 0u);
  EXPECT_GE(stored.timings().total_ns(), stored.timings().compute_ns());

  v1::MatchRequest request;
  *request.mutable_query_frame() = MakeFrame(640, 480, 1);
  request.set_train_reference("map tile");
  v1::MatchResponse response;
  {
    grpc::ClientContext context;
    with_id(context, "robot 1");
    ASSERT_TRUE(stub_->Match(&context, request, &response).ok());
  }
  EXPECT_EQ(response.reference_version(), stored.reference().version());
  EXPECT_EQ(response.matches().query_index_size(),
            static_cast<int>(stored.reference().feature_count()));
  // Features that come ready-made are stored as they are: no time and place of a batch is claimed.
  v1::PutReferenceRequest ready;
  ready.set_name("map tile");
  *ready.mutable_features() = response.query_features();
  {
    grpc::ClientContext context;
    with_id(context, "robot 1");
    v1::PutReferenceResponse again;
    ASSERT_TRUE(stub_->PutReference(&context, ready, &again).ok());
    EXPECT_GT(again.reference().version(), stored.reference().version());
    EXPECT_EQ(again.reference().feature_count(), stored.reference().feature_count());
    EXPECT_FALSE(again.has_timings());
    EXPECT_FALSE(again.has_execution());
  }
  {
    grpc::ClientContext context;
    with_id(context, "robot 2");
    EXPECT_EQ(stub_->Match(&context, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  }
  v1::ListReferencesResponse list;
  {
    grpc::ClientContext context;
    with_id(context, "robot 1");
    ASSERT_TRUE(stub_->ListReferences(&context, {}, &list).ok());
  }
  ASSERT_EQ(list.references_size(), 1);
  EXPECT_EQ(list.references(0).name(), "map tile");
  EXPECT_EQ(list.used_bytes(), list.references(0).size_bytes());
  v1::DeleteReferenceRequest remove;
  remove.set_name("map tile");
  v1::DeleteReferenceResponse removed;
  for (const grpc::StatusCode expected : {grpc::StatusCode::OK, grpc::StatusCode::NOT_FOUND}) {
    grpc::ClientContext context;
    with_id(context, "robot 1");
    EXPECT_EQ(stub_->DeleteReference(&context, remove, &removed).error_code(), expected);
  }
  for (const std::string& name : {std::string(), std::string(129, 'n'), std::string("a\nb")}) {
    put.set_name(name);
    grpc::ClientContext context;
    with_id(context, "robot 1");
    EXPECT_EQ(Details(stub_->PutReference(&context, put, &stored)).reason(), "BAD_REQUEST");
  }
}

TEST_F(CallsTest, BytesThatAreNoRequestAreRefusedWithAReasonByEveryMethod) {
  grpc::GenericStub stub(grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                             grpc::InsecureChannelCredentials()));
  const auto call = [&stub](absl::string_view method, const std::string& bytes) {
    grpc::ClientContext context;
    SetLimit(context);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes);
    const auto reader =
        stub.PrepareUnaryCall(&context, absl::StrCat("/orbserve.v1.Features/", method),
                              grpc::ByteBuffer(&slice, 1), &queue);
    reader->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    reader->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  };
  for (const char* method :
       {"Extract", "Match", "PutReference", "DeleteReference", "ListReferences", "GetServerInfo"}) {
    const grpc::Status broken = call(method, "\x0A\x05xy");
    EXPECT_EQ(broken.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_EQ(Details(broken).reason(), "BAD_REQUEST") << method;
    EXPECT_THAT(broken.error_message(), ::testing::HasSubstr("cut off")) << method;
    std::string unknown;
    for (int i = 0; i < 1000; ++i) unknown += "\xFA\x3E\x01x";  // field 1007
    const grpc::Status large = call(method, unknown);
    EXPECT_EQ(Details(large).reason(), "TOO_LARGE") << method;
    EXPECT_THAT(large.error_message(), ::testing::HasSubstr("does not know")) << method;
  }
}

TEST_F(CallsTest, ReferencesAreListedPageByPage) {
  constexpr int kReferences = 7;
  for (int i = 0; i < kReferences; ++i) {
    v1::PutReferenceRequest request;
    request.set_name("map " + std::to_string(i));
    request.mutable_features()->add_x(1);
    request.mutable_features()->add_y(1);
    request.mutable_features()->set_descriptor_bytes(4);
    request.mutable_features()->set_descriptors("abcd");
    grpc::ClientContext context;
    v1::PutReferenceResponse response;
    ASSERT_TRUE(stub_->PutReference(&context, request, &response).ok());
  }
  std::vector<std::string> names;
  v1::ListReferencesRequest request;
  request.set_page_size(3);
  for (int page = 0; page < 3; ++page) {
    grpc::ClientContext context;
    v1::ListReferencesResponse response;
    ASSERT_TRUE(stub_->ListReferences(&context, request, &response).ok());
    EXPECT_LE(response.references_size(), 3);
    for (const v1::ReferenceInfo& reference : response.references()) {
      names.push_back(reference.name());
    }
    EXPECT_EQ(response.next_page_token().empty(), page == 2);
    request.set_page_token(response.next_page_token());
  }
  EXPECT_THAT(
      names, ::testing::ElementsAre("map 0", "map 1", "map 2", "map 3", "map 4", "map 5", "map 6"));
  const auto refused = [&](uint32_t page_size, const std::string& token) {
    v1::ListReferencesRequest bad;
    bad.set_page_size(page_size);
    bad.set_page_token(token);
    grpc::ClientContext context;
    v1::ListReferencesResponse response;
    return stub_->ListReferences(&context, bad, &response).error_message();
  };
  EXPECT_THAT(refused(1001, ""), ::testing::HasSubstr("page_size must be in [1, 1000]"));
  EXPECT_THAT(refused(0, "\n"), ::testing::HasSubstr("page_token"));
}

TEST_F(CallsTest, ServerInfoTellsLimitsAndPresets) {
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.active_backend(), "cpu");
  EXPECT_EQ(info.limits().max_side_px(), 8192u);
  ASSERT_GE(info.presets_size(), 9);
  EXPECT_EQ(info.presets(0).name(), "orb");
  EXPECT_EQ(info.presets(0).pipeline().pyramid().levels(), 8u);
  for (const v1::PresetInfo& preset : info.presets()) {
    if (!preset.available()) continue;
    const v1::TrackOptions& track = preset.pipeline().track();
    const bool is_odometry = preset.name() == "odometry";
    EXPECT_EQ(track.levels(), 5u) << preset.name();
    EXPECT_EQ(track.illumination(), is_odometry ? v1::ILLUMINATION_OFFSET : v1::ILLUMINATION_NONE);
    EXPECT_EQ(track.max_residual(), is_odometry ? 12.0f : 128.0f);
    EXPECT_EQ(track.template_(), v1::TRACK_TEMPLATE_PREVIOUS);
    EXPECT_EQ(track.redetect_percent(), is_odometry ? 70u : 30u);
  }
}

TEST_F(CallsTest, ServerInfoTellsTheDecodersOfJpegFiles) {
  const auto ask = [&] {
    v1::GetServerInfoResponse info;
    grpc::ClientContext context;
    SetLimit(context);
    EXPECT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
    return info;
  };
  std::map<std::string, uint64_t> before;
  const auto name = [](const v1::JpegFrames& way) { return way.decoder() + " " + way.reason(); };
  const v1::GetServerInfoResponse first = ask();
  for (const v1::JpegFrames& way : first.jpeg_frames()) before[name(way)] = way.frames();
  EXPECT_EQ(before.size(), 6u);
  ASSERT_EQ(first.devices_size(), 1);
  EXPECT_EQ(first.devices(0).jpeg_decoder(), "host");
  EXPECT_EQ(first.devices(0).jpeg_reason(), "no CUDA device computes");
  for (const MadeJpeg& made : MakeJpegs()) {
    if (made.name != "plain" && made.name != "progressive") continue;
    v1::ExtractRequest request;
    request.mutable_frame()->set_pixels(std::string(made.bytes.begin(), made.bytes.end()));
    v1::ExtractResponse response;
    EXPECT_TRUE(Extract(request, &response).ok());
  }
  const v1::GetServerInfoResponse second = ask();
  for (const v1::JpegFrames& way : second.jpeg_frames()) {
    const bool came = name(way) == "host " || name(way) == "libjpeg progressive";
    EXPECT_EQ(way.frames() - before[name(way)], came ? 1u : 0u) << name(way);
  }
}

// Nothing measures what the CPU backend takes: that is said, and no figure made up.
TEST_F(CallsTest, WithoutASourceOfPowerNoEnergyIsClaimed) {
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.power_source(), "none");
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(320, 240, 3);
  v1::ExtractResponse response;
  ASSERT_TRUE(Extract(request, &response).ok());
  EXPECT_FALSE(response.execution().has_energy_joules());
  const std::string page = server_->RenderMetrics();
  EXPECT_NE(page.find("orbserve_power_source_info{source=\"none\"} 1\n"), std::string::npos);
  EXPECT_EQ(page.find("joules"), std::string::npos);
  EXPECT_EQ(page.find("watts"), std::string::npos);
}

TEST_F(CallsTest, TheInProcessChannelGivesTheSameAnswer) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(320, 240, 3);
  v1::ExtractResponse over_network, in_process;
  ASSERT_TRUE(Extract(request, &over_network).ok());
  const auto stub = v1::Features::NewStub(server_->InProcessChannel({}));
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub->Extract(&context, request, &in_process).ok());
  EXPECT_EQ(in_process.features().SerializeAsString(), over_network.features().SerializeAsString());
}

}  // namespace
}  // namespace orbserve
