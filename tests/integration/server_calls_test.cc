// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every unary call of a running server, and how each refuses what it must.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

using CallsTest = ServerTest;

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
        BadExtract{"Gray16", [](R& r) { r.mutable_frame()->set_format(v1::PIXEL_FORMAT_GRAY16); },
                   "UNSUPPORTED", kUnimplemented},
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
        BadExtract{"UnknownPreset", [](R& r) { r.mutable_pipeline()->set_preset("sift"); },
                   "BAD_OPTIONS", kInvalid},
        BadExtract{"PresetOfLater", [](R& r) { r.mutable_pipeline()->set_preset("vio"); },
                   "UNSUPPORTED", kUnimplemented},
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
            [](R& r) { r.mutable_frame()->mutable_parameters()->set_match_max_distance(257); },
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

// gRPC would inflate them before it looks at their size.
TEST_F(CallsTest, CompressedMessagesAreRefused) {
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    SetLimit(context);
    context.set_compression_algorithm(algorithm);
    v1::ExtractRequest request;
    *request.mutable_frame() = MakeFrame(640, 480, 1);
    request.mutable_frame()->mutable_pixels()->assign(640 * 480, '\0');
    v1::ExtractResponse response;
    const grpc::Status status = stub_->Extract(&context, request, &response);
    EXPECT_EQ(status.error_code(), kUnimplemented) << status.error_message();
    EXPECT_NE(status.error_message().find("ompression algorithm"), std::string::npos)
        << status.error_message();

    grpc::ClientContext stream_context;
    SetLimit(stream_context);
    stream_context.set_compression_algorithm(algorithm);
    const auto stream = stub_->StreamFrames(&stream_context);
    v1::StreamFramesRequest open;
    open.mutable_open()->add_references(std::string(1 << 16, 'x'));
    stream->Write(open);
    v1::StreamFramesResponse opened;
    EXPECT_FALSE(stream->Read(&opened));
    EXPECT_EQ(stream->Finish().error_code(), kUnimplemented);
  }
  EXPECT_EQ(Metric("orbserve_frames_received_total"), 0);
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
}

// Random descriptors: no match can be cut short.
v1::FeatureSet RandomFeatures(int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::string descriptors(static_cast<size_t>(count) * 32, '\0');
  for (char& byte : descriptors) byte = static_cast<char>(random());
  v1::FeatureSet features;
  features.mutable_x()->Resize(count, 0);
  features.mutable_y()->Resize(count, 0);
  features.set_descriptor_bytes(32);
  features.set_descriptors(descriptors);
  return features;
}

// Sends a request and reads nothing: but for the first 64 KiB the answer stays with the server.
class UnreadCall {
 public:
  UnreadCall(grpc::GenericStub& stub, const std::string& method,
             const google::protobuf::MessageLite& request) {
    call_ = stub.PrepareCall(&context_, "/orbserve.v1.Features/" + method, &queue_);
    call_->StartCall(nullptr);
    Wait();
    const grpc::Slice slice(request.SerializeAsString());
    call_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    Wait();
  }
  ~UnreadCall() {
    context_.TryCancel();
    if (!finished_) Finish();
  }
  // Reads the answer in the end.
  grpc::Status Read() {
    grpc::ByteBuffer answer;
    call_->Read(&answer, nullptr);
    Wait();
    return Finish();
  }

 private:
  grpc::Status Finish() {
    finished_ = true;
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Wait();
    return status;
  }
  void Wait() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool finished_ = false;
};

