// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Three real servers behind the client library, which goes to them in turn, and behind HAProxy and
// Envoy with their configurations in deploy/. One of them is killed.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/client/temporary_folder.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"
#include "tests/support/certificates.h"

extern char** environ;

namespace orbserve {
namespace {

using Kind = client::StreamEvent::Kind;

constexpr int kServers = 3;
constexpr int kStreams = 6;
// More than gRPC holds for a new try unless it is told to.
constexpr int kWidthPx = 800;
constexpr int kHeightPx = 600;

v1::ExtractRequest MakeRequest(uint32_t seed) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(kWidthPx, kHeightPx, seed);
  return request;
}

class ServerGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (auto& server : servers_) {
      auto started = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--threads", "1"});
      ASSERT_TRUE(started.ok()) << started.status();
      server = *std::move(started);
    }
  }

  std::unique_ptr<client::Client> Connect(const std::string& target,
                                          const client::ClientOptions& options = {}) const {
    auto connected = client::Client::Connect(target, options);
    EXPECT_TRUE(connected.ok()) << connected.status();
    return connected.ok() ? *std::move(connected) : nullptr;
  }

  std::string Group() const {
    return absl::StrCat("ipv4:",
                        absl::StrJoin(servers_, ",", [](std::string* out, const auto& server) {
                          absl::StrAppend(out, server->address());
                        }));
  }

  double FramesOf(int server) const {
    return SumOfSeries(servers_[server]->HttpGet("/metrics"), "orbserve_frames_received_total");
  }

  // Calls until every server has had one: connections come up one after another.
  void ReachAll(client::Client& client) {
    for (int i = 0; i < 600; ++i) {
      const auto answer = client.Extract(MakeRequest(1));
      ASSERT_TRUE(answer.ok()) << answer.status();
      if (FramesOf(0) > 0 && FramesOf(1) > 0 && FramesOf(2) > 0) return;
    }
    FAIL() << "a server gets no calls";
  }

  // The same on streams, which have connections of their own.
  void ReachAllByStreams(client::Client& client) {
    std::array<double, kServers> before;
    for (int i = 0; i < kServers; ++i) before[i] = FramesOf(i);
    for (int n = 0; n < 600; ++n) {
      auto stream = client.OpenStream({}, {.reconnect_for = absl::Seconds(60)});
      ASSERT_TRUE(stream.ok()) << stream.status();
      ASSERT_TRUE((*stream)->Send(MakeFrame(160, 120, 1)).ok());
      ASSERT_TRUE((*stream)->Receive().ok());
      if (FramesOf(0) > before[0] && FramesOf(1) > before[1] && FramesOf(2) > before[2]) return;
    }
    FAIL() << "a server gets no streams";
  }

  void Kill(int server) { kill(servers_[server]->pid(), SIGKILL); }

  // Four threads call while a server is killed. Returns the calls, all of which must succeed.
  int CallWhileOneIsKilled(client::Client& client) {
    std::atomic<int> calls = 0;
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        while (!stop) {
          const auto answer = client.Extract(MakeRequest(t));
          EXPECT_TRUE(answer.ok()) << "call " << calls << ": " << answer.status();
          ++calls;
        }
      });
    }
    const auto wait_for = [&](int more) {
      const int wanted = calls + more;
      for (int i = 0; i < 6000 && calls < wanted; ++i) absl::SleepFor(absl::Milliseconds(10));
      EXPECT_GE(calls, wanted);
    };
    wait_for(40);
    Kill(1);
    wait_for(80);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    return calls;
  }

  // Sends frames on streams while a server is killed. Every frame must have its result, in order,
  // and a stream may lose the one frame that was under way. Returns the streams that were opened
  // again.
  int StreamWhileOneIsKilled(client::Client& client) {
    constexpr uint64_t kFrames = 60;
    std::atomic<int> moved = 0;
    std::atomic<int> ready = 0;
    std::atomic<bool> killed = false;
    std::vector<std::thread> threads;
    for (int s = 0; s < kStreams; ++s) {
      threads.emplace_back([&] {
        std::vector<client::StreamEvent> events;
        auto opened = client.OpenStream(
            {}, {.reconnect_for = absl::Seconds(60),
                 .first_delay = absl::Milliseconds(20),
                 .on_event = [&](const client::StreamEvent& event) { events.push_back(event); }});
        if (!opened.ok()) ++ready;
        ASSERT_TRUE(opened.ok()) << opened.status();
        client::FrameStream& stream = **opened;
        uint64_t lost = 0;
        for (uint64_t i = 0; i < kFrames; ++i) {
          if (i == kFrames / 3) {
            ++ready;
            while (!killed) absl::SleepFor(absl::Milliseconds(1));
          }
          ASSERT_TRUE(stream.Send(MakeFrame(160, 120, static_cast<uint32_t>(i))).ok());
          const auto result = stream.Receive();
          ASSERT_TRUE(result.ok() && result->has_value()) << result.status();
          EXPECT_EQ((*result)->sequence(), i);
          if ((*result)->status().code() != 0) ++lost;
        }
        if (events.empty()) {
          EXPECT_EQ(lost, 0u);
          return;
        }
        ++moved;
        EXPECT_LE(lost, 1u) << "of one frame under way";
        EXPECT_EQ(events.back().kind, Kind::kReconnected);
      });
    }
    while (ready < kStreams) absl::SleepFor(absl::Milliseconds(1));
    Kill(1);
    killed = true;
    for (std::thread& thread : threads) thread.join();
    return moved;
  }

  std::array<std::unique_ptr<ServerProcess>, kServers> servers_;
};

