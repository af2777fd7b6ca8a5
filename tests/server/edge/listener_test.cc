// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/listener.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/edge/listen_sockets.h"
#include "tests/client/temporary_folder.h"
#include "tests/server/edge/listener_fixture.h"
#include "tests/server/edge/tls_client.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::Closed;
using ::orbserve::testing::Eventually;
using ::orbserve::testing::FirstMessageOfTls;
using ::orbserve::testing::ListenerTest;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::ServerContext;
using ::orbserve::testing::ShakeHands;
using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;

TEST_F(ListenerTest, ConnectionsAreCountedUntilTheyAreClosed) {
  StartListener({});
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(Connect());
  ASSERT_TRUE(WaitForTaken(5));
  EXPECT_EQ(listener_->use().connections, 5);
  CloseTaken(2);
  EXPECT_TRUE(Eventually([&] { return listener_->use().connections == 4; }));
  EXPECT_EQ(Closed(*listener_, CloseReason::kEnded), 1);
}

TEST_F(ListenerTest, AConnectionIsHandedOverWhenItsClientHasBegunToSpeak) {
  const std::string http2 = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(9, 0);
  const std::string tls = std::string("\x16\x03\x01\x01\x2c", 5) + std::string(0x12c, 'h');
  for (const bool is_plain : {true, false}) {
    const std::string start = is_plain ? http2 : tls;
    StartListener({.is_plain = is_plain});
    const FileDescriptor client = Connect(start.substr(0, start.size() - 1));
    const FileDescriptor silent = Connect("");
    const FileDescriptor other = Connect("GET / HTTP/1.1");
    ASSERT_TRUE(WaitForTaken(1));
    EXPECT_EQ(listener_->use().connections, 3);
    Say(client, start.substr(start.size() - 1));
    EXPECT_TRUE(WaitForTaken(2));
    taken_.clear();
  }
}

TEST_F(ListenerTest, AConnectionIsHandedOverWhenItsHandshakeIsComplete) {
  const auto context = ServerContext(MakeCertificate());
  ASSERT_NE(context, nullptr);
  ListenerOptions options;
  options.is_plain = false;
  options.max_connections = 8;
  options.begin_handshake = [context](int socket) { return BeginHandshake(context.get(), socket); };
  StartListener(options);
  const std::string hello = FirstMessageOfTls();
  std::vector<FileDescriptor> endless;
  for (int i = 0; i < 3; ++i) endless.push_back(Connect(hello));
  const FileDescriptor no_tls = Connect("GET / HTTP/1.1");
  EXPECT_TRUE(IsClosedByPeer(no_tls));
  const FileDescriptor honest = Connect("");
  EXPECT_TRUE(ShakeHands(honest.get()));
  EXPECT_TRUE(WaitForTaken(1));
  // Those that never end make room.
  for (int i = 0; i < 3; ++i) endless.push_back(Connect(hello));
  EXPECT_TRUE(Eventually([&] { return Closed(*listener_, CloseReason::kPreempted) > 0; }));
  const FileDescriptor next = Connect("");
  EXPECT_TRUE(ShakeHands(next.get()));
  EXPECT_TRUE(WaitForTaken(2));
  EXPECT_EQ(handshakes_, 2);
}

TEST_F(ListenerTest, APreemptedHandshakeIsClosedWhenItsClientSpeaks) {
  const auto context = ServerContext(MakeCertificate());
  ListenerOptions options;
  options.is_plain = false;
  options.max_connections = 1;
  options.begin_handshake = [context](int socket) { return BeginHandshake(context.get(), socket); };
  StartListener(options);
  const FileDescriptor slow = Connect(FirstMessageOfTls());
  const FileDescriptor next = Connect(FirstMessageOfTls());
  ASSERT_TRUE(Eventually([&] { return Closed(*listener_, CloseReason::kPreempted) == 1; }));
  EXPECT_EQ(listener_->use().connections, 1);
  // The answer to its first message, and then nothing.
  std::array<char, 4096> bytes;
  EXPECT_GT(recv(slow.get(), bytes.data(), bytes.size(), 0), 0);
  EXPECT_EQ(recv(slow.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  Say(slow, "so late");
  EXPECT_TRUE(IsClosedByPeer(slow));
}

TEST_F(ListenerTest, AConnectionWithoutAHandshakeOfItsOwnIsHandedOverAsItArrives) {
  ListenerOptions options;
  options.is_plain = false;
  options.begin_handshake = [](int) { return TlsSession(); };
  StartListener(options);
  const FileDescriptor client = Connect(FirstMessageOfTls());
  EXPECT_TRUE(WaitForTaken(1));
  EXPECT_EQ(handshakes_, 0);
}

TEST_F(ListenerTest, AConnectionThatItsClientResetsIsForgotten) {
  StartListener({});
  FileDescriptor client = Connect();
  ASSERT_TRUE(WaitForTaken(1));
  const linger at_once = {1, 0};
  setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return listener_->use().connections == 0; }));
}

