// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/edge/tls_handshake.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "server/process/file_descriptor.h"
#include "tests/server/edge/tls_client.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::CertificateAndKey;
using ::orbserve::testing::FirstMessageOfTls;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::ServerContext;
using ::orbserve::testing::ShakeHands;

class TlsHandshakeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // as the program does
    std::array<int, 2> ends = {-1, -1};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    server_.Reset(ends[0]);
    client_.Reset(ends[1]);
    fcntl(server_.get(), F_SETFL, O_NONBLOCK);
  }
  void Begin(const std::string& client_ca = "") {
    context_ = ServerContext(own_, client_ca);
    ASSERT_NE(context_, nullptr);
    session_ = BeginHandshake(context_.get(), server_.get());
    ASSERT_NE(session_, nullptr);
  }
  // The server's part, until there is nothing to wait for.
  HandshakeProgress Finish() {
    for (;;) {
      const HandshakeProgress progress = ContinueHandshake(session_.get(), &failure_);
      if (progress != HandshakeProgress::kWaits) return progress;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void Say(const std::string& bytes) {
    EXPECT_EQ(write(client_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  const CertificateAndKey own_ = MakeCertificate();
  FileDescriptor server_;
  FileDescriptor client_;
  std::shared_ptr<ssl_ctx_st> context_;
  TlsSession session_;
  HandshakeFailure failure_;
};

TEST_F(TlsHandshakeTest, LeavesWhatComesAfterTheHandshakeInTheSocket) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  bool is_served = false;
  std::thread client([&] { is_served = ShakeHands(client_.get(), {}, "after it"); });
  EXPECT_EQ(Finish(), HandshakeProgress::kDone);
  client.join();
  EXPECT_TRUE(is_served);
  EXPECT_EQ(SSL_has_pending(session_.get()), 0);
  std::array<char, 16> bytes;
  ASSERT_EQ(SSL_read(session_.get(), bytes.data(), bytes.size()), 8);
  EXPECT_EQ(std::string(bytes.data(), 8), "after it");
}

TEST_F(TlsHandshakeTest, WaitsForTheClient) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  EXPECT_EQ(ContinueHandshake(session_.get(), &failure_), HandshakeProgress::kWaits);
  const std::string hello = FirstMessageOfTls();
  Say(hello.substr(0, 100));
  EXPECT_EQ(ContinueHandshake(session_.get(), &failure_), HandshakeProgress::kWaits);
  Say(hello.substr(100));
  EXPECT_EQ(ContinueHandshake(session_.get(), &failure_), HandshakeProgress::kWaits);
  client_.Reset();
  EXPECT_EQ(ContinueHandshake(session_.get(), &failure_), HandshakeProgress::kFailed);
  EXPECT_EQ(failure_.cause, HandshakeFailure::Cause::kEnded);
}

TEST_F(TlsHandshakeTest, RefusesWhatIsNoTls) {
  ASSERT_NO_FATAL_FAILURE(Begin());
  Say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(ContinueHandshake(session_.get(), &failure_), HandshakeProgress::kFailed);
  EXPECT_EQ(failure_.cause, HandshakeFailure::Cause::kOther);
  EXPECT_EQ(failure_.text, "wrong version number");
}

TEST_F(TlsHandshakeTest, WithAuthoritiesOnlyTheirClientsComeToTheEnd) {
  const CertificateAndKey robot = MakeCertificate();
  for (const CertificateAndKey& client : {robot, MakeCertificate(), CertificateAndKey{}}) {
    ASSERT_NO_FATAL_FAILURE(SetUp());
    ASSERT_NO_FATAL_FAILURE(Begin(robot.certificate));
    std::thread shaking([&] { ShakeHands(client_.get(), client); });
    EXPECT_EQ(Finish(), client.certificate == robot.certificate ? HandshakeProgress::kDone
                                                                : HandshakeProgress::kFailed);
    shaking.join();
  }
}

TEST_F(TlsHandshakeTest, SaysWhyAClientIsRefused) {
  using Cause = HandshakeFailure::Cause;
  const CertificateAndKey fleet = MakeCertificate({.common_name = "fleet"});
  for (const auto& [client, cause, text] :
       std::vector<std::tuple<CertificateAndKey, Cause, std::string>>{
           {{}, Cause::kNoCertificate, "peer did not return a certificate"},
           {MakeCertificate(), Cause::kWrongCertificate, "self-signed certificate"},
           {MakeCertificate({.end_s = -60, .issuer = &fleet}), Cause::kExpiredCertificate,
            "certificate has expired"}}) {
    ASSERT_NO_FATAL_FAILURE(SetUp());
    ASSERT_NO_FATAL_FAILURE(Begin(fleet.certificate));
    std::thread shaking([&, &own = client] { ShakeHands(client_.get(), own); });
    EXPECT_EQ(Finish(), HandshakeProgress::kFailed);
    shaking.join();
    EXPECT_EQ(failure_.cause, cause) << text;
    EXPECT_EQ(failure_.text, text);
  }
}

}  // namespace
}  // namespace orbserve
