// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A stream of the client library and a real server that is killed, stopped and started again.

#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/client/refusing_port.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = client::StreamEvent::Kind;

constexpr int kWidthPx = 160;
constexpr int kHeightPx = 120;

class ClientReconnectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StartServer({});
    auto connected = client::Client::Connect(server_->address(), {});
    ASSERT_TRUE(connected.ok()) << connected.status();
    client_ = *std::move(connected);
    v1::StreamOpen open;
    open.set_match_previous(true);
    auto stream = client_->OpenStream(
        open, {.reconnect_for = absl::Seconds(60),
               .first_delay = absl::Milliseconds(20),
               .max_delay = absl::Milliseconds(200),
               .on_event = [this](const client::StreamEvent& e) { events_.push_back(e); }});
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }

  void StartServer(const std::vector<std::string>& arguments) {
    auto started = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, arguments);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }

  // Starts the server again where the old one was.
  void RestartServer() {
    const std::string address = server_->address();
    server_.reset();
    StartServer({"--listen", address});
  }

  absl::Status Send(uint64_t sequence) {
    v1::Frame frame = MakeFrame(kWidthPx, kHeightPx, static_cast<uint32_t>(sequence));
    return stream_->Send(std::move(frame));
  }

  // Receives a result and checks its sequence.
  v1::FrameResult Receive(uint64_t sequence) {
    const auto result = stream_->Receive();
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok() || !result->has_value()) return {};
    EXPECT_EQ((*result)->sequence(), sequence);
    return **result;
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<client::FrameStream> stream_;
  std::vector<client::StreamEvent> events_;
};

TEST_F(ClientReconnectTest, AStreamGoesOnWithTheServerThatTookThePlaceOfAKilledOne) {
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(Send(i).ok());
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Receive(i).status().code(), 0);
  // A server that stands still answers nothing: these frames are surely under way.
  ASSERT_EQ(kill(server_->pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(waitpid(server_->pid(), &status, WUNTRACED), server_->pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  for (uint64_t i = 4; i < 7; ++i) ASSERT_TRUE(Send(i).ok());
  ASSERT_EQ(kill(server_->pid(), SIGKILL), 0);
  for (uint64_t i = 4; i < 7; ++i) EXPECT_EQ(Receive(i).status().code(), 14) << i;
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].kind, Kind::kLost);
  EXPECT_THAT(events_[0].lost_sequences, ElementsAre(4, 5, 6));

  RestartServer();
  for (uint64_t i = 7; i < 9; ++i) ASSERT_TRUE(Send(i).ok());
  const v1::FrameResult first = Receive(7);
  EXPECT_EQ(first.status().code(), 0) << first.status().message();
  EXPECT_GT(first.features().x_size(), 0);
  EXPECT_EQ(first.matches_size(), 0);  // nothing is left to match with
  const v1::FrameResult second = Receive(8);
  ASSERT_EQ(second.matches_size(), 1);  // and the options are the same
  EXPECT_EQ(second.matches(0).target_sequence(), 7u);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].kind, Kind::kReconnected);
  EXPECT_GE(events_[1].attempts, 1);
  EXPECT_EQ(events_[1].opened.pipeline().preset(), stream_->opened().pipeline().preset());
  ASSERT_TRUE(stream_->CloseSend().ok());
  const auto end = stream_->Receive();
  EXPECT_TRUE(end.ok() && !end->has_value());
}

TEST_F(ClientReconnectTest, AStreamMayBeOpenedBeforeItsServerIsUp) {
  const std::string address = server_->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  stream_ = nullptr;
  server_ = nullptr;
  auto refusing = std::make_unique<testing::RefusingPort>(port);
  std::thread caller([this] {
    auto stream = client_->OpenStream({}, {.reconnect_for = absl::Seconds(60)});
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
    ASSERT_TRUE(Send(0).ok());
    EXPECT_EQ(Receive(0).status().code(), 0);
  });
  refusing->Refuse(1);
  refusing.reset();
  StartServer({"--listen", address});
  caller.join();
}