TEST_F(ListenerTest, AnUnprovenConnectionThatItsClientEndsIsForgotten) {
  StartListener({});
  FileDescriptor proven = Connect();
  ASSERT_TRUE(WaitForTaken(1));
  Prove(proven, "owner");
  FileDescriptor unproven = Connect();
  ASSERT_TRUE(WaitForTaken(2));
  proven.Reset();
  unproven.Reset();
  EXPECT_TRUE(Eventually([&] { return listener_->use().connections == 1; }));
}

TEST_F(ListenerTest, AConnectionOverTheBoundWaitsUntilAnUnprovenOneIsClosed) {
  StartListener({.max_connections = 2});
  const FileDescriptor first = Connect();
  ASSERT_TRUE(WaitForTaken(1));
  const FileDescriptor second = Connect();
  ASSERT_TRUE(WaitForTaken(2));
  EXPECT_TRUE(IsClosedByPeer(first));
  EXPECT_EQ(Closed(*listener_, CloseReason::kPreempted), 1);
}

TEST_F(ListenerTest, ConnectionsOverTheBoundAreRefusedWhereAllAreProven) {
  StartListener({.max_connections = 1});
  const FileDescriptor client = Connect();
  ASSERT_TRUE(WaitForTaken(1));
  Prove(client, "owner");
  EXPECT_TRUE(IsClosedByPeer(Connect()));
  EXPECT_EQ(Closed(*listener_, CloseReason::kAddressFull), 1);
  EXPECT_EQ(listener_->use().max_connections_per_address, 1);
  CloseTaken(0);
  ASSERT_TRUE(Eventually([&] { return listener_->use().connections == 0; }));
  const FileDescriptor next = Connect();
  EXPECT_TRUE(WaitForTaken(2));
}

TEST_F(ListenerTest, AProvenConnectionMakesRoomForAnOwnerWithFewer) {
  StartListener({.max_connections = 4, .has_credentials = true});
  std::vector<FileDescriptor> greedy;
  for (size_t i = 0; i < 3; ++i) {
    greedy.push_back(Connect());
    ASSERT_TRUE(WaitForTaken(i + 1));
    Prove(greedy.back(), "greedy");
  }
  const FileDescriptor again = Connect();
  ASSERT_TRUE(WaitForTaken(4));
  Prove(again, "greedy");
  EXPECT_TRUE(IsClosedByPeer(again));
  EXPECT_EQ(Closed(*listener_, CloseReason::kFull), 1);
  const FileDescriptor other = Connect();
  ASSERT_TRUE(WaitForTaken(5));
  Prove(other, "other");
  EXPECT_TRUE(Eventually([&] { return Closed(*listener_, CloseReason::kPreempted) == 1; }));
  EXPECT_EQ(listener_->use().connections, 3);
}

TEST_F(ListenerTest, AnAddressHasAShareOnly) {
  StartListener({.max_connections = 10, .max_connections_per_address = 2});
  const FileDescriptor first = Connect();
  ASSERT_TRUE(WaitForTaken(1));
  Prove(first, "first");
  const FileDescriptor second = Connect();
  ASSERT_TRUE(WaitForTaken(2));
  Prove(second, "second");
  EXPECT_TRUE(IsClosedByPeer(Connect()));
  EXPECT_EQ(Closed(*listener_, CloseReason::kAddressFull), 1);
}

