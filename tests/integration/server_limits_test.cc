// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Unary calls that ask for too much, of memory or of time, and what others notice of them.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/process/limits.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

using CallLimitsTest = ServerTest;

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

TEST_F(CallLimitsTest, FramesOfTheAnnouncedPixelsFitAndLargerOnesSayWhatTheyNeed) {
  server::Config config;
  config.mutable_backend()->set_threads(2);
  config.mutable_limits()->set_memory_bytes(128 << 20);
  StartServer(config);
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  SetLimit(context);
  ASSERT_TRUE(stub_->GetServerInfo(&context, {}, &info).ok());
  const int side_px = static_cast<int>(std::sqrt(static_cast<double>(info.limits().max_pixels())));
  EXPECT_GT(side_px, 800);
  EXPECT_LT(side_px, 2000);
  v1::ExtractResponse response;
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(side_px, side_px, 1);
  const grpc::Status status = Extract(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  *request.mutable_frame() = MakeFrame(2 * side_px, side_px, 1);
  const grpc::Status refused = Extract(request, &response);
  EXPECT_EQ(Details(refused).reason(), "TOO_LARGE") << refused.error_message();
  EXPECT_NE(refused.error_message().find(" bytes of workspace; this server has room for "),
            std::string::npos)
      << refused.error_message();
}

TEST_F(CallLimitsTest, AnswersThatNobodyReadsAreBounded) {
  constexpr int kKeypoints = 10'000;
  constexpr int64_t kMaxBytes = 2 * (kKeypoints * 56 + 4096);
  // A lone client may hold a third: three answers and a half.
  StartServer(
      {}, WithLimits([](DerivedLimits* limits) { limits->response_bytes = 21 * kMaxBytes / 2; }));
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
  const auto response_bytes = [this] { return Metric("orbserve_call_response_bytes"); };
  {
    grpc::GenericStub silent(NewChannel(/*fixed_window=*/true));
    UnreadCall first(silent, "Extract", extract);
    UnreadCall second(silent, "Match", match);
    std::optional<UnreadCall> third;
    third.emplace(silent, "Extract", extract);
    ASSERT_TRUE(Eventually([&] {
      return Metric("orbserve_frames_total{outcome=\"ok\"}") == 3 &&
             response_bytes() > 2 * kMaxBytes;
    }));
    // What is more is refused before it costs anything, and may be tried again.
    const auto one_more = [&] { return UnreadCall(silent, "Extract", extract).Read(); };
    const grpc::Status status = one_more();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(Details(status).reason(), "QUOTA_EXCEEDED") << status.error_message();
    EXPECT_GT(Details(status).retry_after_ms(), 0u);
    EXPECT_EQ(Metric("orbserve_frames_total{outcome=\"QUOTA_EXCEEDED\"}"), 1);
    EXPECT_LE(response_bytes(), 7 * kMaxBytes / 2);
    // Other clients do not notice, also when they have the same address.
    v1::ExtractResponse extracted;
    EXPECT_TRUE(Extract(extract, &extracted).ok());
    EXPECT_EQ(extracted.features().x_size(), kKeypoints);
    third.reset();
    EXPECT_TRUE(Eventually([&] { return one_more().ok(); }));
    EXPECT_TRUE(first.Read().ok());
    EXPECT_TRUE(second.Read().ok());
  }
  EXPECT_TRUE(Eventually([&] { return response_bytes() == 0; }));
}

TEST_F(CallLimitsTest, AnAnswerThatIsNotReadInTimeIsGivenUp) {
  server::Config config;
  config.mutable_limits()->set_send_timeout_ms(300 * kSlower);
  StartServer(config);
  v1::ExtractRequest extract;
  *extract.mutable_frame() = MakeFrame(1280, 960, 1);
  extract.mutable_pipeline()->mutable_select()->set_capacity(20'000);
  extract.mutable_pipeline()->mutable_select()->set_max_features(20'000);
  grpc::GenericStub silent(NewChannel(/*fixed_window=*/true));
  UnreadCall first(silent, "Extract", extract);
  UnreadCall second(silent, "Extract", extract);
  ASSERT_TRUE(Eventually([&] { return Metric("orbserve_frames_total{outcome=\"ok\"}") == 2; }));
  EXPECT_GT(Metric("orbserve_call_response_bytes"), 0);
  EXPECT_TRUE(Eventually([&] { return Metric("orbserve_call_response_bytes") == 0; }));
  EXPECT_EQ(Metric("orbserve_calls_aborted_total{cause=\"send_timeout\"}"), 2);
  EXPECT_EQ(first.Read().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(second.Read().error_code(), grpc::StatusCode::CANCELLED);
  // A client that reads gets such an answer on the same server.
  v1::ExtractResponse extracted;
  EXPECT_TRUE(Extract(extract, &extracted).ok());
  EXPECT_GT(extracted.features().x_size(), 2'000);
}

TEST_F(CallLimitsTest, LargeMatchesHoldUpNothingAndEndWithTheirCalls) {
  server::Config config;
  config.mutable_backend()->set_threads(2);
  StartServer(config);
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

// gRPC would inflate them before it looks at their size.
TEST_F(CallLimitsTest, CompressedMessagesAreRefused) {
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    SetLimit(context);
    context.set_compression_algorithm(algorithm);
    v1::ExtractRequest request;
    *request.mutable_frame() = MakeFrame(640, 480, 1);
    request.mutable_frame()->mutable_pixels()->assign(640 * 480, '\0');
    v1::ExtractResponse response;
    const grpc::Status status = stub_->Extract(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
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
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
  EXPECT_EQ(Metric("orbserve_frames_received_total"), 0);
}

// A queue of a MiB in which a frame of 160 x 120 waits for a second: alone, any would be taken.
class QueueTest : public ServerTest {
 protected:
  void SetUp() override {
    server::Config config;
    config.mutable_batching()->set_max_queue_delay_us(1'000'000);
    StartServer(config, WithLimits([](DerivedLimits* limits) { limits->queue_bytes = 1 << 20; }));
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

// Nothing is kept for frames that wait.
class UnkeptQueueTest : public ServerTest {
 protected:
  void Start(int64_t memory_bytes) {
    server::Config config;
    config.mutable_batching()->set_max_queue_delay_us(1'000'000);
    config.mutable_limits()->set_memory_bytes(static_cast<uint64_t>(memory_bytes));
    StartServer(config, WithLimits([](DerivedLimits* limits) { limits->kept_queue_bytes = 0; }));
  }
  // Returns the status of a frame that comes while another one waits.
  grpc::Status SecondFrame() {
    grpc::ClientContext first_context;
    const std::unique_ptr<Stream> first = Open(first_context);
    EXPECT_TRUE(Send(*first, MakeFrame(160, 120, 1)));
    EXPECT_TRUE(Eventually([this] { return Metric("orbserve_queue_frames") == 1; }));
    v1::ExtractRequest request;
    *request.mutable_frame() = MakeFrame(1200, 1000, 1);
    v1::ExtractResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    const grpc::Status status = stub_->Extract(&context, request, &response);
    first_context.TryCancel();
    return status;
  }
};

TEST_F(UnkeptQueueTest, FramesWaitWhileThereIsMemory) {
  Start(int64_t{4} << 30);
  EXPECT_TRUE(SecondFrame().ok());
}

TEST_F(UnkeptQueueTest, IsFullWhileTooMuchMemoryIsUsed) {
  const int64_t memory_bytes = ReadMemoryState().resident_bytes + (512 << 20);
  Start(memory_bytes);
  // The memory that a server takes depends on the machine, so the ballast is made when the server
  // has taken its own.
  EXPECT_TRUE(SecondFrame().ok());
  std::vector<std::string> ballast;
  while (ReadMemoryState().resident_bytes < memory_bytes / 100 * 68) {
    ballast.emplace_back(4 << 20, 'x');
  }
  EXPECT_TRUE(Eventually([this] {
    const grpc::Status status = SecondFrame();
    return !status.ok() && Details(status).reason() == "QUEUE_FULL";
  }));
}

TEST_F(QueueTest, IsBoundedByWholeMessagesAndImagesAreCounted) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(160, 120, 1);
  v1::ExtractResponse response;
  v1::ExtractRequest given = request;
  for (int i = 0; i < 100'000; ++i) {
    given.mutable_frame()->mutable_keypoints()->add_x(40);
    given.mutable_frame()->mutable_keypoints()->add_y(40);
    given.mutable_frame()->mutable_keypoints()->add_angle(1);
  }
  LetOneWait();
  EXPECT_EQ(Metric("orbserve_received_bytes_total"), 160 * 120);
  EXPECT_EQ(Details(Extract(given, &response)).reason(), "QUEUE_FULL");
  EXPECT_EQ(Metric("orbserve_received_bytes_total"), 2 * 160 * 120);
}

}  // namespace
}  // namespace orbserve
