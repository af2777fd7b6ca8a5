// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Streams of a running server whose frames cannot all be computed in time: drop policies,
// deadlines, and options that change in mid-stream. A gate in front of the backend keeps work in
// flight for as long as a test wants.

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "tests/integration/gated_backend.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

class StreamPolicyTest : public ServerTest {
 protected:
  void SetUp() override { StartGatedServer({}); }
  void TearDown() override {
    gates_.frames.Open();
    gates_.matches.Open();
    server_.reset();  // before the gates
  }

  void StartGatedServer(server::Config config, ServerHooks hooks = {}) {
    hooks.wrap_backend = [this](std::unique_ptr<FeatureBackend> inner) {
      return std::make_unique<GatedBackend>(std::move(inner), &gates_);
    };
    StartServer(std::move(config), std::move(hooks));
    // The plan of the frames that tests send exists from now on, so that frames are prepared by the
    // thread that reads them.
    grpc::ClientContext context;
    const auto stream = Open(context);
    EXPECT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
    stream->WritesDone();
    EXPECT_EQ(ReadResult(*stream).status().code(), 0);
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_TRUE(NothingIsLeft());
    before_ = Outcomes();
    leases_before_ = gates_.leases;
    stages_before_ = StagesRun();
  }

  static v1::FrameResult ReadResult(Stream& stream) {
    v1::StreamFramesResponse response;
    EXPECT_TRUE(stream.Read(&response));
    EXPECT_TRUE(response.has_result()) << response.DebugString();
    return response.result();
  }

  // Small frames that differ, numbered from 0.
  static v1::Frame Numbered(uint64_t sequence) {
    v1::Frame frame = MakeFrame(320, 240, static_cast<uint32_t>(sequence) % 5 + 1);
    frame.set_sequence(sequence);
    return frame;
  }
  void SendMany(Stream& stream, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(Send(stream, Numbered(static_cast<uint64_t>(i)))) << i;
    }
  }

  struct Counts {
    double received = 0;
    double ok = 0;
    double dropped = 0;
    double late = 0;
    double cancelled = 0;
  };
  Counts Outcomes() const {
    const auto outcome = [this](const char* name) {
      return std::max(0.0, Metric(absl::StrCat("orbserve_frames_total{outcome=\"", name, "\"}")));
    };
    return {std::max(0.0, Metric("orbserve_frames_received_total")), outcome("ok"),
            outcome("DROPPED"), outcome("DEADLINE_EXCEEDED"), outcome("CANCELLED")};
  }
  // Since the server was started for the test.
  Counts Since() const {
    const Counts now = Outcomes();
    return {now.received - before_.received, now.ok - before_.ok, now.dropped - before_.dropped,
            now.late - before_.late, now.cancelled - before_.cancelled};
  }
  int Leases() const { return gates_.leases - leases_before_; }

  // Frames whose pyramid stage was timed: every frame whose computation began and went on.
  double StagesRun() const {
    return std::max(0.0, Metric("orbserve_stage_duration_seconds_count{stage=\"pyramid\","
                                "backend=\"cpu\",device=\"cpu\"}"));
  }
  double StagesSince() const { return StagesRun() - stages_before_; }

  bool NothingIsLeft() {
    return Eventually([this] {
      return Metric("orbserve_streams") == 0 && Metric("orbserve_queue_frames") == 0 &&
             Metric("orbserve_stream_response_bytes") == 0;
    });
  }

  Gates gates_;
  Counts before_;
  int leases_before_ = 0;
  double stages_before_ = 0;
};

