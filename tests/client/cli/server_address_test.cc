// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/server_address.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using ::testing::EndsWith;

TEST(ServerAddress, HostsWithAPortAndTargetsOfGrpcAreTaken) {
  for (const char* address : {"localhost:50051", "127.0.0.1:1", "[::1]:50051", "unix:/run/o.sock",
                              "unix-abstract:o", "dns:///features:50051", "ipv6:[::1]:50051"}) {
    EXPECT_TRUE(CheckServerAddress(address).ok()) << address;
  }
}

TEST(ServerAddress, TheMessageSaysWhatToWrite) {
  for (const auto& [address, instead] :
       {std::pair("localhost", "the port is missing; write --server localhost:50051"),
        std::pair("http://robot:50051", "has no http://; write --server robot:50051"),
        std::pair("http://robot/", "write --server robot:50051"),
        std::pair("https://robot:443/x", "write --server robot:443 --tls-ca FILE"),
        std::pair("http://[::1]", "write --server [::1]:50051"),
        std::pair("::1", "write --server [::1]:50051"),
        std::pair("[::1]", "write --server [::1]:50051"),
        std::pair(":50051", "the host is missing; write --server localhost:50051"),
        std::pair("robot:", "a number from 1 to 65535; write --server robot:50051"),
        std::pair("robot:grpc", "write --server robot:50051"),
        std::pair("robot:70000", "write --server robot:50051"),
        std::pair("/run/o.sock", "write --server unix:/run/o.sock")}) {
    EXPECT_THAT(std::string(CheckServerAddress(address).message()), EndsWith(instead)) << address;
  }
}

}  // namespace
}  // namespace orbserve::cli
