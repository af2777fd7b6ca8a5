// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/peer.h"

#include "gtest/gtest.h"

namespace orbserve {
namespace {

TEST(PeerOwnerTest, ConnectionsOfOneAddressHaveOneOwner) {
  EXPECT_EQ(PeerOwner("ipv4:192.0.2.7:40000"), "addr:192.0.2.7");
  EXPECT_EQ(PeerOwner("ipv4:192.0.2.7:40001"), "addr:192.0.2.7");
  EXPECT_EQ(PeerOwner("ipv4:192.0.2.8:40000"), "addr:192.0.2.8");
}

TEST(PeerOwnerTest, AnAddressOfIpv6HasOneForm) {
  for (const char* const peer : {"ipv6:[2001:db8::7]:40000", "ipv6:%5B2001:db8::7%5D:40001",
                                 "ipv6:%5B2001:0DB8:0:0:0:0:0:7%5D:40002"}) {
    EXPECT_EQ(PeerOwner(peer), "addr:2001:db8::7") << peer;
  }
}

TEST(PeerOwnerTest, LinkLocalAddressesKeepTheirZone) {
  EXPECT_EQ(PeerOwner("ipv6:%5Bfe80::1%25eth0%5D:40000"), "addr:fe80::1%eth0");
  EXPECT_EQ(PeerOwner("ipv6:[fe80::1%25eth1]:40000"), "addr:fe80::1%eth1");
}

TEST(PeerOwnerTest, AnIpv4AddressInsideIpv6IsTheSameOwner) {
  EXPECT_EQ(PeerOwner("ipv6:[::ffff:192.0.2.7]:40000"), PeerOwner("ipv4:192.0.2.7:5"));
}

TEST(PeerOwnerTest, LocalPeersHaveNoAddress) {
  EXPECT_EQ(PeerOwner("unix:"), "unix:");
  EXPECT_EQ(PeerOwner("unix:/run/orbserve.sock"), "unix:");
  EXPECT_EQ(PeerOwner("unix-abstract:orbserve"), "unix:");
  EXPECT_EQ(PeerOwner("inproc"), "inproc:");
}

TEST(PeerOwnerTest, AnUnknownFormIsKept) { EXPECT_EQ(PeerOwner("vsock:3:1"), "vsock:3:1"); }

}  // namespace
}  // namespace orbserve
