// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Streams over links that are slow, or gone without a word: what a frame's age makes of it, and the
// frames that wait in the client.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/client/frame_stream_fixture.h"
#include "tests/client/refusing_port.h"
#include "tests/client/silent_relay.h"

namespace orbserve::client {
namespace {

using ::orbserve::testing::RefusingPort;
using ::orbserve::testing::SilentRelay;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = StreamEvent::Kind;
using FrameLinkTest = FrameStreamFixture;
using SteadyClock = std::chrono::steady_clock;

v1::StreamOpen With(v1::DropPolicy policy, uint32_t deadline_ms = 0) {
  v1::StreamOpen open;
  open.set_drop_policy(policy);
  open.set_deadline_ms(deadline_ms);
  return open;
}

v1::Frame FrameOf(uint64_t sequence, uint32_t deadline_ms = 0) {
  v1::Frame frame;
  frame.set_sequence(sequence);
  frame.set_timestamp_ns(static_cast<int64_t>(sequence) * 10);
  frame.set_deadline_ms(deadline_ms);
  return frame;
}

// The next result, which must be there.
v1::FrameResult Result(FrameStream* stream, FrameTimes* times = nullptr) {
  const auto result = stream->Receive(times);
  EXPECT_TRUE(result.ok() && result->has_value()) << result.status();
  return result.ok() && result->has_value() ? **result : v1::FrameResult();
}

void ExpectDropped(const v1::FrameResult& result, uint64_t sequence) {
  EXPECT_EQ(result.sequence(), sequence);
  EXPECT_EQ(result.timestamp_ns(), static_cast<int64_t>(sequence) * 10);
  EXPECT_EQ(result.status().code(), 10);
  EXPECT_EQ(result.status().reason(), "DROPPED");
  EXPECT_THAT(result.status().message(), HasSubstr("on the client"));
}

void ExpectLate(const v1::FrameResult& result, uint64_t sequence) {
  EXPECT_EQ(result.sequence(), sequence);
  EXPECT_EQ(result.status().code(), 4);
  EXPECT_EQ(result.status().reason(), "DEADLINE_EXCEEDED");
  EXPECT_THAT(result.status().message(), HasSubstr("on the client"));
}

// A connection that reads one frame, and answers it and reads the others once it may. That frame is
// under way then, and so no other one is.
struct HeldConnection {
  Connection Script() {
    return [this](ServerStream* stream) {
      v1::StreamFramesRequest request;
      stream->Read(&request);
      came.Notify();
      go.WaitForNotification();
      Answer(stream, request);
      return Echo(stream);
    };
  }

