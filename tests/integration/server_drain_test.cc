// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A server that stops loses nothing that it took, and always ends.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "orbserve/client.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

class DrainTest : public ServerTest {
 protected:
  // Clients with a connection each, which send one request after the other until the object ends,
  // also when something fails, or `on_answer` returns false. It is called on many threads.
  class Load {
   public:
    Load(DrainTest* test, uint32_t clients, int width_px, int height_px,
         std::function<bool(const grpc::Status& status)> on_answer)
        : on_answer_(std::move(on_answer)) {
      for (uint32_t c = 0; c < clients; ++c) {
        clients_.emplace_back([this, test, c, width_px, height_px](std::stop_token stop) {
          const auto stub = test->NewStub();
          v1::ExtractRequest request;
          *request.mutable_frame() = MakeFrame(width_px, height_px, c);
          while (!stop.stop_requested()) {
            grpc::ClientContext context;
            SetLimit(context);
            v1::ExtractResponse response;
            if (!on_answer_(stub->Extract(&context, request, &response))) return;
          }
        });
      }
    }
    // Returns when no client sends any more.
    void End() {
      for (std::jthread& client : clients_) client.request_stop();
      clients_.clear();
    }

   private:
    const std::function<bool(const grpc::Status& status)> on_answer_;
    std::vector<std::jthread> clients_;
  };
};

TEST_F(DrainTest, EveryAcceptedCallIsAnsweredUnderLoad) {
  std::atomic<int> ok{0}, refused{0}, lost{0};
  Load load(this, 4, 640, 480, [&](const grpc::Status& status) {
    if (status.ok()) {
      ++ok;
    } else if (status.error_details().empty()) {
      // gRPC itself ended the call on the way in (the port is closed, or the server shuts down): it
      // never reached the service. The sums below would show one that did.
      return false;
    } else if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      ++refused;
      EXPECT_EQ(Details(status).reason(), "DRAINING");
      return false;  // as advised: to another server
    } else {
      ++lost;
      ADD_FAILURE() << status.error_code() << ": " << status.error_message();
    }
    return true;
  });
  ASSERT_TRUE(Eventually([&] { return ok > 40; }));
  EXPECT_TRUE(server_->Drain());
  load.End();
  EXPECT_EQ(lost, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(Metric("orbserve_frames_total{outcome=\"ok\"}"), ok);
  EXPECT_EQ(Metric("orbserve_frames_received_total"),
            Metric("orbserve_frames_total{outcome=\"ok\"}") +
                Metric("orbserve_frames_total{outcome=\"DRAINING\"}"));
}

TEST_F(DrainTest, ClientsThatTryAgainAtOnceDoNotHoldItUp) {
  std::atomic<int> ok{0}, refused{0};
  const Load load(this, 8, 160, 120, [&](const grpc::Status& status) {
    ++(status.ok() ? ok : refused);
    return true;
  });
  ASSERT_TRUE(Eventually([&] { return ok > 40; }));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(server_->Drain());
  // The configured time is ten seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4) * kSlower);
  EXPECT_TRUE(Eventually([&] { return refused > 0; }));
}

TEST_F(DrainTest, ConnectionsThatStayOpenDoNotHoldItUp) {
  // One that has sent nothing: gRPC would wait ten seconds for its preface.
  const int idle = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(idle, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_TRUE(Eventually([&] { return Metric("orbserve_connections") == 1; }));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(server_->Drain());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4) * kSlower);
  char bytes[64];
  ssize_t count = 0;
  while ((count = recv(idle, bytes, sizeof(bytes), 0)) > 0) {
  }
  EXPECT_LE(count, 0);  // closed by the server
  close(idle);
}

TEST_F(DrainTest, HealthTurnsBeforeAnythingElse) {
  server::Config config;
  config.mutable_drain()->set_delay_ms(1500);
  StartServer(config);
  auto client = client::Client::Connect(absl::StrCat("127.0.0.1:", server_->port()), {});
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(*(*client)->CheckHealth(), client::Health::kServing);
  EXPECT_EQ(*(*client)->CheckHealth("orbserve.v1.Features"), client::Health::kServing);
  std::jthread drain([this] { server_->Drain(); });
  EXPECT_TRUE(Eventually([&] {
    const auto health = (*client)->CheckHealth("orbserve.v1.Features");
    return health.ok() && *health == client::Health::kNotServing;
  }));
  // Whoever has not noticed yet is still served.
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(320, 240, 1);
  v1::ExtractResponse response;
  EXPECT_TRUE(Extract(request, &response).ok());
  drain.join();
}

TEST_F(DrainTest, AStreamIsToldAndItsFramesAreAnswered) {
  grpc::ClientContext context;
  const auto stream = Open(context);
  std::atomic<bool> complete{false};
  std::jthread drain([&] { complete = server_->Drain(); });
  v1::StreamFramesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_TRUE(response.has_going_away());
  EXPECT_EQ(response.going_away().status().reason(), "DRAINING");
  // What was on its way is answered.
  ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 7)));
  stream->WritesDone();
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.result().sequence(), 7u);
  EXPECT_EQ(response.result().status().code(), 0);
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  drain.join();
  EXPECT_TRUE(complete);
}

TEST_F(DrainTest, AStreamThatDoesNotListenIsEndedInTime) {
  server::Config config;
  config.mutable_drain()->set_timeout_ms(1000);
  StartServer(config);
  grpc::ClientContext context;
  const auto stream = Open(context);
  EXPECT_TRUE(server_->Drain());
  v1::StreamFramesResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(Details(stream->Finish()).reason(), "DRAINING");
}

TEST_F(DrainTest, AServerWithOpenCallsCanBeDestroyed) {
  grpc::ClientContext context;
  const auto stream = Open(context);
  for (int i = 0; i < 4; ++i) Send(*stream, MakeFrame(1280, 960, 7));
  server_.reset();
  v1::StreamFramesResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace orbserve