TEST_F(ClientReconnectTest, TracksOfAKilledServerAreNamedInTheFirstResult) {
  v1::StreamOpen open;
  open.mutable_pipeline()->set_preset("vio");
  open.set_track(true);
  auto stream = client_->OpenStream(open, {.reconnect_for = absl::Seconds(60)});
  ASSERT_TRUE(stream.ok()) << stream.status();
  stream_ = *std::move(stream);
  ASSERT_TRUE(Send(0).ok());
  const v1::FrameResult before = Receive(0);
  ASSERT_GT(before.tracks_size(), 0);
  ASSERT_EQ(kill(server_->pid(), SIGKILL), 0);
  RestartServer();
  // A frame that is sent before the client knows of the kill is lost.
  v1::FrameResult after;
  for (uint64_t i = 1; i == 1 || after.status().code() != 0; ++i) {
    ASSERT_TRUE(Send(i).ok());
    after = Receive(i);
    ASSERT_LT(i, 100u);
  }
  ASSERT_EQ(after.ended_tracks_size(), before.tracks_size());
  for (int i = 0; i < before.tracks_size(); ++i) {
    EXPECT_EQ(after.ended_tracks(i).id(), before.tracks(i).id());
    EXPECT_EQ(after.ended_tracks(i).reason(), v1::TRACK_END_RECONNECTED);
  }
  ASSERT_GT(after.tracks_size(), 0);
  EXPECT_GT(after.tracks(0).id(), before.tracks().rbegin()->id());
}

TEST_F(ClientReconnectTest, FramesKeepTheirOrderWhileServersComeAndGo) {
  constexpr uint64_t kFrames = 300;
  std::atomic<uint64_t> received = 0;
  std::thread sender([this, &received] {
    for (uint64_t i = 0; i < kFrames; ++i) {
      // Otherwise gRPC's buffers take all frames, and the first loss has them all.
      while (i > received + 8) absl::SleepFor(absl::Milliseconds(1));
      EXPECT_TRUE(Send(i).ok());
    }
    EXPECT_TRUE(stream_->CloseSend().ok());
  });
  uint64_t answered = 0;
  size_t told = 0;
  for (uint64_t i = 0; i < kFrames; ++i) {
    const v1::FrameResult result = Receive(i);
    received = i;
    if (result.status().code() == 0) ++answered;
    if (i == 50 || i == 150) {
      kill(server_->pid(), SIGKILL);
      RestartServer();
    }
  }
  sender.join();
  const auto end = stream_->Receive();
  EXPECT_TRUE(end.ok() && !end->has_value()) << end.status();
  for (const client::StreamEvent& event : events_) told += event.lost_sequences.size();
  EXPECT_EQ(answered + told, kFrames);
  EXPECT_GE(answered, kFrames - 2 * 9);
}

TEST_F(ClientReconnectTest, AServerThatStopsInOrderCostsNoFrame) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(Send(i).ok());
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Receive(i).status().code(), 0);
  std::thread restart([this] {
    EXPECT_EQ(server_->Stop(), 0);
    RestartServer();
  });
  // The server answers until this stream has gone over to the next one.
  uint64_t sequence = 3;
  const auto reconnected = [this] {
    return !events_.empty() && events_.back().kind == Kind::kReconnected;
  };
  for (; sequence < 5000 && !reconnected(); ++sequence) {
    ASSERT_TRUE(Send(sequence).ok());
    const v1::FrameResult result = Receive(sequence);
    EXPECT_TRUE(result.status().code() == 0 || result.status().reason() == "DRAINING")
        << result.status().message();
    absl::SleepFor(absl::Milliseconds(1));
  }
  restart.join();
  EXPECT_TRUE(reconnected());
  for (const client::StreamEvent& event : events_) EXPECT_THAT(event.lost_sequences, IsEmpty());
}

}  // namespace
}  // namespace orbserve
