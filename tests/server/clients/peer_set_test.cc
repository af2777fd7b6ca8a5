// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/peer.h"

#include <string>

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

TEST(PeerSetTest, ContainsItsAddressesAndNetworks) {
  const auto set = PeerSet::Create({"192.0.2.7", "10.16.0.0/12", "2001:db8::/33", "::1"}, "list");
  ASSERT_TRUE(set.ok()) << set.status();
  for (const char* const inside : {"addr:192.0.2.7", "addr:10.16.0.0", "addr:10.31.255.255",
                                   "addr:2001:db8:7fff::1", "addr:::1"}) {
    EXPECT_TRUE(set->Contains(inside)) << inside;
  }
  for (const char* const outside :
       {"addr:192.0.2.6", "addr:10.32.0.0", "addr:10.15.255.255", "addr:2001:db8:8000::1",
        "addr:::2", "unix:", "inproc:", "192.0.2.7", "addr:", "cert:192.0.2.7"}) {
    EXPECT_FALSE(set->Contains(outside)) << outside;
  }
}

TEST(PeerSetTest, MayContainAllOfAFamilyOrUnixSockets) {
  const auto set = PeerSet::Create({"0.0.0.0/0", "unix:"}, "list");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->Contains("addr:203.0.113.5"));
  EXPECT_TRUE(set->Contains("unix:"));
  EXPECT_FALSE(set->Contains("addr:2001:db8::1"));
  EXPECT_TRUE(PeerSet().empty());
  EXPECT_FALSE(PeerSet().Contains("addr:203.0.113.5"));
}

TEST(PeerSetTest, MembersThatAreNoneAreRefused) {
  for (const char* const member : {"", "proxy", "192.0.2", "192.0.2.0/33", "192.0.2.0/-1",
                                   "192.0.2.0/", "2001:db8::/129", "192.0.2.7:80", "/8"}) {
    const absl::Status status = PeerSet::Create({"::1", member}, "list").status();
    EXPECT_EQ(ReasonOf(status), ErrorReason::kBadOptions) << member;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("list must be"));
  }
}

TEST(PeerSetTest, NetworksBeginWithTheirFirstAddress) {
  EXPECT_EQ(PeerSet::Create({"10.16.0.7/12"}, "list").status().message(),
            "list must have an address or the first one of a network, 10.16.0.0/12; got "
            "\"10.16.0.7/12\"");
  EXPECT_EQ(PeerSet::Create({"2001:db8:ffff::/33"}, "list").status().message(),
            "list must have an address or the first one of a network, 2001:db8:8000::/33; got "
            "\"2001:db8:ffff::/33\"");
  EXPECT_TRUE(PeerSet::Create({"10.16.0.7/32", "::1/128"}, "list").ok());
}

}  // namespace
}  // namespace orbserve