TEST_F(ServerGroupTest, CallsGoToAllServersInTurn) {
  const auto client = Connect(Group());
  ASSERT_NO_FATAL_FAILURE(ReachAll(*client));
  std::array<double, kServers> before;
  for (int i = 0; i < kServers; ++i) before[i] = FramesOf(i);
  for (uint32_t i = 0; i < 10 * kServers; ++i) ASSERT_TRUE(client->Extract(MakeRequest(i)).ok());
  for (int i = 0; i < kServers; ++i) EXPECT_EQ(FramesOf(i) - before[i], 10) << "server " << i;
}

TEST_F(ServerGroupTest, OneKilledServerFailsNoCall) {
  const auto client = Connect(Group());
  ASSERT_NO_FATAL_FAILURE(ReachAll(*client));
  const double before = FramesOf(0) + FramesOf(2);
  const int calls = CallWhileOneIsKilled(*client);
  EXPECT_GE(FramesOf(0) + FramesOf(2) - before, calls * 2 / 3);
}

TEST_F(ServerGroupTest, StreamsOfAKilledServerGoOnWithAnother) {
  const auto client = Connect(Group());
  ASSERT_NO_FATAL_FAILURE(ReachAllByStreams(*client));
  EXPECT_EQ(StreamWhileOneIsKilled(*client), kStreams / kServers)
      << "as many streams as the killed server had";
}

// A port that nobody listens on.
int FreePort() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  socklen_t length = sizeof(address);
  EXPECT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(probe);
  return ntohs(address.sin_port);
}

// A proxy with its configuration in deploy/, for the servers of a test.
class ProxyTest : public ServerGroupTest {
 protected:
  using Edits = std::vector<std::pair<std::string, std::string>>;

