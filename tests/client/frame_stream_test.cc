// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Streams that lose their connection.

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/client/frame_stream_fixture.h"
#include "tests/client/refusing_port.h"

namespace orbserve::client {
namespace {

using ::orbserve::testing::RefusingPort;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = StreamEvent::Kind;

using FrameStreamTest = FrameStreamFixture;

TEST_F(FrameStreamTest, LostFramesHaveResultsInTheirPlaceAndTheStreamGoesOn) {
  SetScript({Dies(3, 1)});
  const auto stream = Open();
  for (const uint64_t sequence : {1, 2, 3}) ASSERT_TRUE(Send(stream.get(), sequence).ok());
  EXPECT_EQ(Next(stream.get()), "1");
  const auto lost = stream->Receive();
  ASSERT_TRUE(lost.ok() && lost->has_value()) << lost.status();
  EXPECT_EQ((*lost)->sequence(), 2u);
  EXPECT_EQ((*lost)->timestamp_ns(), 20);
  EXPECT_EQ((*lost)->status().code(), 14);
  EXPECT_EQ((*lost)->status().message(),
            "the connection was lost before the frame was answered: gone");
  EXPECT_EQ(Next(stream.get()), "3!");
  ASSERT_THAT(Kinds(), ElementsAre(Kind::kLost));
  EXPECT_THAT(events_[0].lost_sequences, ElementsAre(2, 3));
  EXPECT_EQ(events_[0].status.code(), absl::StatusCode::kUnavailable);
  // This thread sends and receives: the sending connects again.
  ASSERT_TRUE(Send(stream.get(), 4).ok());
  EXPECT_EQ(Next(stream.get()), "4");
  EXPECT_EQ(stream->opened().stream_id(), 2u);
  ASSERT_THAT(Kinds(), ElementsAre(Kind::kLost, Kind::kReconnected));
  EXPECT_EQ(events_[1].attempts, 1);
  EXPECT_EQ(events_[1].opened.stream_id(), 2u);
  ASSERT_TRUE(stream->CloseSend().ok());
  EXPECT_EQ(Next(stream.get()), "end");
}

TEST_F(FrameStreamTest, EveryFrameOfTwoThreadsHasOneResultInOrder) {
  std::vector<Connection> script;
  for (int i = 0; i < 20; ++i) script.push_back(Dies(1 + i * 7 % 11, i * 5 % 8));
  SetScript(script);
  const auto stream = Open();
  constexpr uint64_t kFrames = 300;
  std::atomic<uint64_t> received = 0;
  std::thread sender([&] {
    for (uint64_t i = 1; i <= kFrames; ++i) {
      // Otherwise gRPC's buffers take all frames, and the first loss has them all.
      while (i > received + 8) absl::SleepFor(absl::Microseconds(50));
      EXPECT_TRUE(Send(stream.get(), i).ok());
    }
    EXPECT_TRUE(stream->CloseSend().ok());
  });
  int lost = 0;
  for (uint64_t i = 1; i <= kFrames; ++i) {
    const auto result = stream->Receive();
    ASSERT_TRUE(result.ok() && result->has_value()) << result.status();
    EXPECT_EQ((*result)->sequence(), i);
    received = i;
    lost += (*result)->status().code() == 0 ? 0 : 1;
  }
  EXPECT_EQ(Next(stream.get()), "end");
  sender.join();
  int told = 0;
  for (const StreamEvent& event : events_) told += static_cast<int>(event.lost_sequences.size());
  EXPECT_EQ(told, lost);
  EXPECT_GT(lost, 0);
  EXPECT_LE(lost, 20 * 8);
}

TEST_F(FrameStreamTest, IdsOfTracksGoOnAfterALoss) {
  const auto tracking = [](ServerStream* stream) {
    v1::StreamFramesRequest request;
    stream->Read(&request);
    Answer(stream, request, {1, 2, 3});
    stream->Read(&request);
    v1::StreamFramesResponse response;
    *response.mutable_result() = ResultOf(request, {2}, {1});
    stream->Write(response);
    stream->Read(&request);
    return kGone;
  };
  SetScript({tracking, tracking, tracking});
  const auto stream = Open(absl::Seconds(60), Tracking());
  for (uint64_t connection = 0; connection < 3; ++connection) {
    for (const uint64_t i : {0, 1}) ASSERT_TRUE(Send(stream.get(), 1 + connection * 3 + i).ok());
    const auto first = stream->Receive();
    ASSERT_TRUE(first.ok() && first->has_value()) << first.status();
    ASSERT_EQ((*first)->tracks_size(), 3);
    EXPECT_EQ((*first)->tracks(0).id(), 3 * connection + 1);
    const auto second = stream->Receive();
    ASSERT_TRUE(second.ok() && second->has_value()) << second.status();
    EXPECT_EQ((*second)->tracks(0).id(), 3 * connection + 2);
    EXPECT_EQ((*second)->ended_tracks(0).id(), 3 * connection + 1);
    // This frame is lost for certain. One that is sent while the server ends the stream may be.
    ASSERT_TRUE(Send(stream.get(), 3 + connection * 3).ok());
    EXPECT_EQ(Next(stream.get()), absl::StrCat(3 + connection * 3, "!"));
  }
}

// The result in which a track began may have failed: its end is the first that is heard of it.
TEST_F(FrameStreamTest, IdsOfTracksThatWereOnlySeenToEndAreNotUsedAgain) {
  const auto tracking = [](ServerStream* stream) {
    v1::StreamFramesRequest request;
    stream->Read(&request);
    v1::StreamFramesResponse response;
    *response.mutable_result() = ResultOf(request, {1}, {5});
    stream->Write(response);
    stream->Read(&request);
    return kGone;
  };
  SetScript({tracking, tracking});
  const auto stream = Open(absl::Seconds(60), Tracking());
  for (const uint64_t i : {0, 1}) {
    ASSERT_TRUE(Send(stream.get(), 1 + i * 2).ok());
    const auto result = stream->Receive();
    ASSERT_TRUE(result.ok() && result->has_value()) << result.status();
    ASSERT_EQ((*result)->tracks_size(), 1);
    EXPECT_EQ((*result)->tracks(0).id(), i * 5 + 1);
    EXPECT_EQ((*result)->ended_tracks().rbegin()->id(), i * 5 + 5);
    ASSERT_TRUE(Send(stream.get(), 2 + i * 2).ok());
    EXPECT_EQ(Next(stream.get()), absl::StrCat(2 + i * 2, "!"));
  }
}

// Without this a caller would have to guess which of its tracks are no more.
TEST_F(FrameStreamTest, TracksOfALostConnectionEndInTheFirstResultWithoutAnError) {
  const auto answer = [](ServerStream* stream, const std::vector<uint64_t>& tracks,
                         const std::vector<uint64_t>& ended, int code = 0) {
    v1::StreamFramesRequest request;
    if (!stream->Read(&request)) return;
    v1::StreamFramesResponse response;
    *response.mutable_result() = ResultOf(request, tracks, ended);
    response.mutable_result()->mutable_status()->set_code(code);
    stream->Write(response);
  };
  const auto lose = [](ServerStream* stream) {
    v1::StreamFramesRequest request;
    stream->Read(&request);
    return kGone;
  };
  SetScript({[&](ServerStream* stream) {
               answer(stream, {1, 2, 3}, {});
               answer(stream, {2, 3}, {1});
               answer(stream, {}, {}, 8);  // a frame that failed ends no track
               return lose(stream);
             },
             lose,
             [&](ServerStream* stream) {
               answer(stream, {}, {}, 8);
               answer(stream, {2}, {1});
               answer(stream, {2}, {});
               return lose(stream);
             }});
  const auto stream = Open(absl::Seconds(60), Tracking());
  using Ended = std::vector<std::pair<uint64_t, v1::TrackEnd>>;
  const std::vector<std::pair<std::string, Ended>> expected = {
      {"1", {}},
      {"2", {{1, v1::TRACK_END_LEFT_IMAGE}}},
      {"3!", {}},
      {"4!", {}},
      {"5!", {}},
      {"6!", {}},
      {"7",
       {{2, v1::TRACK_END_RECONNECTED},
        {3, v1::TRACK_END_RECONNECTED},
        {4, v1::TRACK_END_LEFT_IMAGE}}},
      {"8", {}},
      {"9!", {}},
      {"10", {{5, v1::TRACK_END_RECONNECTED}}},
  };
  uint64_t sequence = 0;
  for (const auto& [name, ended] : expected) {
    ASSERT_TRUE(Send(stream.get(), ++sequence).ok());
    const auto result = stream->Receive();
    ASSERT_TRUE(result.ok() && result->has_value()) << result.status();
    EXPECT_EQ(absl::StrCat((*result)->sequence(), (*result)->status().code() == 0 ? "" : "!"),
              name);
    Ended found;
    for (const v1::EndedTrack& track : (*result)->ended_tracks()) {
      found.emplace_back(track.id(), track.reason());
    }
    EXPECT_EQ(found, ended) << name;
  }
}

TEST_F(FrameStreamTest, ATryWaitsForAServerThatCannotBeReached) {
  SetScript({DiesWithItsServer()});
  const auto stream = Open();
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EndServerUnder(stream.get(), 1);
  auto refusing = std::make_unique<RefusingPort>(port_);
  std::thread caller([&] {
    EXPECT_TRUE(Send(stream.get(), 2).ok());
    EXPECT_EQ(Next(stream.get()), "2");
  });
  refusing->Refuse(3);
  refusing.reset();
  StartServer();
  caller.join();
  ASSERT_THAT(Kinds(), ElementsAre(Kind::kLost, Kind::kReconnected));
  // Tries that end at once leave gRPC, which connects only while a call waits, alone between them.
  EXPECT_EQ(events_[1].attempts, 1);
}

TEST_F(FrameStreamTest, TheFirstConnectionMayWaitForItsServer) {
  server_->Shutdown();
  auto refusing = std::make_unique<RefusingPort>(port_);
  std::thread caller([&] {
    const auto stream = Open();
    ASSERT_NE(stream, nullptr);
    EXPECT_EQ(stream->opened().stream_id(), 1u);
    ASSERT_TRUE(Send(stream.get(), 1).ok());
    EXPECT_EQ(Next(stream.get()), "1");
  });
  refusing->Refuse(1);
  refusing.reset();
  StartServer();
  caller.join();
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(FrameStreamTest, TheFirstConnectionIsTriedAgainAfterRefusalsThatMayPass) {
  SetScript({}, {kGone, WireError(grpc::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", 1)});
  const auto stream = Open();
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->opened().stream_id(), 3u);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(FrameStreamTest, AServerThatCannotBeReachedIsGivenUpWithTheReason) {
  server_->Shutdown();
  for (const absl::Duration reconnect_for : {absl::ZeroDuration(), absl::Milliseconds(50)}) {
    const auto stream = client_->OpenStream({}, {.reconnect_for = reconnect_for});
    EXPECT_EQ(stream.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(stream.status().ToString(), HasSubstr("Connection refused"));
  }
}

TEST_F(FrameStreamTest, TheCallerMayEndTheWaitForAServer) {
  for (const bool cancel : {false, true}) {
    SetScript({DiesWithItsServer()});
    {
      absl::MutexLock lock(&service_.mutex);
      service_.opens.clear();
    }
    const auto stream = Open();
    ASSERT_NE(stream, nullptr);
    ASSERT_TRUE(Send(stream.get(), 1).ok());
    EndServerUnder(stream.get(), 1);
    std::thread receiver(
        [&] { EXPECT_THAT(Next(stream.get()), HasSubstr(cancel ? "CANCELLED" : "end")); });
    {
      const RefusingPort refusing(port_);
      refusing.Refuse(1);
      if (cancel) {
        stream->Cancel();
      } else {
        EXPECT_TRUE(stream->CloseSend().ok());
      }
      receiver.join();
    }
    StartServer();
  }
}

TEST_F(FrameStreamTest, TheLatestOptionsOpenTheNextConnection) {
  SetScript({[](ServerStream* stream) {
    v1::StreamFramesRequest request;
    while (stream->Read(&request)) {
      if (request.has_frame()) {
        if (request.frame().sequence() == 3) return kGone;
        Answer(stream, request);
        continue;
      }
      v1::StreamFramesResponse response;
      response.mutable_opened()->set_max_in_flight(4);
      response.mutable_opened()->set_deadline_ms(request.open().deadline_ms());
      stream->Write(response);
    }
    return grpc::Status::OK;
  }});
  v1::StreamOpen open;
  open.set_deadline_ms(70'000);
  const auto stream = Open(absl::Seconds(60), open);
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  open.set_deadline_ms(80'000);
  ASSERT_TRUE(stream->Reopen(open).ok());
  ASSERT_TRUE(Send(stream.get(), 2).ok());
  EXPECT_EQ(Next(stream.get()), "1");
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(Next(stream.get()), "2");
  ASSERT_THAT(Kinds(), ElementsAre(Kind::kReopened));
  EXPECT_EQ(events_[0].opened.deadline_ms(), 80'000u);
  EXPECT_EQ(stream->opened().deadline_ms(), 80'000u);
  ASSERT_TRUE(Send(stream.get(), 3).ok());
  EXPECT_EQ(Next(stream.get()), "3!");
  ASSERT_TRUE(Send(stream.get(), 4).ok());
  EXPECT_EQ(Next(stream.get()), "4");
  absl::MutexLock lock(&service_.mutex);
  ASSERT_EQ(service_.opens.size(), 2u);
  EXPECT_EQ(service_.opens[0].deadline_ms(), 70'000u);
  EXPECT_EQ(service_.opens[1].deadline_ms(), 80'000u);
}

TEST_F(FrameStreamTest, AServerThatGoesAwayIsLeftWithoutALoss) {
  SetScript({[](ServerStream* stream) {
    v1::StreamFramesRequest request;
    while (stream->Read(&request)) {
      if (request.frame().sequence() == 1) {
        v1::StreamFramesResponse response;
        response.mutable_going_away()->mutable_status()->set_code(14);
        response.mutable_going_away()->mutable_status()->set_reason("DRAINING");
        stream->Write(response);
      }
      Answer(stream, request);
    }
    return grpc::Status::OK;  // when the client has no more frames for it
  }});
  const auto stream = Open();
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(Send(stream.get(), i).ok());
    EXPECT_EQ(Next(stream.get()), absl::StrCat(i));
  }
  ASSERT_THAT(Kinds(), ElementsAre(Kind::kGoingAway, Kind::kReconnected));
  EXPECT_THAT(events_[0].status.ToString(), HasSubstr("DRAINING"));
  EXPECT_EQ(stream->opened().stream_id(), 2u);
}

TEST_F(FrameStreamTest, ARefusalThatWillNotPassEndsTheStream) {
  SetScript({Dies(1, 0)}, {grpc::Status::OK, WireError(grpc::INVALID_ARGUMENT, "BAD_OPTIONS")});
  const auto stream = Open();
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EXPECT_EQ(Next(stream.get()), "1!");
  EXPECT_THAT(Next(stream.get()), HasSubstr("BAD_OPTIONS"));
  EXPECT_FALSE(Send(stream.get(), 2).ok());
}

TEST_F(FrameStreamTest, RefusalsThatMayPassAreTriedAgainAfterTheTimeThatTheServerAsksFor) {
  const grpc::Status full = WireError(grpc::RESOURCE_EXHAUSTED, "QUOTA_EXCEEDED", 60);
  SetScript({Dies(1, 0)}, {grpc::Status::OK, full, kGone, full});
  const auto stream = Open();
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EXPECT_EQ(Next(stream.get()), "1!");
  const absl::Time start = absl::Now();
  ASSERT_TRUE(Send(stream.get(), 2).ok());
  EXPECT_EQ(Next(stream.get()), "2");
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(120));
  EXPECT_EQ(events_.back().attempts, 4);
}

TEST_F(FrameStreamTest, AServerThatStaysAwayIsGivenUpWithTheCause) {
  SetScript({Dies(1, 0)}, {grpc::Status::OK});
  const auto stream = Open(absl::Milliseconds(100));
  {
    absl::MutexLock lock(&service_.mutex);
    service_.refusals.resize(100'000, kGone);
  }
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EXPECT_EQ(Next(stream.get()), "1!");
  EXPECT_EQ(Next(stream.get()), "UNAVAILABLE: gone");
  EXPECT_FALSE(Send(stream.get(), 2).ok());
  absl::MutexLock lock(&service_.mutex);
  EXPECT_GT(service_.opens.size(), 3u);
}

// A long wait must not shorten the time in which the server may come back.
TEST_F(FrameStreamTest, TheLastTryComesAtTheEndOfTheTime) {
  SetScript({Dies(1, 0)});
  auto stream = client_->OpenStream({}, {.reconnect_for = absl::Milliseconds(100),
                                         .first_delay = absl::Hours(1),
                                         .max_delay = absl::Hours(1)});
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE(Send(stream->get(), 1).ok());
  EXPECT_EQ(Next(stream->get()), "1!");
  ASSERT_TRUE(Send(stream->get(), 2).ok());
  EXPECT_EQ(Next(stream->get()), "2");
}

// A caller with a slow camera may notice the loss when the time is over.
TEST_F(FrameStreamTest, TheShortestTimeHasOneTry) {
  SetScript({Dies(1, 0)});
  const auto stream = Open(absl::Nanoseconds(1));
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  EXPECT_EQ(Next(stream.get()), "1!");
  ASSERT_TRUE(Send(stream.get(), 2).ok());
  EXPECT_EQ(Next(stream.get()), "2");
}

TEST_F(FrameStreamTest, ALossAfterTheLastFrameNeedsNoNewConnection) {
  SetScript({[](ServerStream* stream) {
    v1::StreamFramesRequest request;
    stream->Read(&request);
    Answer(stream, request);
    while (stream->Read(&request)) {
    }
    return kGone;
  }});
  const auto stream = Open();
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  ASSERT_TRUE(Send(stream.get(), 2).ok());
  ASSERT_TRUE(stream->CloseSend().ok());
  EXPECT_EQ(Next(stream.get()), "1");
  EXPECT_EQ(Next(stream.get()), "2!");
  EXPECT_EQ(Next(stream.get()), "end");
  absl::MutexLock lock(&service_.mutex);
  EXPECT_EQ(service_.opens.size(), 1u);
}

TEST_F(FrameStreamTest, CancelEndsTheWaitForTheNextTry) {
  SetScript({Dies(1, 0)});
  auto stream = client_->OpenStream({}, {.reconnect_for = absl::Hours(9),
                                         .first_delay = absl::Hours(1),
                                         .max_delay = absl::Hours(1)});
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE(Send(stream->get(), 1).ok());
  EXPECT_EQ(Next(stream->get()), "1!");
  std::thread receiver([&] { EXPECT_THAT(Next(stream->get()), HasSubstr("CANCELLED")); });
  std::thread sender([&] { EXPECT_FALSE(Send(stream->get(), 2).ok()); });
  absl::SleepFor(absl::Milliseconds(5));  // so that they may wait; the outcome is the same
  (*stream)->Cancel();
  receiver.join();
  sender.join();
}

// A server that ends a stream well, but too early, has not answered every frame.
TEST_F(FrameStreamTest, AnEndWithoutAnAnswerToEveryFrameIsAnError) {
  const auto ends = [](int frames, int answered) {
    return [=](ServerStream* stream) {
      Dies(frames, answered)(stream);
      return grpc::Status::OK;
    };
  };
  SetScript({ends(1, 1), ends(2, 1), ends(2, 1)});
  const auto early = Open(absl::ZeroDuration());
  ASSERT_TRUE(Send(early.get(), 1).ok());
  EXPECT_EQ(Next(early.get()), "1");
  EXPECT_EQ(Next(early.get()), "UNAVAILABLE: the server has ended the stream");
  for (const bool again : {false, true}) {
    const auto stream = Open(again ? absl::Seconds(60) : absl::ZeroDuration());
    ASSERT_TRUE(Send(stream.get(), 1).ok());
    ASSERT_TRUE(Send(stream.get(), 2).ok());
    ASSERT_TRUE(stream->CloseSend().ok());
    EXPECT_EQ(Next(stream.get()), "1");
    if (again) {
      EXPECT_EQ(Next(stream.get()), "2!");
      EXPECT_EQ(Next(stream.get()), "end");
    } else {
      EXPECT_EQ(Next(stream.get()),
                "UNAVAILABLE: the server has ended the stream with 1 frames not answered");
    }
  }
}

TEST_F(FrameStreamTest, WithoutTheOptionALossEndsTheStream) {
  SetScript({Dies(2, 1)});
  const auto stream = Open(absl::ZeroDuration());
  ASSERT_TRUE(Send(stream.get(), 1).ok());
  ASSERT_TRUE(Send(stream.get(), 2).ok());
  EXPECT_EQ(Next(stream.get()), "1");
  EXPECT_EQ(Next(stream.get()), "UNAVAILABLE: gone");
  EXPECT_THAT(events_, IsEmpty());
}

}  // namespace
}  // namespace orbserve::client