  absl::Notification came;
  absl::Notification go;
};

TEST_F(FrameLinkTest, FramesThatTheLinkKeepsWaitingAreDroppedAsThePolicySaysInTheirPlace) {
  for (const bool newest : {true, false}) {
    HeldConnection held;
    SetScript({held.Script()});
    {
      absl::MutexLock lock(&service_.mutex);
      service_.opens.clear();
    }
    const auto stream =
        Open(absl::Seconds(60), With(newest ? v1::DROP_POLICY_NEWEST : v1::DROP_POLICY_OLDEST));
    ASSERT_TRUE(Send(stream.get(), 1).ok());
    held.came.WaitForNotification();
    // One waits.
    for (const uint64_t sequence : {2, 3, 4}) ASSERT_TRUE(Send(stream.get(), sequence).ok());
    absl::StatusOr<std::optional<v1::FrameResult>> nothing;
    EXPECT_FALSE(stream->Receive(absl::ZeroDuration(), &nothing));  // the order is kept
    EXPECT_EQ(stream->link().dropped, 2u);
    held.go.Notify();
    EXPECT_EQ(Next(stream.get()), "1");
    if (newest) {
      ExpectDropped(Result(stream.get()), 2);
      ExpectDropped(Result(stream.get()), 3);
      EXPECT_EQ(Next(stream.get()), "4");
    } else {
      EXPECT_EQ(Next(stream.get()), "2");
      ExpectDropped(Result(stream.get()), 3);
      ExpectDropped(Result(stream.get()), 4);
    }
    ASSERT_TRUE(stream->CloseSend().ok());
    EXPECT_EQ(Next(stream.get()), "end");
  }
}

TEST_F(FrameLinkTest, TheCallerChoosesHowManyFramesWait) {
  HeldConnection held;
  SetScript({held.Script()});
  auto stream = client_->OpenStream(With(v1::DROP_POLICY_NEWEST), {.max_waiting = 2});
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE(Send(stream->get(), 1).ok());
  held.came.WaitForNotification();
  for (const uint64_t sequence : {2, 3, 4}) ASSERT_TRUE(Send(stream->get(), sequence).ok());
  held.go.Notify();
  for (const std::string expected : {"1", "2!", "3", "4"}) {
    EXPECT_EQ(Next(stream->get()), expected);
  }
  EXPECT_EQ(client_->OpenStream({}, {.max_waiting = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The last frames must not be lost with the end of the sending.
TEST_F(FrameLinkTest, AFrameThatWaitsIsSentBeforeTheEnd) {
  HeldConnection held;
  SetScript({held.Script()});
  const auto stream = Open(absl::Seconds(60), With(v1::DROP_POLICY_OLDEST));
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  held.came.WaitForNotification();
  ASSERT_TRUE(Send(stream.get(), 2).ok());
  ASSERT_TRUE(stream->CloseSend().ok());
  EXPECT_FALSE(Send(stream.get(), 3).ok());
  held.go.Notify();
  for (const std::string expected : {"1", "2", "end"}) EXPECT_EQ(Next(stream.get()), expected);
}

TEST_F(FrameLinkTest, WithoutAConnectionSendingNeverWaitsAndTheNewestFrameIsKept) {
  SetScript({DiesWithItsServer()});
  const auto stream = Open(absl::Seconds(60), With(v1::DROP_POLICY_NEWEST));
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EndServerUnder(stream.get(), 1);
  auto refusing = std::make_unique<RefusingPort>(port_);
  for (const uint64_t sequence : {2, 3, 4}) ASSERT_TRUE(Send(stream.get(), sequence).ok());
  // Nothing is before them in the order.
  ExpectDropped(Result(stream.get()), 2);
  FrameTimes times;
  ExpectDropped(Result(stream.get(), &times), 3);
  EXPECT_GT(times.age, absl::ZeroDuration());
  EXPECT_EQ(times.round_trip, absl::ZeroDuration());
  EXPECT_FALSE(stream->link().connected);
  refusing.reset();
  StartServer();
  EXPECT_EQ(Next(stream.get()), "4");
  EXPECT_TRUE(stream->link().connected);
}

TEST_F(FrameLinkTest, AFrameWhoseTimePassesWithoutAConnectionIsAnsweredThen) {
  SetScript({DiesWithItsServer()});
  const auto stream = Open(absl::Seconds(60), With(v1::DROP_POLICY_NEWEST, 50));
  ASSERT_TRUE(stream->Send(FrameOf(1, 60'000)).ok());
  EndServerUnder(stream.get(), 1);
  {
    const RefusingPort refusing(port_);
    ASSERT_TRUE(stream->Send(FrameOf(2)).ok());
    ExpectLate(Result(stream.get()), 2);
    EXPECT_EQ(stream->link().late, 1u);
  }
  StartServer();
}

TEST_F(FrameLinkTest, WithBlockSendingWaitsForAConnectionAndNothingIsDropped) {
  SetScript({DiesWithItsServer()});
  const auto stream = Open();
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EndServerUnder(stream.get(), 1);
  auto refusing = std::make_unique<RefusingPort>(port_);
  v1::Frame waits = FrameOf(9);
  const auto tried = stream->TrySend(&waits);
  EXPECT_TRUE(tried.ok() && !*tried);
  EXPECT_EQ(waits.sequence(), 9u);
  std::atomic<int> sent = 0;
  std::thread sender([&] {
    for (const uint64_t sequence : {2, 3, 4}) {
      EXPECT_TRUE(Send(stream.get(), sequence).ok());
      ++sent;
    }
  });
  refusing->Refuse(1);
  EXPECT_EQ(sent, 0);
  refusing.reset();
  StartServer();
  for (const std::string expected : {"2", "3", "4"}) EXPECT_EQ(Next(stream.get()), expected);
  sender.join();
}

// Keeps the deadlines of the frames that it reads.
Connection Keeps(absl::Mutex* mutex, std::vector<uint32_t>* deadlines_ms) {
  return [=](ServerStream* stream) {
    v1::StreamFramesRequest request;
    while (stream->Read(&request)) {
      {
        absl::MutexLock lock(mutex);
        deadlines_ms->push_back(request.frame().deadline_ms());
      }
      Answer(stream, request);
    }
    return grpc::Status::OK;
  };
}

TEST_F(FrameLinkTest, TheServerGetsWhatIsLeftOfTheTime) {
  for (const auto policy : {v1::DROP_POLICY_BLOCK, v1::DROP_POLICY_NEWEST}) {
    std::vector<uint32_t> deadlines_ms;
    SetScript({Keeps(&service_.mutex, &deadlines_ms)});
    {
      absl::MutexLock lock(&service_.mutex);
      service_.opens.clear();
    }
    const auto stream = Open(absl::Seconds(60), With(policy, 60'000));
    const auto now = SteadyClock::now();
    FrameTimes times;
    ASSERT_TRUE(stream->Send(FrameOf(1), now - std::chrono::seconds(20)).ok());
    EXPECT_EQ(Result(stream.get(), &times).status().code(), 0);
    EXPECT_GE(times.age, absl::Seconds(20));
    EXPECT_GT(times.round_trip, absl::ZeroDuration());
    EXPECT_LT(times.round_trip, absl::Seconds(20));
    ASSERT_TRUE(stream->Send(FrameOf(2, 90'000), now - std::chrono::seconds(20)).ok());
    EXPECT_EQ(Next(stream.get()), "2");
    // The clock of a camera may run ahead.
    ASSERT_TRUE(stream->Send(FrameOf(3), now + std::chrono::hours(1)).ok());
    EXPECT_EQ(Next(stream.get()), "3");
    // These are over before they are sent: the last one has less than a millisecond.
    ASSERT_TRUE(stream->Send(FrameOf(4), now - std::chrono::seconds(60)).ok());
    ExpectLate(Result(stream.get()), 4);
    ASSERT_TRUE(
        stream->Send(FrameOf(5, 1), SteadyClock::now() - std::chrono::microseconds(10)).ok());
    ExpectLate(Result(stream.get()), 5);
    EXPECT_EQ(stream->link().late, 2u);
    ASSERT_TRUE(stream->CloseSend().ok());
    EXPECT_EQ(Next(stream.get()), "end");
    absl::MutexLock lock(&service_.mutex);
    ASSERT_EQ(deadlines_ms.size(), 3u);
    EXPECT_LE(deadlines_ms[0], 40'000u);
    EXPECT_GT(deadlines_ms[0], 20'000u);
    EXPECT_LE(deadlines_ms[1], 70'000u);
    EXPECT_GT(deadlines_ms[1], 50'000u);
    EXPECT_LE(deadlines_ms[2], 60'000u);
    EXPECT_GT(deadlines_ms[2], 40'000u);
  }
}

TEST_F(FrameLinkTest, WithoutADeadlineTheServerGetsNone) {
  std::vector<uint32_t> deadlines_ms;
  SetScript({Keeps(&service_.mutex, &deadlines_ms)});
  const auto stream = Open();
  ASSERT_TRUE(stream->Send(FrameOf(1), SteadyClock::now() - std::chrono::hours(1)).ok());
  EXPECT_EQ(Next(stream.get()), "1");
  ASSERT_TRUE(stream->CloseSend().ok());
  EXPECT_EQ(Next(stream.get()), "end");
  absl::MutexLock lock(&service_.mutex);
  EXPECT_THAT(deadlines_ms, ElementsAre(0));
}

// The pixels of a frame of 64x64 as its stream sends them.
v1::Frame RawFrame(uint64_t sequence) {
  v1::Frame frame = FrameOf(sequence);
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(64);
  frame.set_height_px(64);
  std::string& pixels = *frame.mutable_pixels();
  for (int i = 0; i < 64 * 64; ++i) pixels.push_back(static_cast<char>(i * i % 251));
  return frame;
}

TEST_F(FrameLinkTest, RawFramesAreSentAsJpegFilesWhoseQualityFollowsTheAgeOfAnswers) {
  std::vector<v1::Frame> frames;
  SetScript({[&](ServerStream* stream) {
    v1::StreamFramesRequest request;
    while (stream->Read(&request)) {
      {
        absl::MutexLock lock(&service_.mutex);
        frames.push_back(request.frame());
      }
      v1::StreamFramesResponse response;
      *response.mutable_result() = ResultOf(request);
      response.mutable_result()->mutable_timings()->set_total_ns(1);
      v1::FeatureSet& features = *response.mutable_result()->mutable_features();
      features.set_image_width_px(request.frame().width_px());
      features.set_image_height_px(request.frame().height_px());
      stream->Write(response);
    }
    return grpc::Status::OK;
  }});
  auto opened = client_->OpenStream(With(v1::DROP_POLICY_NEWEST), {.jpeg_age = absl::Hours(2)});
  ASSERT_TRUE(opened.ok()) << opened.status();
  FrameStream* const stream = opened->get();
  EXPECT_EQ(stream->link().jpeg_quality, 90);
  // The age alone decides, and the capture time makes it.
  const auto now = SteadyClock::now();
  ASSERT_TRUE(stream->Send(RawFrame(1), now - std::chrono::hours(3)).ok());
  EXPECT_EQ(Next(stream), "1");
  EXPECT_EQ(stream->link().jpeg_quality, 80);
  ASSERT_TRUE(stream->Send(RawFrame(2), now - std::chrono::hours(3)).ok());
  EXPECT_EQ(Next(stream), "2");
  EXPECT_EQ(stream->link().jpeg_quality, 80);  // it was captured before the change
  ASSERT_TRUE(stream->Send(RawFrame(3)).ok());
  EXPECT_EQ(Next(stream), "3");
  EXPECT_EQ(stream->link().jpeg_quality, 82);
  // The client sends a file, or pixels that it cannot encode, as they are.
  v1::Frame file = FrameOf(4);
  file.set_pixels("\xFF\xD8\xFF file");
  ASSERT_TRUE(stream->Send(file).ok());
  EXPECT_EQ(Next(stream), "4");
  v1::Frame broken = RawFrame(5);
  broken.mutable_pixels()->resize(9);
  ASSERT_TRUE(stream->Send(broken).ok());
  EXPECT_EQ(Next(stream), "5");
  v1::Frame tried = RawFrame(6);
  ASSERT_TRUE(stream->TrySend(&tried).value_or(false));
  EXPECT_EQ(Next(stream), "6");
  ASSERT_TRUE(stream->CloseSend().ok());
  EXPECT_EQ(Next(stream), "end");

  absl::MutexLock lock(&service_.mutex);
  ASSERT_EQ(frames.size(), 6u);
  for (const size_t i : {0, 1, 2, 5}) {
    EXPECT_EQ(frames[i].format(), v1::PIXEL_FORMAT_JPEG);
    EXPECT_EQ(frames[i].width_px(), 64u);
    EXPECT_EQ(frames[i].pixels().substr(0, 3), "\xFF\xD8\xFF");
  }
  EXPECT_LT(frames[1].pixels().size(), frames[0].pixels().size());
  EXPECT_EQ(frames[3].pixels(), file.pixels());
  EXPECT_EQ(frames[4].pixels(), broken.pixels());
  EXPECT_EQ(frames[4].format(), v1::PIXEL_FORMAT_GRAY8);
}

TEST_F(FrameLinkTest, AWantedAgeBelowZeroIsRefused) {
  const auto stream = client_->OpenStream({}, {.jpeg_age = -absl::Seconds(1)});
  EXPECT_EQ(stream.status().message(), "jpeg_age must be 0 or more; got -1s");
}

using Ended = std::vector<std::pair<uint64_t, v1::TrackEnd>>;

Ended EndedIn(const v1::FrameResult& result) {
  Ended found;
  for (const v1::EndedTrack& track : result.ended_tracks()) {
    found.emplace_back(track.id(), track.reason());
  }
  return found;
}

TEST_F(FrameLinkTest, AnAnswerThatComesLateIsLateAndTheEndsOfItsTracksAreToldLater) {
  static constexpr auto kBudget = std::chrono::milliseconds(500);
  const auto answer = [](ServerStream* stream, const std::vector<uint64_t>& tracks,
                         const std::vector<uint64_t>& ended, bool late) {
    v1::StreamFramesRequest request;
    if (!stream->Read(&request)) return;
    v1::StreamFramesResponse response;
    *response.mutable_result() = ResultOf(request, tracks, ended);
    response.mutable_result()->mutable_timings()->set_total_ns(1);
    response.mutable_result()->mutable_features();
    if (late) std::this_thread::sleep_for(2 * kBudget);  // only time makes a frame late
    stream->Write(response);
  };
  SetScript({[&](ServerStream* stream) {
               answer(stream, {1, 2, 3}, {}, false);
               answer(stream, {2, 3, 4}, {1}, true);
               answer(stream, {3, 5}, {2, 4}, false);
               answer(stream, {5}, {3}, true);
               v1::StreamFramesRequest request;
               stream->Read(&request);
               return kGone;
             },
             [&](ServerStream* stream) {
               answer(stream, {1}, {}, false);
               return Echo(stream);
             }});
  const auto stream = Open(absl::Seconds(60), Tracking());
  ASSERT_TRUE(stream->Send(FrameOf(1)).ok());
  EXPECT_EQ(Result(stream.get()).tracks_size(), 3);
  ASSERT_TRUE(stream->Send(FrameOf(2, kBudget.count())).ok());
  FrameTimes times;
  const v1::FrameResult late = Result(stream.get(), &times);
  ExpectLate(late, 2);
  EXPECT_EQ(late.tracks_size() + late.ended_tracks_size(), 0);
  EXPECT_FALSE(late.has_features());
  EXPECT_EQ(late.timings().total_ns(), 1u);
  EXPECT_GT(times.age, absl::FromChrono(kBudget));
  EXPECT_EQ(stream->link().late_answers, 1u);
  ASSERT_TRUE(stream->Send(FrameOf(3)).ok());
  const v1::FrameResult third = Result(stream.get());
  ASSERT_EQ(third.tracks_size(), 2);
  EXPECT_EQ(EndedIn(third), (Ended{{1, v1::TRACK_END_LEFT_IMAGE},
                                   {2, v1::TRACK_END_LEFT_IMAGE},
                                   {4, v1::TRACK_END_LEFT_IMAGE}}));
  ASSERT_TRUE(stream->Send(FrameOf(4, kBudget.count())).ok());
  ExpectLate(Result(stream.get()), 4);
  ASSERT_TRUE(stream->Send(FrameOf(5)).ok());
  EXPECT_EQ(Next(stream.get()), "5!");
  ASSERT_TRUE(stream->Send(FrameOf(6)).ok());
  const v1::FrameResult sixth = Result(stream.get());
  EXPECT_EQ(EndedIn(sixth), (Ended{{3, v1::TRACK_END_LEFT_IMAGE}, {5, v1::TRACK_END_RECONNECTED}}));
  ASSERT_EQ(sixth.tracks_size(), 1);
  EXPECT_EQ(sixth.tracks(0).id(), 6u);
}

TEST_F(FrameLinkTest, ReceivingMayEndAfterATime) {
  const auto stream = Open();
  absl::StatusOr<std::optional<v1::FrameResult>> result = absl::UnknownError("unchanged");
  EXPECT_FALSE(stream->Receive(absl::ZeroDuration(), &result));
  const auto start = SteadyClock::now();
  EXPECT_FALSE(stream->Receive(absl::Milliseconds(20), &result));
  EXPECT_GE(SteadyClock::now() - start, std::chrono::milliseconds(20));
  EXPECT_EQ(result.status(), absl::UnknownError("unchanged"));
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  ASSERT_TRUE(stream->Receive(absl::Seconds(60), &result));
  ASSERT_TRUE(result.ok() && result->has_value()) << result.status();
  EXPECT_EQ((*result)->sequence(), 1u);
  ASSERT_TRUE(stream->CloseSend().ok());
  ASSERT_TRUE(stream->Receive(absl::Seconds(60), &result));
  EXPECT_TRUE(result.ok() && !result->has_value());
  EXPECT_TRUE(stream->Receive(absl::ZeroDuration(), &result));
}

TEST_F(FrameLinkTest, TrySendNeverWaitsForAServerThatHoldsTheStreamBack) {
  absl::Notification go;
  SetScript({[&go](ServerStream* stream) {
    go.WaitForNotification();
    return Echo(stream);
  }});
  const auto stream = Open();
  constexpr size_t kBytes = 2 << 20;
  uint64_t sent = 0;
  for (; sent < 1000; ++sent) {
    v1::Frame frame = FrameOf(sent + 1);
    frame.set_pixels(std::string(kBytes, 'x'));
    const auto tried = stream->TrySend(&frame);
    ASSERT_TRUE(tried.ok()) << tried.status();
    if (*tried) continue;
    EXPECT_EQ(frame.pixels().size(), kBytes);
    break;
  }
  EXPECT_GE(sent, 1u);
  EXPECT_LT(sent, 1000u);
  go.Notify();
  for (uint64_t i = 1; i <= sent; ++i) EXPECT_EQ(Next(stream.get()), absl::StrCat(i));
  ASSERT_TRUE(stream->CloseSend().ok());
  EXPECT_EQ(Next(stream.get()), "end");
  v1::Frame frame = FrameOf(1);
  EXPECT_FALSE(stream->TrySend(&frame).ok());
}

TEST_F(FrameLinkTest, AStreamKnowsFromItsOpeningThatAnswersCannotBeInTime) {
  const SilentRelay relay(port_, absl::Milliseconds(300));
  client_ = *Client::Connect(relay.address(), {});
  for (const auto& [deadline_ms, limits] :
       {std::pair{20u, true}, std::pair{600'000u, false}, std::pair{0u, false}}) {
    const auto stream = Open(absl::Seconds(60), With(v1::DROP_POLICY_BLOCK, deadline_ms));
    ASSERT_NE(stream, nullptr);
    EXPECT_GT(stream->link().way, absl::Milliseconds(20));
    EXPECT_EQ(stream->link().limits, limits) << deadline_ms;
  }
}

// A connection over which nothing comes, while nothing says that it is gone.
TEST_F(FrameLinkTest, ASilentCutIsNoticedIdleAndWithFramesUnderWay) {
  for (const bool idle : {true, false}) {
    events_.clear();
    SilentRelay relay(port_);
    client_ = *Client::Connect(relay.address(), {.keepalive = absl::Seconds(2)});
    const auto stream = Open();
    ASSERT_NE(stream, nullptr);
    ASSERT_TRUE(Send(stream.get(), 1).ok());
    EXPECT_EQ(Next(stream.get()), "1");
    relay.Cut();
    const auto start = SteadyClock::now();
    if (idle) {
      absl::StatusOr<std::optional<v1::FrameResult>> result;
      while (events_.empty() && SteadyClock::now() - start < std::chrono::minutes(1)) {
        EXPECT_FALSE(stream->Receive(absl::Milliseconds(10), &result));
      }
    } else {
      ASSERT_TRUE(Send(stream.get(), 2).ok());
      EXPECT_EQ(Next(stream.get()), "2!");
    }
    // gRPC's own time without the option is ten times as long.
    EXPECT_LT(SteadyClock::now() - start, std::chrono::seconds(15));
    ASSERT_FALSE(events_.empty());
    EXPECT_EQ(events_[0].kind, Kind::kLost);
    EXPECT_THAT(events_[0].lost_sequences.size(), idle ? 0u : 1u);
    ASSERT_TRUE(Send(stream.get(), 3).ok());
    EXPECT_EQ(Next(stream.get()), "3");
  }
}

TEST_F(FrameLinkTest, AKeepaliveThatIsTooShortIsRefused) {
  EXPECT_EQ(Client::Connect("localhost:1", {.keepalive = absl::Seconds(1)}).status().message(),
            "keepalive must be 2s or more; got 1s");
}

}  // namespace
}  // namespace orbserve::client