TEST_F(CallsTest, AnswersThatNobodyReadsAreBounded) {
  constexpr int kKeypoints = 10'000;
  constexpr int64_t kMostBytes = 2 * (kKeypoints * 56 + 4096);
  server::Config config;
  config.mutable_limits()->set_max_answer_bytes(7 * kMostBytes / 2);
  StartServer(config);
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame(640, 480, 1);
  v1::GivenKeypoints& given = *extract.mutable_frame()->mutable_keypoints();
  for (int i = 0; i < kKeypoints; ++i) {
    given.add_x(static_cast<float>(100 + i % 400));
    given.add_y(static_cast<float>(100 + i / 50));
    given.add_angle(0);
    given.add_octave(0);
  }
  v1::MatchRequest match;
  *match.mutable_query_frame() = extract.frame();
  *match.mutable_train_features() = RandomFeatures(1, 1);
  const auto answer_bytes = [this] { return Metric("orbserve_call_answer_bytes"); };
  {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // the window would grow
    grpc::GenericStub silent(grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                                       grpc::InsecureChannelCredentials(),
                                                       arguments));
    UnreadCall first(silent, "Extract", extract);
    UnreadCall second(silent, "Match", match);
    std::optional<UnreadCall> third;
    third.emplace(silent, "Extract", extract);
    ASSERT_TRUE(Eventually([&] {
      return Metric("orbserve_frames_total{outcome=\"ok\"}") == 3 &&
             answer_bytes() > 2 * kMostBytes;
    }));
    // What is more is refused before it costs anything, and may be tried again.
    v1::ExtractResponse extracted;
    const grpc::Status status = Extract(extract, &extracted);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(Details(status).reason(), "QUEUE_FULL") << status.error_message();
    EXPECT_GT(Details(status).retry_after_ms(), 0u);
    EXPECT_EQ(Metric("orbserve_frames_total{outcome=\"QUEUE_FULL\"}"), 1);
    EXPECT_LE(answer_bytes(), 7 * kMostBytes / 2);
    third.reset();
    EXPECT_TRUE(Eventually([&] { return Extract(extract, &extracted).ok(); }));
    EXPECT_EQ(extracted.features().x_size(), kKeypoints);
    EXPECT_TRUE(first.Read().ok());
    EXPECT_TRUE(second.Read().ok());
  }
  EXPECT_TRUE(Eventually([&] { return answer_bytes() == 0; }));
}

TEST_F(CallsTest, LargeMatchesHoldUpNothingAndEndWithTheirCalls) {
  constexpr int kLarge = 20;
  v1::MatchRequest large;
  *large.mutable_query_features() = RandomFeatures(100'000, 1);
  large.mutable_train_features()->CopyFrom(large.query_features());
  std::array<grpc::ClientContext, kLarge> contexts;
  std::array<v1::MatchResponse, kLarge> responses;
  std::array<grpc::Status, kLarge> statuses;
  std::atomic<int> ended{0};
  const auto start = [&](int i) {
    const auto at = static_cast<size_t>(i);
    contexts[at].AddMetadata("x-client-id", "greedy");
    // Half of them end by their deadline, the others because their client goes away.
    SetLimit(contexts[at], i % 2 == 0 ? 3 : 600);
    stub_->async()->Match(&contexts[at], &large, &responses[at], [&, at](grpc::Status status) {
      statuses[at] = std::move(status);
      ++ended;
    });
  };
  // Nothing of them may outlive what they write to, also when something below fails.
  const absl::Cleanup end_calls = [&] {
    for (grpc::ClientContext& context : contexts) context.TryCancel();
    Eventually([&] { return ended == kLarge; });
  };
  for (int i = 0; i < kLarge; ++i) start(i);

  // In sum they take minutes, without making way any of these would exceed its limit.
  const auto other = NewStub();
  v1::MatchRequest small;
  *small.mutable_query_features() = RandomFeatures(10, 2);
  *small.mutable_train_features() = small.query_features();
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame(640, 480, 1);
  for (int round = 0; round < 20; ++round) {
    grpc::ClientContext match_context;
    SetLimit(match_context, 10 * kSlower);
    v1::MatchResponse matched;
    ASSERT_TRUE(other->Match(&match_context, small, &matched).ok());
    EXPECT_EQ(matched.matches().query_index_size(), 10);
    grpc::ClientContext extract_context;
    SetLimit(extract_context, 10 * kSlower);
    v1::ExtractResponse extracted;
    ASSERT_TRUE(other->Extract(&extract_context, extract, &extracted).ok());
  }
  ASSERT_TRUE(Eventually([&] { return ended >= kLarge / 2; }));
  for (int i = 1; i < kLarge; i += 2) contexts[static_cast<size_t>(i)].TryCancel();
  ASSERT_TRUE(Eventually([&] { return ended == kLarge; }));

  const auto count_of = [&](const char* code) {
    const std::string series = absl::StrCat(
        "orbserve_request_duration_seconds_count{method=\"Match\",code=\"", code, "\"}");
    return std::max(0.0, Metric(series));  // no series: none
  };
  const auto with = [&](grpc::StatusCode code) {
    return std::count_if(statuses.begin(), statuses.end(),
                         [&](const grpc::Status& status) { return status.error_code() == code; });
  };
  // A fast processor may have finished one or two.
  const auto ok = with(grpc::StatusCode::OK);
  EXPECT_LT(ok, kLarge / 2);
  EXPECT_GT(with(grpc::StatusCode::CANCELLED), 0);
  // The server stops and counts them too, each once, and has nothing left to do. It may learn that
  // a client gave up at its deadline before the deadline comes here, and call it cancelled.
  const auto count_of_all = [&] {
    return count_of("OK") + count_of("DEADLINE_EXCEEDED") + count_of("CANCELLED");
  };
  // On a machine that is very slow calls may have ended before the server heard of them.
  if (kSlower == 1) {
    EXPECT_TRUE(Eventually([&] { return count_of_all() == kLarge + 20; }));
  }
  EXPECT_TRUE(server_->Drain());
  EXPECT_LE(count_of_all(), kLarge + 20);
  EXPECT_GE(count_of("OK"), ok + 20);
  EXPECT_GT(count_of("CANCELLED"), 0);
  const FrameCounts frames = server_->frame_counts();
  EXPECT_EQ(frames.received, 20);
  EXPECT_EQ(frames.ok, 20);
}

TEST_F(CallsTest, MatchRefusesWhatItCannotDo) {
  const auto reason_for = [&](const v1::MatchRequest& request) {
    v1::MatchResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    return Details(stub_->Match(&context, request, &response)).reason();
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
               Metric("orbserve_frames_total{outcome=\"BAD_IMAGE\"}") +
               Metric("orbserve_frames_total{outcome=\"BAD_OPTIONS\"}");
  }));
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

