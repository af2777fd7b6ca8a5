// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server program with certificates: who may talk to it, and who may not.

#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "tests/client/temporary_folder.h"
#include "tests/integration/server_process.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::CertificateAndKey;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::TemporaryFolder;

class ServerTlsTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--backend",  "cpu",
                                          "--tls-cert", folder_.Write("cert.pem", own_.certificate),
                                          "--tls-key",  folder_.Write("key.pem", own_.key)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto started = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, arguments);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  grpc::Status Ask(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub = v1::Features::NewStub(grpc::CreateChannel(server_->address(), credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::GetServerInfoResponse info;
    return stub->GetServerInfo(&context, {}, &info);
  }

  const TemporaryFolder folder_;
  const CertificateAndKey own_ = MakeCertificate();
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ServerTlsTest, ClientsThatKnowTheCertificateAreServed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  auto client = client::Client::Connect(server_->address(), {.tls_ca_file = folder_ / "cert.pem"});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto health = (*client)->CheckHealth();
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_EQ(*health, client::Health::kServing);
}

TEST_F(ServerTlsTest, ClientsThatDoNotAreNot) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(
      Ask(grpc::SslCredentials({.pem_root_certs = MakeCertificate().certificate})).error_code(),
      grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Ask(grpc::InsecureChannelCredentials()).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServerTlsTest, OneConnectionAfterTheOtherIsServed) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (int i = 0; i < 20; ++i) {
    const grpc::Status served = Ask(grpc::SslCredentials({.pem_root_certs = own_.certificate}));
    ASSERT_TRUE(served.ok()) << i << ": " << served.error_message();
  }
}

TEST_F(ServerTlsTest, WithoutAnAuthorityCertificatesOfClientsAreNotAskedFor) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CertificateAndKey robot = MakeCertificate();
  for (const CertificateAndKey& client : {robot, own_}) {
    const grpc::Status served =
        Ask(grpc::SslCredentials({own_.certificate, client.key, client.certificate}));
    EXPECT_TRUE(served.ok()) << served.error_message();
  }
}

TEST_F(ServerTlsTest, WithAnAuthorityOnlyItsClientsAreServed) {
  const CertificateAndKey robot = MakeCertificate();
  const CertificateAndKey stranger = MakeCertificate();
  ASSERT_NO_FATAL_FAILURE(
      Start({"--tls-client-ca", folder_.Write("clients.pem", robot.certificate)}));
  const auto as = [this](const CertificateAndKey& client) {
    return grpc::SslCredentials({own_.certificate, client.key, client.certificate});
  };
  for (int i = 0; i < 3; ++i) {
    const grpc::Status served = Ask(as(robot));
    EXPECT_TRUE(served.ok()) << served.error_message();
    EXPECT_EQ(Ask(as(stranger)).error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(Ask(as({})).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
}

TEST_F(ServerTlsTest, TheClientLibraryShowsItsCertificate) {
  const CertificateAndKey robot = MakeCertificate();
  const CertificateAndKey stranger = MakeCertificate();
  ASSERT_NO_FATAL_FAILURE(
      Start({"--tls-client-ca", folder_.Write("clients.pem", robot.certificate)}));
  const auto ask = [this](const CertificateAndKey& as) {
    auto client = client::Client::Connect(server_->address(),
                                          {.tls_ca_file = folder_ / "cert.pem",
                                           .tls_cert_file = folder_.Write("c.pem", as.certificate),
                                           .tls_key_file = folder_.Write("k.pem", as.key),
                                           .timeout = absl::Seconds(20)});
    return client.ok() ? (*client)->GetServerInfo().status() : client.status();
  };
  EXPECT_TRUE(ask(robot).ok()) << ask(robot);
  EXPECT_EQ(ask(stranger).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace orbserve
