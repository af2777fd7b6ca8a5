// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Who uses the real program: lines of its log, and its pages of clients.

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kHostile[] = "<script>alert(\"1\")</script>";

v1::Frame GreyFrame(uint64_t sequence) {
  v1::Frame frame;
  frame.set_sequence(sequence);
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(64);
  frame.set_height_px(64);
  frame.set_pixels(std::string(size_t{64} * 64, '\x7f'));
  return frame;
}

class ServerClientsTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> all = {"--backend", "cpu"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, all);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::unique_ptr<client::Client> ClientNamed(const std::string& name) {
    client::ClientOptions options;
    options.client_id = name;
    auto client = client::Client::Connect(server_->address(), options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  // The log once it has `text`.
  std::string LogWith(const std::string& text) {
    for (int i = 0; i < 500 && server_->Log().find(text) == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return server_->Log();
  }

  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ServerClientsTest, StreamsAreToldWhenTheyOpenAndClose) {
  Start();
  {
    const auto client = ClientNamed("front camera");
    v1::StreamOpen open;
    open.mutable_pipeline()->set_preset("orb");
    auto stream = client->OpenStream(open);
    ASSERT_TRUE(stream.ok()) << stream.status();
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE((*stream)->Send(GreyFrame(i)).ok());
      ASSERT_TRUE((*stream)->Receive().ok());
    }
    ASSERT_TRUE((*stream)->CloseSend().ok());
    const auto end = (*stream)->Receive();
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_FALSE(end->has_value());
  }
  const std::string log = LogWith("event=stream_closed");
  EXPECT_THAT(log, ContainsRegex("info event=stream_opened stream=1 "
                                 "client=\"addr:127.0.0.1/front camera\" pipeline=orb"));
  EXPECT_THAT(log, ContainsRegex("info event=stream_closed stream=1 "
                                 "client=\"addr:127.0.0.1/front camera\" why=ended seconds=[0-9.]+ "
                                 "frames=3 ok=3 dropped=0 failed=0"));
}

TEST_F(ServerClientsTest, AStreamWhoseClientGoesAwayIsToldSo) {
  Start();
  {
    const auto client = ClientNamed("robot");
    auto stream = client->OpenStream({});
    ASSERT_TRUE(stream.ok()) << stream.status();
    (*stream)->Cancel();
  }
  EXPECT_THAT(LogWith("event=stream_closed"),
              HasSubstr("event=stream_closed stream=1 client=addr:127.0.0.1/robot why=cancelled "));
}

TEST_F(ServerClientsTest, FailuresNameTheirClient) {
  Start({"--log-level", "debug"});
  v1::ExtractRequest request;
  *request.mutable_frame() = GreyFrame(1);
  request.mutable_frame()->mutable_pixels()->resize(5);
  EXPECT_FALSE(ClientNamed("robot")->Extract(request).ok());
  EXPECT_THAT(LogWith("event=failed"),
              HasSubstr("event=failed what=Extract client=addr:127.0.0.1/robot reason=BAD_IMAGE"));
}

TEST_F(ServerClientsTest, PagesShowTheBusiestClientsAndNothingOfThemIsMarkup) {
  Start();
  v1::ExtractRequest request;
  *request.mutable_frame() = GreyFrame(1);
  const auto busy = ClientNamed(kHostile);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(busy->Extract(request).ok());
  ASSERT_TRUE(ClientNamed("idle")->Extract(request).ok());
  const std::string json = server_->HttpGet("/clients.json");
  EXPECT_THAT(json,
              AllOf(HasSubstr("\"known\":2"), HasSubstr("\"received\":20"),
                    HasSubstr("\"client\":\"addr:127.0.0.1/idle\""), Not(HasSubstr("watts"))));
  EXPECT_LT(json.find("\"received\":20"), json.find("\"received\":1,"));
  EXPECT_THAT(server_->HttpGet("/clients.json?n=1"), Not(HasSubstr("addr:127.0.0.1/idle")));
  EXPECT_THAT(server_->HttpGet("/clients.json?n=0"), StartsWith("HTTP/1.1 400 "));
  const std::string page = server_->HttpGet("/clients");
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("Content-Security-Policy: default-src 'none'"), HasSubstr(">2 of 2."),
            HasSubstr("addr:127.0.0.1/&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</th>"),
            Not(HasSubstr("<script>"))));
  // Names of clients are no labels.
  EXPECT_THAT(server_->HttpGet("/metrics"), AllOf(HasSubstr("orbserve_frames_received_total 21"),
                                                  Not(HasSubstr("127.0.0.1/idle"))));
}

}  // namespace
}  // namespace orbserve