TEST_F(ListenerTest, AnAddressHasAFewConnectionsWhereDescriptorsAreFew) {
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const absl::Cleanup restore = [&] { setrlimit(RLIMIT_NOFILE, &before); };
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(FileDescriptor(dup(STDIN_FILENO)).get()) + 70;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  StartListener({.max_connections = 4096, .max_connections_per_address = 1024});
  ASSERT_NE(listener_, nullptr);
  const ListenerUse use = listener_->use();
  EXPECT_LT(use.max_connections, 40);
  EXPECT_EQ(use.max_connections_per_address,
            std::min(use.max_connections, kMinConnectionsPerAddress));
}

TEST_F(ListenerTest, HearsAgainAfterDescriptorsWereUsedUp) {
  StartListener({});
  rlimit before = {};
  getrlimit(RLIMIT_NOFILE, &before);
  const absl::Cleanup restore = [&] { setrlimit(RLIMIT_NOFILE, &before); };
  std::vector<FileDescriptor> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(FileDescriptor(socket(AF_INET, SOCK_STREAM, 0)));
  SocketAddress address;
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage);
  ipv4.sin_family = AF_INET;
  ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.size = sizeof(ipv4);
  SetPort(address, port_);
  rlimit none = before;
  none.rlim_cur = 3;  // new descriptors are refused
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (const FileDescriptor& client : clients) {
    connect(client.get(), address.get(), address.size);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const FileDescriptor& client : clients) Say(client, "hello");
  const FileDescriptor next = Connect();
  EXPECT_TRUE(Eventually([&] { return taken() > 0; }));
  EXPECT_TRUE(Eventually([&] {
    return static_cast<int64_t>(taken()) + Closed(*listener_, CloseReason::kNoDescriptor) == 9;
  }));
}

TEST_F(ListenerTest, ASelfCheckTakesNoPlaceButWantsOne) {
  StartListener({.max_connections = 1});
  for (size_t i = 0; i < 3; ++i) {
    auto check = ConnectSelfCheck();
    ASSERT_TRUE(check.ok()) << check.status();
    ASSERT_TRUE(WaitForTaken(i + 1));
    EXPECT_FALSE(*check->is_refused);
  }
  EXPECT_EQ(self_checks_, 3);
  EXPECT_EQ(listener_->use().connections, 0);
  const FileDescriptor client = Connect();
  ASSERT_TRUE(WaitForTaken(4));
  Prove(client, "owner");
  auto check = ConnectSelfCheck();
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_TRUE(IsClosedByPeer(check->socket));
  EXPECT_TRUE(*check->is_refused);
}

TEST_F(ListenerTest, ConnectsToItselfOnEveryKindOfAddress) {
  const TemporaryFolder folder;
  for (const std::string& address :
       {std::string("0.0.0.0:0"), absl::StrCat("unix:", folder / "socket"),
        absl::StrCat("unix-abstract:listener-test-", getpid())}) {
    SCOPED_TRACE(address);
    self_checks_ = 0;
    taken_.clear();
    StartListener({.address = address});
    auto own = ConnectSelfCheck();
    ASSERT_TRUE(own.ok()) << own.status();
    ASSERT_TRUE(WaitForTaken(1));
    EXPECT_EQ(self_checks_, 1);
    listener_.reset();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(ListenerTest, ShutsDownEveryConnection) {
  StartListener({});
  const FileDescriptor first = Connect();
  const FileDescriptor second = Connect();
  ASSERT_TRUE(WaitForTaken(2));
  listener_->StopAccepting();
  EXPECT_FALSE(Connect());
  listener_->ShutDownConnections();
  EXPECT_TRUE(IsClosedByPeer(first));
  EXPECT_TRUE(IsClosedByPeer(second));
  EXPECT_TRUE(Eventually([&] { return Closed(*listener_, CloseReason::kStopped) == 2; }));
}

TEST_F(ListenerTest, APortInUseIsRefused) {
  StartListener({});
  const std::string address = absl::StrCat("127.0.0.1:", port_);
  const auto second = Listener::Create({.address = address});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(address));
  EXPECT_FALSE(Listener::Create({.address = absl::StrCat("0.0.0.0:", port_)}).ok());
}

TEST_F(ListenerTest, ANameWithoutAnAddressIsRefused) {
  const auto listener = Listener::Create({.address = "no-such-host.invalid:0"});
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(std::string(listener.status().message()),
              HasSubstr("cannot serve on no-such-host.invalid:0: "));
}

}  // namespace
}  // namespace orbserve