  // Writes the configuration with what `edits` change of it. Every edit has to find its place.
  std::string Configure(const std::string& file_name, const Edits& edits) const {
    std::ifstream file(absl::StrCat(ORBSERVE_DEPLOY_DIR, "/", file_name));
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const auto& [from, to] : edits) EXPECT_TRUE(absl::StrContains(text, from)) << from;
    return folder_.Write(file_name, absl::StrReplaceAll(text, edits));
  }

  void MakeCertificate() {
    const testing::CertificateAndKey made = testing::MakeCertificate();
    certificate_ = folder_.Write("proxy.crt", made.certificate);
    key_ = folder_.Write("proxy.key", made.key);
    both_ = folder_.Write("proxy.pem", made.certificate + made.key);
    port_ = FreePort();
  }

  void Run(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ASSERT_EQ(posix_spawn(&proxy_, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  }

  void TearDown() override {
    if (proxy_ <= 0) return;
    kill(proxy_, SIGTERM);
    waitpid(proxy_, nullptr, 0);
  }

  // Waits until the proxy passes calls on.
  std::unique_ptr<client::Client> ConnectToProxy() const {
    client::ClientOptions options;
    options.tls_ca_file = certificate_;
    auto client = Connect(absl::StrCat("dns:///localhost:", port_), options);
    for (int i = 0; i < 300 && !client->GetServerInfo().ok(); ++i) {
      absl::SleepFor(absl::Milliseconds(100));
    }
    return client;
  }

  void SpreadCallsWhileOneIsKilled() {
    const auto client = ConnectToProxy();
    ASSERT_NO_FATAL_FAILURE(ReachAll(*client));
    std::array<double, kServers> before;
    for (int i = 0; i < kServers; ++i) before[i] = FramesOf(i);
    for (uint32_t i = 0; i < 10 * kServers; ++i) {
      const auto answer = client->Extract(MakeRequest(i));
      ASSERT_TRUE(answer.ok()) << answer.status();
    }
    for (int i = 0; i < kServers; ++i) {
      EXPECT_GE(FramesOf(i) - before[i], 3) << "server " << i;
    }
    CallWhileOneIsKilled(*client);
  }

  void MoveStreamsOfAKilledServer() {
    const auto client = ConnectToProxy();
    ASSERT_NO_FATAL_FAILURE(ReachAll(*client));
    const int moved = StreamWhileOneIsKilled(*client);
    EXPECT_GE(moved, 1);
    EXPECT_LT(moved, kStreams);
  }

  testing::TemporaryFolder folder_;
  std::string certificate_;
  std::string key_;
  std::string both_;
  int port_ = 0;
  pid_t proxy_ = -1;
};

class HaproxyTest : public ProxyTest {
 protected:
  void SetUp() override {
    if (std::string(ORBSERVE_HAPROXY).empty()) GTEST_SKIP() << "haproxy was not found";
    ProxyTest::SetUp();
    MakeCertificate();
    std::string servers;
    for (const auto& server : servers_) {
      absl::StrAppend(&servers, "  server s", server->http_port(), " ", server->address(),
                      " check port ", server->http_port(), "\n");
    }
    Run({ORBSERVE_HAPROXY, "-db", "-f",
         Configure("haproxy.cfg", {{":50443", absl::StrCat("127.0.0.1:", port_)},
                                   {"/etc/orbserve/proxy.pem", both_},
                                   {"http-check connect port 9464", "http-check connect"},
                                   {"  server local 127.0.0.1:50051\n", servers}})});
  }
};

class EnvoyTest : public ProxyTest {
 protected:
  void SetUp() override {
    if (std::string(ORBSERVE_ENVOY).empty()) GTEST_SKIP() << "envoy was not found";
    ProxyTest::SetUp();
    MakeCertificate();
    const std::string first =
        "address: { socket_address: { address: 127.0.0.1, port_value: 50051 } }\n"
        "            health_check_config: { port_value: 9464 }\n";
    std::vector<std::string> servers;
    for (const auto& server : servers_) {
      const std::pair<std::string, std::string> host_port =
          absl::StrSplit(server->address(), absl::MaxSplits(':', 1));
      servers.push_back(absl::StrReplaceAll(
          first, {{"50051", host_port.second}, {"9464", absl::StrCat(server->http_port())}}));
    }
    const std::string config = Configure(
        "envoy.yaml", {{"address: \"::\", port_value: 50443, ipv4_compat: true",
                        absl::StrCat("address: 127.0.0.1, port_value: ", port_)},
                       {"/etc/orbserve/proxy.crt", certificate_},
                       {"/etc/orbserve/proxy.key", key_},
                       {first, absl::StrJoin(servers, "        - endpoint:\n            ")}});
    Run({ORBSERVE_ENVOY, "--use-dynamic-base-id", "--concurrency", "1", "--log-level", "warning",
         "-c", config});
  }
};

TEST_F(HaproxyTest, SpreadsCallsAndAKilledServerFailsNone) { SpreadCallsWhileOneIsKilled(); }

TEST_F(HaproxyTest, StreamsOfAKilledServerGoOnWithAnother) { MoveStreamsOfAKilledServer(); }

TEST_F(EnvoyTest, SpreadsCallsAndAKilledServerFailsNone) { SpreadCallsWhileOneIsKilled(); }

TEST_F(EnvoyTest, StreamsOfAKilledServerGoOnWithAnother) { MoveStreamsOfAKilledServer(); }

}  // namespace
}  // namespace orbserve