TEST_F(StreamPolicyTest, OpenedSaysWhatTheClientGets) {
  for (const auto& [policy, in_force, in_flight, waiting] :
       {std::tuple(v1::DROP_POLICY_UNSPECIFIED, v1::DROP_POLICY_BLOCK, 8u, 0u),
        std::tuple(v1::DROP_POLICY_BLOCK, v1::DROP_POLICY_BLOCK, 8u, 0u),
        std::tuple(v1::DROP_POLICY_NEWEST, v1::DROP_POLICY_NEWEST, 2u, 4u),
        std::tuple(v1::DROP_POLICY_OLDEST, v1::DROP_POLICY_OLDEST, 2u, 4u)}) {
    grpc::ClientContext context;
    v1::StreamOpen open;
    open.set_drop_policy(policy);
    open.set_deadline_ms(1234);
    v1::StreamOpened opened;
    const auto stream = Open(context, open, &opened);
    EXPECT_EQ(opened.drop_policy(), in_force);
    EXPECT_EQ(opened.max_in_flight(), in_flight);
    EXPECT_EQ(opened.max_waiting(), waiting);
    EXPECT_EQ(opened.deadline_ms(), 1234u);
    EXPECT_EQ(opened.limits().max_side_px(), 8192u);
    EXPECT_EQ(opened.limits().max_streams(), 256u);
    EXPECT_EQ(opened.pipeline().track().levels(), 5u);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
}

// Frames that are dropped are not decoded: a lease of an input slot is what decoding begins with.
TEST_F(StreamPolicyTest, NewestDropsTheOldestWaitingFramesAndSaysSoInTheirPlace) {
  constexpr int kFrames = 20;
  gates_.frames.Close();
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.set_drop_policy(v1::DROP_POLICY_NEWEST);
  const auto stream = Open(context, open);
  SendMany(*stream, kFrames);
  stream->WritesDone();
  ASSERT_TRUE(Eventually([&] { return Since().received == kFrames; })) << "it reads on";
  ASSERT_TRUE(Eventually([&] { return Metric("orbserve_queue_frames") == 4; }));
  EXPECT_EQ(Leases(), 2);
  gates_.frames.Open();
  for (uint64_t i = 0; i < kFrames; ++i) {
    const v1::FrameResult result = ReadResult(*stream);
    EXPECT_EQ(result.sequence(), i);
    const bool is_dropped = i >= 2 && i < kFrames - 4;
    EXPECT_EQ(result.status().reason(), is_dropped ? "DROPPED" : "") << i;
    EXPECT_EQ(result.status().code(), is_dropped ? grpc::StatusCode::ABORTED : 0);
    EXPECT_EQ(result.has_features(), !is_dropped);
    EXPECT_EQ(result.timings().compute_ns() == 0, is_dropped);
    if (is_dropped) {
      EXPECT_THAT(result.status().message(), HasSubstr("a newer frame took the place"));
      EXPECT_EQ(result.status().retry_after_ms(), 0u);
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Leases(), 6);
  const Counts counts = Since();
  EXPECT_EQ(counts.ok, 6);
  EXPECT_EQ(counts.dropped, 14);
  EXPECT_EQ(counts.received, kFrames);
  EXPECT_EQ(StagesSince(), 6);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamPolicyTest, OldestDropsTheFramesThatFindTheRoomFull) {
  constexpr int kFrames = 20;
  gates_.frames.Close();
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.set_drop_policy(v1::DROP_POLICY_OLDEST);
  const auto stream = Open(context, open);
  SendMany(*stream, kFrames);
  stream->WritesDone();
  ASSERT_TRUE(Eventually([&] { return Since().received == kFrames; }));
  gates_.frames.Open();
  for (uint64_t i = 0; i < kFrames; ++i) {
    const v1::FrameResult result = ReadResult(*stream);
    EXPECT_EQ(result.sequence(), i);
    EXPECT_EQ(result.status().reason(), i >= 6 ? "DROPPED" : "") << i;
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Leases(), 6);
  EXPECT_EQ(Since().ok, 6);
  EXPECT_EQ(Since().dropped, 14);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamPolicyTest, TheWaitingRoomHasFramesAndBytes) {
  StartGatedServer({}, WithLimits([](DerivedLimits* limits) {
                     limits->stream_frames_waiting = 3;
                     limits->stream_bytes_waiting = 2 * 320 * 240 + 1000;
                     limits->stream_frames_in_flight = 1;
                   }));
  gates_.frames.Close();
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.set_drop_policy(v1::DROP_POLICY_NEWEST);
  v1::StreamOpened opened;
  const auto stream = Open(context, open, &opened);
  EXPECT_EQ(opened.max_in_flight(), 1u);
  EXPECT_EQ(opened.max_waiting(), 3u);
  SendMany(*stream, 6);
  stream->WritesDone();
  ASSERT_TRUE(Eventually([&] { return Since().received == 6; }));
  gates_.frames.Open();
  const char* const reasons[] = {"", "DROPPED", "DROPPED", "DROPPED", "", ""};  // two by bytes
  for (const char* reason : reasons) EXPECT_EQ(ReadResult(*stream).status().reason(), reason);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StreamPolicyTest, ARobotThatReadsNothingDoesNotMakeTheServerGrow) {
  constexpr int kMaxUnread = 2 + 4 + 256;
  gates_.frames.Close();
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.set_drop_policy(v1::DROP_POLICY_NEWEST);
  const auto stream = Open(context, open, nullptr, 60);
  std::atomic<int> sent{0};
  std::jthread sender([&] {
    while (Send(*stream, Numbered(static_cast<uint64_t>(sent)))) ++sent;
  });
  const absl::Cleanup end_sender = [&] { context.TryCancel(); };
  ASSERT_TRUE(Eventually([&] { return Since().received >= kMaxUnread - 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // nothing further is read
  EXPECT_LE(Since().received, kMaxUnread);
  EXPECT_LE(Metric("orbserve_queue_frames"), 6);
  EXPECT_LE(Metric("orbserve_queue_bytes"), 6 * (320 * 240 + 1000));
  // It goes on as soon as the robot reads.
  const int before = sent;
  gates_.frames.Open();
  for (uint64_t i = 0; i < 400; ++i) EXPECT_EQ(ReadResult(*stream).sequence(), i);
  EXPECT_GT(sent, before);
  context.TryCancel();
  sender.join();
  stream->Finish();
  EXPECT_TRUE(NothingIsLeft());
  const Counts counts = Since();
  EXPECT_EQ(counts.ok + counts.dropped + counts.cancelled, counts.received);
}

// All frames are late while the backend holds the first two. Each is answered at its deadline all
// the same, and what the backend has in hand is not computed any more.
TEST_F(StreamPolicyTest, LateFramesAreAnsweredWhileTheBackendIsBusyAndAreNotComputed) {
  for (const v1::DropPolicy policy : {v1::DROP_POLICY_BLOCK, v1::DROP_POLICY_NEWEST}) {
    gates_.frames.Close();
    const Counts begin = Since();
    const double stages = StagesSince();
    grpc::ClientContext context;
    v1::StreamOpen open;
    open.set_drop_policy(policy);
    open.set_deadline_ms(100);
    const auto stream = Open(context, open);
    SendMany(*stream, 6);
    for (uint64_t i = 0; i < 6; ++i) {
      const v1::FrameResult result = ReadResult(*stream);
      EXPECT_EQ(result.sequence(), i);
      EXPECT_EQ(result.status().reason(), "DEADLINE_EXCEEDED");
      EXPECT_GE(result.timings().total_ns(), 100'000'000u);
      EXPECT_FALSE(result.has_features());
    }
    EXPECT_GT(gates_.frames.held(), 0) << "the backend has not answered";
    gates_.frames.Open();
    v1::Frame patient = MakeFrame(320, 240, 9);
    patient.set_deadline_ms(20'000 * kSlower);
    ASSERT_TRUE(Send(*stream, patient));
    EXPECT_EQ(ReadResult(*stream).status().reason(), "");
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(Since().late - begin.late, 6);
    EXPECT_EQ(Since().ok - begin.ok, 1);
    EXPECT_EQ(StagesSince() - stages, 1) << "no stage ran for a late frame";
    EXPECT_TRUE(NothingIsLeft());
  }
}

TEST_F(StreamPolicyTest, AFrameWhoseMatchesAreLateIsLate) {
  gates_.matches.Close();
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.set_match_previous(true);
  const auto stream = Open(context, open);
  ASSERT_TRUE(Send(*stream, Numbered(0)));
  EXPECT_EQ(ReadResult(*stream).status().reason(), "");
  v1::Frame hurried = Numbered(1);
  hurried.set_deadline_ms(100);
  ASSERT_TRUE(Send(*stream, hurried));
  const v1::FrameResult late = ReadResult(*stream);
  EXPECT_EQ(late.status().reason(), "DEADLINE_EXCEEDED");
  EXPECT_FALSE(late.has_features());
  EXPECT_EQ(late.matches_size(), 0);
  gates_.matches.Open();
  // The late frame is no target.
  ASSERT_TRUE(Send(*stream, Numbered(2)));
  const v1::FrameResult next = ReadResult(*stream);
  ASSERT_EQ(next.matches_size(), 1);
  EXPECT_EQ(next.matches(0).target_sequence(), 0u);
  EXPECT_EQ(next.matches(0).status().reason(), "");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(Since().ok, 2);
  EXPECT_EQ(Since().late, 1);
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamPolicyTest, ALateFrameKeepsItsPlaceBehindAFrameThatHasTime) {
  gates_.frames.Close();
  grpc::ClientContext context;
  const auto stream = Open(context);
  v1::Frame hurried = Numbered(1);
  hurried.set_deadline_ms(50);
  ASSERT_TRUE(Send(*stream, Numbered(0)));
  ASSERT_TRUE(Send(*stream, hurried));
  ASSERT_TRUE(Send(*stream, Numbered(2)));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  gates_.frames.Open();
  const char* const reasons[] = {"", "DEADLINE_EXCEEDED", ""};
  for (uint64_t i = 0; i < 3; ++i) {
    const v1::FrameResult result = ReadResult(*stream);
    EXPECT_EQ(result.sequence(), i);
    EXPECT_EQ(result.status().reason(), reasons[i]);
  }
  EXPECT_EQ(StagesSince(), 2);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StreamPolicyTest, NothingIsComputedForAStreamThatIsCancelled) {
  for (const v1::DropPolicy policy : {v1::DROP_POLICY_BLOCK, v1::DROP_POLICY_NEWEST}) {
    gates_.frames.Close();
    const Counts begin = Since();
    grpc::ClientContext context;
    v1::StreamOpen open;
    open.set_drop_policy(policy);
    const auto stream = Open(context, open);
    SendMany(*stream, 6);
    ASSERT_TRUE(Eventually([&] { return Since().received - begin.received == 6; }));
    context.TryCancel();
    stream->Finish();
    ASSERT_TRUE(Eventually([&] { return Since().cancelled - begin.cancelled == 6; }));
    gates_.frames.Open();
    EXPECT_TRUE(NothingIsLeft());
    // A frame behind them proves that the backend is done with them.
    v1::ExtractRequest extract;
    *extract.mutable_frame() = Numbered(1);
    v1::ExtractResponse response;
    ASSERT_TRUE(Extract(extract, &response).ok());
    EXPECT_EQ(Since().ok - begin.ok, 1);
  }
  EXPECT_EQ(StagesSince(), 2) << "those of the two frames that were extracted at last";
}

TEST_F(StreamPolicyTest, ASecondOpeningHoldsForTheFramesBehindIt) {
  gates_.frames.Close();
  grpc::ClientContext context;
  v1::StreamOpen open;
  open.mutable_pipeline()->mutable_select()->set_max_features(50);
  open.set_match_previous(true);
  const auto stream = Open(context, open);
  ASSERT_TRUE(Send(*stream, Numbered(0)));
  ASSERT_TRUE(Send(*stream, Numbered(1)));
  v1::StreamFramesRequest again;
  again.mutable_open()->mutable_pipeline()->set_preset("vio");
  again.mutable_open()->set_drop_policy(v1::DROP_POLICY_OLDEST);
  again.mutable_open()->set_deadline_ms(20'000 * kSlower);
  ASSERT_TRUE(stream->Write(again));
  v1::Frame larger = MakeFrame(640, 480, 3);
  larger.set_sequence(2);
  ASSERT_TRUE(Send(*stream, larger));
  again.mutable_open()->Clear();
  again.mutable_open()->set_omit_features(true);
  ASSERT_TRUE(stream->Write(again));
  ASSERT_TRUE(Send(*stream, Numbered(3)));
  stream->WritesDone();
  ASSERT_TRUE(Eventually([&] { return Since().received == 4; }));
  gates_.frames.Open();

  for (uint64_t i = 0; i < 2; ++i) {
    const v1::FrameResult result = ReadResult(*stream);
    EXPECT_EQ(result.sequence(), i);
    EXPECT_GT(result.features().x_size(), 20);
    EXPECT_LE(result.features().x_size(), 50) << "of its own opening";
    EXPECT_EQ(result.matches_size(), i == 0 ? 0 : 1);
  }
  v1::StreamFramesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_TRUE(response.has_opened()) << response.DebugString();
  EXPECT_EQ(response.opened().pipeline().preset(), "vio");
  EXPECT_EQ(response.opened().drop_policy(), v1::DROP_POLICY_OLDEST);
  EXPECT_EQ(response.opened().deadline_ms(), 20'000u * kSlower);
  EXPECT_GT(response.opened().stream_id(), 0u);
  const v1::FrameResult vio = ReadResult(*stream);
  EXPECT_EQ(vio.sequence(), 2u);
  EXPECT_EQ(vio.status().reason(), "");
  EXPECT_EQ(vio.features().x_size(), 100);
  EXPECT_EQ(vio.features().image_width_px(), 640u);
  EXPECT_EQ(vio.matches_size(), 0);
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_TRUE(response.has_opened());
  EXPECT_EQ(response.opened().pipeline().preset(), "orb");
  EXPECT_EQ(response.opened().drop_policy(), v1::DROP_POLICY_BLOCK);
  EXPECT_EQ(response.opened().deadline_ms(), 0u);
  const v1::FrameResult last = ReadResult(*stream);
  EXPECT_EQ(last.sequence(), 3u);
  EXPECT_EQ(last.status().reason(), "");
  EXPECT_FALSE(last.has_features());
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(StreamPolicyTest, AnOpeningOnAQuietStreamIsAnsweredAtOnce) {
  grpc::ClientContext context;
  const auto stream = Open(context);
  v1::StreamFramesRequest again;
  again.mutable_open()->mutable_pipeline()->set_preset("bfrost");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream->Write(again));
    v1::StreamFramesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.opened().pipeline().preset(), "bfrost");
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StreamPolicyTest, ABadSecondOpeningEndsTheStreamAfterItsFramesAreAnswered) {
  grpc::ClientContext context;
  const auto stream = Open(context);
  ASSERT_TRUE(Send(*stream, Numbered(0)));
  v1::StreamFramesRequest again;
  again.mutable_open()->mutable_pipeline()->set_preset("none such");
  ASSERT_TRUE(stream->Write(again));
  EXPECT_TRUE(ReadResult(*stream).has_features());
  v1::StreamFramesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(Details(stream->Finish()).reason(), "BAD_OPTIONS");
  EXPECT_TRUE(NothingIsLeft());
}

}  // namespace
}  // namespace orbserve