TEST_F(CallsTest, ServerInfoTellsLimitsAndPresets) {
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.active_backend(), "cpu");
  EXPECT_EQ(info.limits().max_side_px(), 8192u);
  ASSERT_GE(info.presets_size(), 8);
  EXPECT_EQ(info.presets(0).name(), "orb");
  EXPECT_EQ(info.presets(0).pipeline().pyramid().levels(), 8u);
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

// A queue of a MiB in which a frame of 160 x 120 waits for a second: alone, any would be taken.
class QueueTest : public ServerTest {
 protected:
  void SetUp() override {
    server::Config config;
    config.mutable_batching()->set_max_queue_bytes(1 << 20);
    config.mutable_batching()->set_max_delay_us(1'000'000);
    StartServer(config);
  }
  void LetOneWait() {
    waiting_ = Open(context_);
    ASSERT_TRUE(Send(*waiting_, MakeFrame(160, 120, 1)));
    ASSERT_TRUE(Eventually([this] { return Metric("orbserve_queue_frames") == 1; }));
  }
  void TearDown() override { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<Stream> waiting_;
};

TEST_F(QueueTest, OneThatIsFullSaysWhenToTryAgain) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(1200, 1000, 1);  // 1.2 MB: more than may wait
  v1::ExtractResponse response;
  grpc::ClientContext context;
  SetLimit(context);
  LetOneWait();
  const grpc::Status status = stub_->Extract(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const v1::Status details = Details(status);
  EXPECT_EQ(details.reason(), "QUEUE_FULL");
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto pushback = trailers.find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, trailers.end());
  EXPECT_EQ(std::string(pushback->second.data(), pushback->second.size()),
            absl::StrCat(details.retry_after_ms()));
}

TEST_F(QueueTest, IsBoundedByWholeMessagesAndImagesAreCounted) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(160, 120, 1);
  v1::ExtractResponse response;
  // What the server does not know is held as well, in the frame or beside it.
  v1::ExtractRequest unknown = request;
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddLengthDelimited(
      1000, std::string(1 << 20, 'x'));
  v1::ExtractRequest given = request;
  for (int i = 0; i < 100'000; ++i) {
    given.mutable_frame()->mutable_keypoints()->add_x(40);
    given.mutable_frame()->mutable_keypoints()->add_y(40);
    given.mutable_frame()->mutable_keypoints()->add_angle(1);
  }
  LetOneWait();
  EXPECT_EQ(Metric("orbserve_received_bytes_total"), 160 * 120);
  EXPECT_EQ(Details(Extract(unknown, &response)).reason(), "QUEUE_FULL");
  EXPECT_EQ(Details(Extract(given, &response)).reason(), "QUEUE_FULL");
  EXPECT_EQ(Metric("orbserve_received_bytes_total"), 3 * 160 * 120);
}

TEST_F(CallsTest, TheInProcessChannelGivesTheSameAnswer) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(320, 240, 3);
  v1::ExtractResponse over_network, in_process;
  ASSERT_TRUE(Extract(request, &over_network).ok());
  const auto stub = v1::Features::NewStub(server_->InProcessChannel());
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub->Extract(&context, request, &in_process).ok());
  EXPECT_EQ(in_process.features().SerializeAsString(), over_network.features().SerializeAsString());
}

}  // namespace
}  // namespace orbserve
