// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/clients/identity.h"

#include <string>

#include "features/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;

PeerSet Proxies(const std::vector<std::string>& members) {
  auto set = PeerSet::Create(members, "trusted_proxies");
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

TEST(IdentityTest, ACertificateIsNamedByItsUriElseItsDnsNameElseItsCommonName) {
  EXPECT_EQ(*NameOfCertificate("spiffe://fleet/robot-7", "robot-7.local", "Robot 7"),
            "spiffe://fleet/robot-7");
  EXPECT_EQ(*NameOfCertificate("", "robot-7.local", "Robot 7"), "robot-7.local");
  EXPECT_EQ(*NameOfCertificate("", "", "Robot 7"), "Robot 7");
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string(513, 'a')}) {
    EXPECT_EQ(ReasonOf(NameOfCertificate("", name, "").status()), ErrorReason::kUnauthenticated);
  }
  EXPECT_FALSE(NameOfCertificate("a\nb", "robot-7.local", "").ok()) << "not another client";
}

TEST(IdentityTest, AnIdNamesAPartOfItsOwnerOnly) {
  const auto client = [](absl::string_view id) { return ClientOfOwner("cert:", "robot-7", &id); };
  const ClientId whole = {.owner = "cert:robot-7", .name = "cert:robot-7"};
  EXPECT_EQ(*ClientOfOwner("cert:", "robot-7", nullptr), whole);
  EXPECT_EQ(*client("robot-7"), whole);
  const auto left = client("robot-7/left");
  const auto right = client("robot-7/right");
  ASSERT_TRUE(left.ok() && right.ok());
  EXPECT_EQ(left->owner, whole.owner);
  EXPECT_NE(left->name, whole.name);
  EXPECT_NE(left->name, right->name);
  for (const char* const id : {"", "robot-8", "robot-70", "robot-7/", "robot-8/left", "/left",
                               "robot", "ROBOT-7", "robot-7/a\nb"}) {
    const absl::Status status = client(id).status();
    EXPECT_EQ(ReasonOf(status), ErrorReason::kUnauthenticated) << id;
    EXPECT_THAT(std::string(status.message()), HasSubstr("robot-7 or robot-7/PART"));
  }
  EXPECT_FALSE(client("robot-7/" + std::string(129, 'a')).ok());
}

TEST(IdentityTest, PeopleReadNamesWithoutTheirKinds) {
  const absl::string_view part = "robot-7/left";
  EXPECT_EQ(DisplayName(*ClientOfOwner("token:", "robot-7", &part)), "token:robot-7/left");
  EXPECT_EQ(DisplayName(*ClientOfOwner("cert:", "robot-7", nullptr)), "cert:robot-7");
  EXPECT_EQ(DisplayName({"addr:192.0.2.7", "id:left"}), "addr:192.0.2.7/left");
  EXPECT_EQ(DisplayName({"addr:192.0.2.7", "peer:ipv4:192.0.2.7:4711"}), "ipv4:192.0.2.7:4711");
  EXPECT_EQ(DisplayName({"addr:192.0.2.7", "addr:192.0.2.7"}), "addr:192.0.2.7");
  EXPECT_EQ(DisplayName({}), "-");
}

TEST(IdentityTest, APartOfOneOwnerIsNeverAnotherOwner) {
  const absl::string_view part = "spiffe://fleet/robot/7";
  const auto partial = ClientOfOwner("cert:", "spiffe://fleet/robot", &part);
  ASSERT_TRUE(partial.ok());
  EXPECT_NE(partial->name, ClientOfOwner("cert:", "spiffe://fleet/robot/7", nullptr)->name);
  EXPECT_NE(ClientOfOwner("cert:", "a", nullptr)->owner,
            ClientOfOwner("token:", "a", nullptr)->owner);
}

TEST(IdentityTest, ThePeerOfATrustedProxyIsTheLastAddressThatIsNotOne) {
  const PeerSet proxies = Proxies({"10.0.0.0/8", "unix:"});
  const auto owner = [&](const std::string& peer, const std::string& forwarded) {
    return ForwardedOwner(peer, forwarded, proxies).value_or("refused");
  };
  EXPECT_EQ(owner("addr:10.0.0.1", "192.0.2.7"), "addr:192.0.2.7");
  EXPECT_EQ(owner("unix:", "192.0.2.7:40000"), "addr:192.0.2.7");
  EXPECT_EQ(owner("addr:10.0.0.1", "203.0.113.5, 192.0.2.7, 10.0.0.2"), "addr:192.0.2.7")
      << "what stands before is the client's word";
  EXPECT_EQ(owner("addr:10.0.0.1", "[2001:db8::7]:443"), "addr:2001:db8::7");
  EXPECT_EQ(owner("addr:10.0.0.1", "10.0.0.3,10.0.0.2"), "addr:10.0.0.3");
  EXPECT_EQ(owner("addr:192.0.2.1", "203.0.113.5"), "addr:192.0.2.1") << "no proxy of ours";
  EXPECT_EQ(owner("addr:10.0.0.1", "unknown"), "refused");
  EXPECT_EQ(owner("addr:10.0.0.1", "192.0.2.7,"), "refused");
}

}  // namespace
}  // namespace orbserve
