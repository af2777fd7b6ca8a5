// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/listen/connection_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace orbserve {
namespace {

using Room = ConnectionTable::Room;

class ConnectionTableTest : public ::testing::Test {
 protected:
  uint64_t Add(const std::string& address, int64_t opened_ms, int64_t calls = 0,
               int64_t last_call_ms = 0) {
    TrackedConnection connection;
    connection.descriptor = ++descriptor_;
    connection.address = address;
    connection.opened_ms = opened_ms;
    views_[descriptor_].calls = calls;
    views_[descriptor_].last_call_ms = last_call_ms;
    return table_.Add(std::move(connection));
  }

  int descriptor_ = 100;
  std::map<int, GuardView> views_;
  ConnectionTable table_{
      {.max_connections = 4, .max_connections_per_address = 3},
      [this](const TrackedConnection& connection) { return views_[connection.descriptor]; }};
};

TEST_F(ConnectionTableTest, ConnectionsAreBoundedInAllAndPerAddress) {
  Add("a", 0);
  Add("a", 0);
  EXPECT_EQ(table_.RoomFor("a"), Room::kFree);
  const uint64_t third = Add("a", 0);
  EXPECT_EQ(table_.RoomFor("a"), Room::kAddressFull);
  EXPECT_EQ(table_.RoomFor("b"), Room::kFree);
  Add("b", 0);
  EXPECT_EQ(table_.RoomFor("c"), Room::kFull);
  table_.Remove(third);
  EXPECT_EQ(table_.RoomFor("a"), Room::kFree);
  EXPECT_EQ(table_.size(), 3);
}

TEST_F(ConnectionTableTest, OwnConnectionsDoNotCount) {
  TrackedConnection own;
  own.descriptor = 7;
  own.address = "a";
  own.is_own = true;
  const uint64_t number = table_.Add(std::move(own));
  EXPECT_EQ(table_.size(), 0);
  EXPECT_EQ(table_.NumberOf(7), number);
  EXPECT_EQ(table_.IdleFor("a", Room::kFull, 0, 1'000'000).number, 0u);
  table_.Remove(number);
  EXPECT_EQ(table_.NumberOf(7), 0u);
}

TEST_F(ConnectionTableTest, TheOldestWithoutACallMakesRoom) {
  Add("a", 0, 5, 100'000);
  const uint64_t oldest = Add("a", 10);
  Add("b", 20);
  const auto idle = table_.IdleFor("c", Room::kFull, 0, 1000);
  EXPECT_EQ(idle.number, oldest);
  EXPECT_FALSE(idle.is_soon);
}

TEST_F(ConnectionTableTest, AFullAddressMakesRoomByItself) {
  Add("b", 0);
  const uint64_t of_address = Add("a", 10);
  EXPECT_EQ(table_.IdleFor("a", Room::kAddressFull, 0, 1000).number, of_address);
}

TEST_F(ConnectionTableTest, AConnectionHasAMomentForItsFirstCall) {
  Add("a", 1000);
  Add("a", 1000);
  const auto idle = table_.IdleFor("b", Room::kFull, 0, 1005);
  EXPECT_EQ(idle.number, 0u);
  EXPECT_TRUE(idle.is_soon);
}

TEST_F(ConnectionTableTest, TheMomentIsShorterWhereManyWait) {
  const uint64_t oldest = Add("a", 1000);
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 100, 1009).number, 0u);
  // 200 connections at 4 places: 5 ms are 250 ms in all.
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 200, 1004).number, 0u);
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 200, 1005).number, oldest);
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 100'000, 1002).number, 0u);
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 100'000, 1003).number, oldest);
}

TEST_F(ConnectionTableTest, NobodyWaitsForAnAddressThatHasFewConnections) {
  Add("a", 1000);
  Add("b", 0, 1, 999);
  Add("b", 0, 1, 999);
  Add("b", 0, 1, 999);
  const auto idle = table_.IdleFor("a", Room::kAddressFull, 0, 1005);
  EXPECT_EQ(idle.number, 0u);
  EXPECT_FALSE(idle.is_soon);
}

TEST_F(ConnectionTableTest, ConnectionsThatMakeCallsStayForAMinute) {
  Add("a", 0, 3, 50'000);
  const uint64_t oldest = Add("a", 0, 3, 40'000);
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 0, 99'000).number, 0u);
  EXPECT_EQ(table_.IdleFor("b", Room::kFull, 0, 101'000).number, oldest);
}

TEST(AddressKeyTest, IsTheAddressWithoutThePort) {
  SocketAddress address;
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage);
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(1234);
  inet_pton(AF_INET, "10.1.2.3", &ipv4.sin_addr);
  EXPECT_EQ(AddressKeyOf(address), "10.1.2.3");
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  ipv6 = {};
  ipv6.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "::ffff:10.1.2.3", &ipv6.sin6_addr);
  EXPECT_EQ(AddressKeyOf(address), "10.1.2.3");
  inet_pton(AF_INET6, "fd00::1", &ipv6.sin6_addr);
  EXPECT_EQ(AddressKeyOf(address), "fd00::1");
  address.storage.ss_family = AF_UNIX;
  EXPECT_EQ(AddressKeyOf(address), "unix");
}

}  // namespace
}  // namespace orbserve
