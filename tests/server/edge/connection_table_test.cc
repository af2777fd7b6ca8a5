// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/connection_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/clients/peer.h"
#include "server/process/file_descriptor.h"

namespace orbserve {
namespace {

using Room = ConnectionTable::Room;

// Eight places: four for unproven connections, seven for proven ones.
constexpr ConnectionBounds kBounds = {
    .max_connections = 8, .max_connections_per_address = 6, .has_credentials = true};

class ConnectionTableTest : public ::testing::Test {
 protected:
  // A connection from `address`, "NETWORK.HOST", without a call.
  uint64_t Add(const std::string& address, int64_t opened_ms = 0) {
    TrackedConnection connection;
    connection.descriptor = ++descriptor_;
    connection.peer = PeerOf(address);
    connection.opened_ms = opened_ms;
    views_[descriptor_].last_call_ms = opened_ms;
    return table_->Add(std::move(connection));
  }
  // One whose first call, which proves nothing, was answered.
  uint64_t AddAnswered(const std::string& address, int64_t opened_ms = 0) {
    const uint64_t number = Add(address, opened_ms);
    ViewOf(number).calls = 1;
    ViewOf(number).is_answered = true;
    return number;
  }
  uint64_t AddProven(const std::string& address, const std::string& owner,
                     int64_t last_call_ms = kNow) {
    const uint64_t number = AddAnswered(address);
    ViewOf(number).last_call_ms = last_call_ms;
    table_->Prove(number, owner);
    return number;
  }
  GuardView& ViewOf(uint64_t number) { return views_[table_->Find(number)->descriptor]; }
  PeerKeys PeerOf(const std::string& address) {
    return {absl::StrCat(address, " ", descriptor_), address, address.substr(0, address.find('.'))};
  }
  ConnectionTable::Decision RoomFor(const std::string& address, int64_t now_ms = kNow,
                                    int queued = 0) {
    return table_->RoomFor(PeerOf(address), queued, now_ms);
  }
  ConnectionTable::Decision RoomForProven(const std::string& owner,
                                          const std::string& address = "n.new") {
    return table_->RoomForProven(PeerOf(address), owner, kNow);
  }
  void Use(const ConnectionBounds& bounds) {
    table_.emplace(bounds, [this](const TrackedConnection& connection) {
      return views_[connection.descriptor];
    });
  }
  void SetUp() override { Use(kBounds); }

  static constexpr int64_t kNow = 100'000;
  int descriptor_ = 100;
  std::map<int, GuardView> views_;
  std::optional<ConnectionTable> table_;
};

TEST_F(ConnectionTableTest, UnprovenConnectionsHaveAPartOfThePlaces) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(RoomFor(absl::StrCat("n.", i)).room, Room::kFree) << i;
    Add(absl::StrCat("n.", i));
  }
  EXPECT_EQ(RoomFor("n.4").room, Room::kPreempt);
  table_->Prove(1, "owner");
  EXPECT_EQ(RoomFor("n.4").room, Room::kFree);
  EXPECT_EQ(table_->size(), 4);
}

TEST_F(ConnectionTableTest, ProvenConnectionsLeaveNewcomersAPlace) {
  for (int i = 0; i < 7; ++i) AddProven(absl::StrCat("n.", i), absl::StrCat("owner-", i));
  EXPECT_EQ(RoomForProven("new").room, Room::kFull);
  EXPECT_EQ(RoomFor("n.7").room, Room::kFree);
  const uint64_t unproven = Add("n.7");
  EXPECT_EQ(RoomFor("n.8").preempted, unproven);
}

TEST_F(ConnectionTableTest, UnprovenConnectionsGoBeforeProvenOnes) {
  for (int i = 0; i < 7; ++i) AddProven(absl::StrCat("n.", i), absl::StrCat("owner-", i), 0);
  const uint64_t unproven = AddAnswered("m.1", kNow);
  EXPECT_EQ(RoomFor("n.8").preempted, unproven);
}

TEST_F(ConnectionTableTest, TheFullestNetworkAndAddressAreFirst) {
  AddAnswered("m.1");
  AddAnswered("n.1", 10);
  const uint64_t oldest = AddAnswered("n.2", 20);
  AddAnswered("n.2", 30);
  EXPECT_EQ(RoomFor("n.3").preempted, oldest);
}

