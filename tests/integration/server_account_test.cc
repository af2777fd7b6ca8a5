// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// What clients are told, the page of metrics, and the last line of the log (FrameCounts) agree,
// also about frames that were extracted and then not answered. A gate in front of the backend keeps
// matches in flight for as long as a test wants.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/integration/gated_backend.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

class AccountTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerHooks hooks;
    hooks.wrap_backend = [this](std::unique_ptr<FeatureBackend> inner) {
      return std::make_unique<GatedBackend>(std::move(inner), &gates_);
    };
    StartServer({}, std::move(hooks));
  }
  void TearDown() override {
    gates_.matches.Open();
    server_.reset();  // before the gates
  }

  std::unique_ptr<Stream> OpenMatching(grpc::ClientContext& context) {
    v1::StreamOpen open;
    open.set_match_previous(true);
    return Open(context, open);
  }
  static v1::FrameResult ReadResult(Stream& stream) {
    v1::StreamFramesResponse response;
    EXPECT_TRUE(stream.Read(&response));
    EXPECT_TRUE(response.has_result()) << response.ShortDebugString();
    return response.result();
  }
  double Outcome(const char* name) const {
    return Metric(absl::StrCat("orbserve_frames_total{outcome=\"", name, "\"}"));
  }
  // Ends the server's work, and compares its accounts.
  void ExpectAccount(int64_t ok, int64_t failed) {
    gates_.matches.Open();
    EXPECT_TRUE(server_->Drain());
    EXPECT_EQ(Outcome("ok"), ok);
    EXPECT_EQ(Metric("orbserve_frames_received_total"), ok + failed);
    const FrameCounts log = server_->frame_counts();
    EXPECT_EQ(log.ok, ok);
    EXPECT_EQ(log.failed, failed);
    EXPECT_EQ(log.received, ok + failed);
  }

  Gates gates_;
};

TEST_F(AccountTest, AFrameWhoseMatchesAreLateIsLateInEveryAccount) {
  grpc::ClientContext context;
  const auto stream = OpenMatching(context);
  ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
  EXPECT_FALSE(ReadResult(*stream).has_status());
  gates_.matches.Close();
  v1::Frame frame = MakeFrame(320, 240, 2);
  // The extraction must be in time.
  frame.set_deadline_ms(static_cast<uint32_t>(500 * kSlower));
  ASSERT_TRUE(Send(*stream, frame));
  EXPECT_EQ(ReadResult(*stream).status().reason(), "DEADLINE_EXCEEDED");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Outcome("DEADLINE_EXCEEDED"), 1);
  ExpectAccount(/*ok=*/1, /*failed=*/1);
}

TEST_F(AccountTest, FramesOfACancelledStreamAreCancelledInEveryAccount) {
  grpc::ClientContext context;
  const auto stream = OpenMatching(context);
  ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
  EXPECT_FALSE(ReadResult(*stream).has_status());
  gates_.matches.Close();
  for (uint32_t i = 2; i <= 4; ++i) ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, i)));
  ASSERT_TRUE(Eventually([this] { return gates_.matches.held() > 0; }));
  ASSERT_TRUE(Eventually([this] { return Metric("orbserve_frames_received_total") == 4; }));
  context.TryCancel();
  stream->Finish();
  ASSERT_TRUE(Eventually([this] { return Metric("orbserve_streams") == 0; }));
  EXPECT_EQ(Outcome("CANCELLED"), 3);
  ExpectAccount(/*ok=*/1, /*failed=*/3);
}

TEST_F(AccountTest, ImagesOfAMatchThatIsLateAreNotOk) {
  gates_.matches.Close();
  v1::MatchRequest request;
  *request.mutable_query_frame() = MakeFrame(320, 240, 1);
  *request.mutable_train_frame() = MakeFrame(320, 240, 2);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + milliseconds(500 * kSlower));
  v1::MatchResponse response;
  EXPECT_EQ(stub_->Match(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // The client's deadline comes before the server's.
  EXPECT_TRUE(Eventually([this] { return server_->frame_counts().failed == 2; }));
  ExpectAccount(/*ok=*/0, /*failed=*/2);
}

// The first result is larger than what the client takes unasked, so the second one cannot be
// written before the client reads. By then its deadline has passed.
TEST_F(AccountTest, AResultThatWasReadyInTimeAndIsSentLateIsLate) {
  v1::Frame large = MakeFrame(2048, 2048, 1);
  large.mutable_keypoints();
  for (int i = 0; i < 90'000; ++i) {
    large.mutable_keypoints()->add_x(static_cast<float>(40 + i % 1900));
    large.mutable_keypoints()->add_y(static_cast<float>(40 + i / 1900 * 30));
    large.mutable_keypoints()->add_angle(0);
    large.mutable_keypoints()->add_octave(0);
  }
  stub_ = NewStub(/*fixed_window=*/true);
  grpc::ClientContext context;
  const auto stream = Open(context);
  ASSERT_TRUE(Send(*stream, large));
  ASSERT_TRUE(Eventually([this] {
    return Metric(
               "orbserve_stage_duration_seconds_count{stage=\"encode\",backend=\"host\","
               "device=\"host\"}") == 1;
  }));
  v1::Frame small = MakeFrame(320, 240, 2);
  small.set_deadline_ms(static_cast<uint32_t>(500 * kSlower));
  ASSERT_TRUE(Send(*stream, small));
  ASSERT_TRUE(Eventually([this] { return Metric("orbserve_frames_received_total") == 2; }));
  std::this_thread::sleep_for(milliseconds(500 * kSlower));  // until its deadline has passed
  const v1::FrameResult first = ReadResult(*stream);
  EXPECT_EQ(first.features().x_size(), 90'000) << first.status().message();
  EXPECT_EQ(ReadResult(*stream).status().reason(), "DEADLINE_EXCEEDED");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  ExpectAccount(/*ok=*/1, /*failed=*/1);
}

}  // namespace
}  // namespace orbserve