TEST_F(ConnectionTableTest, AnsweredCallsAreFirstThenHandshakesThenCalls) {
  const uint64_t in_call = Add("n.1", 0);
  ViewOf(in_call).calls = 1;
  const uint64_t handshake = Add("n.1", 10);
  Add("n.1", 20);
  const uint64_t answered = AddAnswered("n.1", 30);
  EXPECT_EQ(RoomFor("n.2").preempted, answered);
  ViewOf(answered).is_answered = false;
  EXPECT_EQ(RoomFor("n.2").preempted, handshake);
  for (uint64_t number = 2; number <= 4; ++number) ViewOf(number).calls = 1;
  EXPECT_EQ(RoomFor("n.2").preempted, in_call);
}

TEST_F(ConnectionTableTest, ACallHasATenthOfASecondHoweverManyWait) {
  for (int i = 0; i < 4; ++i) ViewOf(Add("n.1", kNow)).calls = 1;
  EXPECT_EQ(RoomFor("n.2", kNow + 99, 100'000).room, Room::kLater);
  EXPECT_EQ(RoomFor("n.2", kNow + 100, 100'000).preempted, 1u);
}

TEST_F(ConnectionTableTest, WhatTheServerHasNotReadMayBeACall) {
  int sockets[2] = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  const FileDescriptor client(sockets[1]);
  const uint64_t unread = Add("n.1", kNow);
  table_->Find(unread)->duplicate = FileDescriptor(sockets[0]);
  for (int i = 1; i < 4; ++i) Add("n.1", kNow + i);
  EXPECT_EQ(RoomFor("n.2", kNow + 20, 100'000).preempted, unread);
  const std::string handshake(256, 'h');
  ASSERT_EQ(write(client.get(), handshake.data(), handshake.size()), 256);
  EXPECT_EQ(RoomFor("n.2", kNow + 20, 100'000).preempted, unread);
  ASSERT_EQ(write(client.get(), "call", 4), 4);
  EXPECT_EQ(RoomFor("n.2", kNow + 20, 100'000).preempted, unread + 1);
}

TEST_F(ConnectionTableTest, ANewcomerHasTimeForItsFirstCall) {
  for (int i = 0; i < 4; ++i) Add("n.1", kNow - 199 + i);
  EXPECT_EQ(RoomFor("n.2").room, Room::kLater);
  EXPECT_EQ(RoomFor("n.2", kNow + 1).preempted, 1u);
}

TEST_F(ConnectionTableTest, TheTimeIsShorterWhereManyWait) {
  for (int i = 0; i < 4; ++i) Add("n.1", kNow);
  // 20 connections at 4 places: 10 ms are 50 ms in all.
  EXPECT_EQ(RoomFor("n.2", kNow + 9, 20).room, Room::kLater);
  EXPECT_EQ(RoomFor("n.2", kNow + 10, 20).room, Room::kPreempt);
  EXPECT_EQ(RoomFor("n.2", kNow + 2, 100'000).room, Room::kLater);
  EXPECT_EQ(RoomFor("n.2", kNow + 3, 100'000).room, Room::kPreempt);
}

TEST_F(ConnectionTableTest, ArrivalsOfTheEmptiestAddressAreFirstAndTheNewestOfIt) {
  const uint64_t crowd[] = {Add("m.1"), Add("m.1"), Add("m.1")};
  const uint64_t other = Add("m.2");
  const uint64_t silent = Add("n.1");
  for (const uint64_t number : {crowd[0], crowd[1], other}) table_->SetArrived(number);
  table_->SetArrived(other);
  EXPECT_EQ(table_->NextArrival(), other);
  EXPECT_EQ(table_->NextArrival(), crowd[1]);
  table_->SetArrived(silent);
  table_->SetArrived(crowd[2]);
  EXPECT_EQ(table_->NextArrival(), silent);
  table_->Remove(crowd[2]);
  EXPECT_EQ(table_->NextArrival(), crowd[0]);
  EXPECT_EQ(table_->NextArrival(), 0u);
}

TEST_F(ConnectionTableTest, HandshakesWhoseClientsHaveAnsweredGoFirst) {
  const uint64_t answered = Add("m.1");
  table_->Find(answered)->stage = TrackedConnection::Stage::kHandshake;
  const uint64_t emptier = Add("n.1");
  Add("m.2");
  table_->SetArrived(emptier);
  table_->SetArrived(answered);
  EXPECT_EQ(table_->arrivals(), 1);
  EXPECT_EQ(table_->NextArrival(), answered);
  EXPECT_EQ(table_->NextArrival(), emptier);
  EXPECT_FALSE(table_->has_arrivals());
  table_->SetArrived(answered);
  table_->Remove(answered);
  EXPECT_FALSE(table_->has_arrivals());
}

TEST_F(ConnectionTableTest, HandshakesBeginInTheOrderOfTheirOpening) {
  ConnectionBounds bounds = kBounds;
  bounds.makes_handshakes = true;
  Use(bounds);
  const uint64_t first = Add("n.1");
  const uint64_t second = Add("n.1");
  table_->SetArrived(second);
  table_->SetArrived(first);
  EXPECT_EQ(table_->NextArrival(), first);
  EXPECT_EQ(table_->NextArrival(), second);
}

TEST_F(ConnectionTableTest, AHandshakeIsNotPreemptedWhileTheServerOwesAStep) {
  ConnectionBounds bounds = kBounds;
  bounds.makes_handshakes = true;
  Use(bounds);
  for (int i = 0; i < 4; ++i) Add("n.1");
  for (uint64_t number = 1; number <= 4; ++number) {
    table_->Find(number)->stage = TrackedConnection::Stage::kHandshake;
  }
  table_->SetArrived(1);
  table_->SetArrived(2);
  table_->Find(3)->turn_ms = kNow - 10;  // has just been answered
  EXPECT_EQ(RoomFor("n.2").preempted, 4u);
  table_->Remove(4);
  Add("n.1", kNow);
  EXPECT_EQ(RoomFor("n.2").room, Room::kLater);
}

TEST_F(ConnectionTableTest, AnAnswerInAHandshakeIsWaitedForATenthOfASecond) {
  for (int i = 0; i < 4; ++i) Add("n.1", kNow);
  table_->Find(2)->stage = TrackedConnection::Stage::kHandshake;
  EXPECT_EQ(RoomFor("n.2", kNow + 99).room, Room::kLater);
  EXPECT_EQ(RoomFor("n.2", kNow + 100).preempted, 2u);
}

TEST_F(ConnectionTableTest, AFullAddressMakesRoomByItself) {
  for (int i = 0; i < 3; ++i) AddProven("n.1", "owner");
  for (int i = 0; i < 3; ++i) AddAnswered("n.1");
  EXPECT_EQ(RoomFor("n.1").preempted, 4u);
  EXPECT_EQ(RoomFor("n.2").room, Room::kFree);
  for (int i = 4; i <= 6; ++i) {
    table_->Prove(static_cast<uint64_t>(i), "owner");
    ViewOf(static_cast<uint64_t>(i)).last_call_ms = kNow;
  }
  EXPECT_EQ(RoomFor("n.1").room, Room::kAddressFull);
  EXPECT_EQ(RoomFor("n.1", kNow + kBounds.idle_ms - 1).room, Room::kAddressFull);
  ViewOf(1).last_call_ms = kNow + 1;
  EXPECT_EQ(RoomFor("n.1", kNow + kBounds.idle_ms).preempted, 2u);
}

TEST_F(ConnectionTableTest, NobodyWaitsForAnAddressThatHasFewConnections) {
  Use({.max_connections = 8, .max_connections_per_address = 1});
  for (int i = 0; i < 2; ++i) AddProven(absl::StrCat("m.", i), absl::StrCat("owner-", i));
  Add("n.1", kNow);
  EXPECT_EQ(RoomFor("n.1").room, Room::kAddressFull);
  table_->Remove(1);
  table_->Remove(2);
  EXPECT_EQ(RoomFor("n.1").room, Room::kLater);
}

TEST_F(ConnectionTableTest, IdleProvenConnectionsMakeRoomForProvenOnes) {
  for (int i = 0; i < 7; ++i) {
    AddProven(absl::StrCat("n.", i), absl::StrCat("owner-", i), kNow - 60'000 + (i == 3 ? -1 : i));
  }
  EXPECT_EQ(RoomForProven("new").preempted, 4u);
  ViewOf(4).last_call_ms = kNow;
  EXPECT_EQ(RoomForProven("new").preempted, 1u);
}

TEST_F(ConnectionTableTest, TheFullestOwnerMakesRoomForOneWithFewer) {
  for (int i = 0; i < 4; ++i) AddProven(absl::StrCat("m.", i), "greedy", kNow - i);
  for (int i = 0; i < 3; ++i) AddProven("n.1", "other", kNow - 100);
  EXPECT_EQ(RoomForProven("new").preempted, 4u);
  EXPECT_EQ(RoomForProven("greedy").room, Room::kFull);
  EXPECT_EQ(RoomForProven("other").room, Room::kFull);
}

TEST_F(ConnectionTableTest, WithoutCredentialsNetworksAreComparedFirst) {
  Use({.max_connections = 8, .max_connections_per_address = 6, .has_credentials = false});
  for (int i = 0; i < 4; ++i) AddProven(absl::StrCat("m.", i), absl::StrCat("addr:m.", i));
  for (int i = 0; i < 3; ++i) AddProven("n.1", "addr:n.1");
  EXPECT_EQ(RoomForProven("addr:o.1", "o.1").preempted, 1u);
  EXPECT_EQ(RoomForProven("addr:m.9", "m.9").room, Room::kFull);
}

TEST_F(ConnectionTableTest, ASelfCheckTakesNoPlace) {
  TrackedConnection connection;
  connection.descriptor = 7;
  connection.peer = PeerOf("n.1");
  connection.is_self_check = true;
  const uint64_t number = table_->Add(std::move(connection));
  EXPECT_EQ(table_->size(), 0);
  EXPECT_EQ(table_->NumberOf(7), number);
  table_->Remove(number);
  EXPECT_EQ(table_->NumberOf(7), 0u);
}

TEST_F(ConnectionTableTest, UnprovenConnectionsAreFoundByTheirEndpoint) {
  const uint64_t number = Add("n.1");
  const std::string endpoint = table_->Find(number)->peer.endpoint;
  EXPECT_EQ(table_->UnprovenAt(endpoint), std::vector<uint64_t>{number});
  EXPECT_TRUE(table_->UnprovenAt("n.1 4711").empty());
  table_->Prove(number, "owner");
  EXPECT_TRUE(table_->UnprovenAt(endpoint).empty());
  table_->Remove(number);
  EXPECT_EQ(table_->size(), 0);
}

TEST_F(ConnectionTableTest, OfAUnixSocketAllThatMadeCallsAreFound) {
  uint64_t with_call = 0;
  for (int i = 0; i < 2; ++i) {
    TrackedConnection connection;
    connection.descriptor = ++descriptor_;
    connection.peer = {"", kUnixPeer, kUnixPeer};
    with_call = table_->Add(std::move(connection));
  }
  ViewOf(with_call).calls = 1;
  EXPECT_EQ(table_->UnprovenAt(kUnixPeer), std::vector<uint64_t>{with_call});
}

SocketAddress AddressOf(const std::string& text) {
  SocketAddress address;
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
  } else {
    ipv6.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &ipv6.sin6_addr), 1);
  }
  SetPort(address, 4711);
  return address;
}

TEST(PeerKeysTest, AreTheAddressAndItsNetwork) {
  for (const std::string text : {"10.1.2.3", "::ffff:10.1.2.3"}) {
    const PeerKeys keys = PeerKeysOf(AddressOf(text));
    EXPECT_EQ(keys.endpoint, "10.1.2.3 4711");
    EXPECT_EQ(keys.address, "10.1.2.3");
    EXPECT_EQ(keys.network, "10.1.2.0/24");
  }
  const PeerKeys keys = PeerKeysOf(AddressOf("2001:db8:1:2:3::4"));
  EXPECT_EQ(keys.endpoint, "2001:db8:1:2:3::4 4711");
  EXPECT_EQ(keys.address, "2001:db8:1:2::/64");
  EXPECT_EQ(keys.network, "2001:db8:1::/48");
  SocketAddress address;
  address.storage.ss_family = AF_UNIX;
  EXPECT_EQ(PeerKeysOf(address).address, kUnixPeer);
}

TEST(PeerKeysTest, GrpcNamesTheSameEndpoints) {
  EXPECT_EQ(EndpointOfPeer("ipv4:10.1.2.3:4711"), PeerKeysOf(AddressOf("10.1.2.3")).endpoint);
  EXPECT_EQ(EndpointOfPeer("ipv6:%5B2001:db8::4%5D:4711"),
            PeerKeysOf(AddressOf("2001:db8::4")).endpoint);
  EXPECT_EQ(EndpointOfPeer("ipv6:%5Bfe80::4%25eth0%5D:4711"),
            PeerKeysOf(AddressOf("fe80::4")).endpoint);
  EXPECT_EQ(EndpointOfPeer("unix:"), kUnixPeer);
  EXPECT_EQ(EndpointOfPeer("inproc:"), "");
}

}  // namespace
}  // namespace orbserve
