// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server program knows its clients by certificates and by tokens, and takes new ones while it
// serves.

#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "tests/client/temporary_folder.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::CertificateAndKey;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::TemporaryFolder;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// SHA-256 of "token of a", "token of b" and "token-of-a".
constexpr char kHashOfA[] = "0c76df28c3ea2471f22759c4232caa7efb07fd720c4a284700cd51540881d843";
constexpr char kHashOfB[] = "c927e93f6598c0a5c84eaaa5d45e04ad442fea62aec0124b3a287dad45b82467";
constexpr char kHashOfA2[] = "5cb4afafaff2683f8e22484d37dca0e6b2eb98dc5a9869ca031b001597b89253";

class ServerIdentityTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"--backend", "cpu"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto started = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, all);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void StartWithCertificates() {
    Start({"--tls-cert", folder_.Write("cert.pem", own_.certificate), "--tls-key",
           folder_.Write("key.pem", own_.key), "--tls-client-ca",
           folder_.Write("clients.pem", fleet_.certificate)});
  }
  CertificateAndKey Certify(const std::string& common_name, const std::string& names = "") {
    return MakeCertificate(
        {.common_name = common_name, .alternative_names = names, .issuer = &fleet_});
  }
  // A channel with a connection of its own.
  std::shared_ptr<grpc::Channel> Channel(std::shared_ptr<grpc::ChannelCredentials> credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(server_->address(), credentials, arguments);
  }
  std::shared_ptr<grpc::Channel> ChannelAs(const CertificateAndKey& client) {
    return Channel(grpc::SslCredentials({own_.certificate, client.key, client.certificate}));
  }
  using Metadata = std::vector<std::pair<std::string, std::string>>;
  static void Prepare(grpc::ClientContext& context, const Metadata& metadata) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
  }
  static grpc::Status Put(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                          const Metadata& metadata = {}) {
    grpc::ClientContext context;
    Prepare(context, metadata);
    v1::PutReferenceRequest request;
    request.set_name(name);
    *request.mutable_frame() = MakeFrame(160, 120, 1);
    v1::PutReferenceResponse response;
    return v1::Features::NewStub(channel)->PutReference(&context, request, &response);
  }
  static grpc::Status Delete(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                             const Metadata& metadata = {}) {
    grpc::ClientContext context;
    Prepare(context, metadata);
    v1::DeleteReferenceRequest request;
    request.set_name(name);
    v1::DeleteReferenceResponse response;
    return v1::Features::NewStub(channel)->DeleteReference(&context, request, &response);
  }
  static grpc::Status Info(const std::shared_ptr<grpc::Channel>& channel,
                           const Metadata& metadata = {}) {
    grpc::ClientContext context;
    Prepare(context, metadata);
    v1::GetServerInfoResponse info;
    return v1::Features::NewStub(channel)->GetServerInfo(&context, {}, &info);
  }

  const TemporaryFolder folder_;
  const CertificateAndKey own_ = MakeCertificate();
  const CertificateAndKey fleet_ = MakeCertificate({.common_name = "fleet"});
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(ServerIdentityTest, ACertificateDecidesWhoseReferencesTheseAre) {
  ASSERT_NO_FATAL_FAILURE(StartWithCertificates());
  const auto a = ChannelAs(Certify("a"));
  const auto b = ChannelAs(Certify("b"));
  ASSERT_TRUE(Put(a, "map").ok());
  ASSERT_TRUE(Put(a, "map", {{"x-client-id", "a/left"}}).ok());
  EXPECT_EQ(Delete(b, "map").error_code(), grpc::StatusCode::NOT_FOUND);
  for (const char* const id : {"a", "a/left", "cert:a"}) {
    const grpc::Status status = Delete(b, "map", {{"x-client-id", id}});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << id;
    EXPECT_THAT(status.error_message(), HasSubstr("must be b or b/PART"));
  }
  EXPECT_EQ(Delete(a, "map", {{"x-client-id", "a/right"}}).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(Delete(a, "map", {{"x-client-id", "a"}}).ok());
  EXPECT_TRUE(Delete(a, "map", {{"x-client-id", "a/left"}}).ok());
}

TEST_F(ServerIdentityTest, AlternativeNamesGoBeforeTheCommonName) {
  ASSERT_NO_FATAL_FAILURE(StartWithCertificates());
  const auto by_uri = ChannelAs(Certify("a", "DNS:robot.local,URI:spiffe://fleet/robot"));
  EXPECT_TRUE(Info(by_uri, {{"x-client-id", "spiffe://fleet/robot"}}).ok());
  EXPECT_FALSE(Info(by_uri, {{"x-client-id", "a"}}).ok());
  const auto by_dns = ChannelAs(Certify("a", "IP:10.0.0.1,DNS:robot.local"));
  EXPECT_TRUE(Info(by_dns, {{"x-client-id", "robot.local"}}).ok());
  EXPECT_FALSE(Info(by_dns, {{"x-client-id", "a"}}).ok());
  const auto by_name = ChannelAs(Certify("Robot 7", "IP:10.0.0.1"));
  EXPECT_TRUE(Info(by_name, {{"x-client-id", "Robot 7"}}).ok());
}

// grpc::SslServerCredentials() does the same.
TEST_F(ServerIdentityTest, CertificatesAreVerified) {
  ASSERT_NO_FATAL_FAILURE(StartWithCertificates());
  EXPECT_TRUE(Info(ChannelAs(Certify("a"))).ok());
  EXPECT_TRUE(Info(ChannelAs(fleet_)).ok()) << "the authority itself";
  const CertificateAndKey other_fleet = MakeCertificate({.common_name = "fleet"});
  for (const CertificateAndKey& wrong :
       {CertificateAndKey{}, MakeCertificate(),
        MakeCertificate({.common_name = "a", .issuer = &other_fleet}),
        MakeCertificate({.common_name = "a", .end_s = -60, .issuer = &fleet_}),
        MakeCertificate({.common_name = "a", .begin_s = 3600, .issuer = &fleet_})}) {
    EXPECT_EQ(Info(ChannelAs(wrong)).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  EXPECT_EQ(Info(Channel(grpc::InsecureChannelCredentials())).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServerIdentityTest, NewCertificatesAreTakenWithoutAFailedCall) {
  ASSERT_NO_FATAL_FAILURE(StartWithCertificates());
  const CertificateAndKey robot = Certify("a");
  const auto old_channel = ChannelAs(robot);
  ASSERT_TRUE(Info(old_channel).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::atomic<int> served{0};
  const CertificateAndKey next = MakeCertificate({.common_name = "next"});
  const std::string both = own_.certificate + next.certificate;
  std::jthread caller([&] {
    while (!stop) {  // each on a new connection
      const auto channel = Channel(grpc::SslCredentials({both, robot.key, robot.certificate}));
      ++(Info(channel).ok() && Info(old_channel).ok() ? served : failed);
    }
  });
  const auto only_new = [&] {
    return Info(Channel(grpc::SslCredentials({next.certificate, robot.key, robot.certificate})))
        .ok();
  };
  EXPECT_FALSE(only_new());
  // The certificate comes first. Until its key has come, the old ones stay.
  folder_.Write("cert.pem", next.certificate);
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(server_->Log(), "event=reload_failed"); }));
  EXPECT_THAT(server_->Log(), HasSubstr("is not the private key of the certificate"));
  EXPECT_FALSE(only_new());
  folder_.Write("key.pem", next.key);
  EXPECT_TRUE(WaitUntil(only_new));
  EXPECT_THAT(server_->Log(), HasSubstr("event=reloaded files=tls"));
  stop = true;
  caller.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(served, 5);
  // One that has expired is not taken.
  const CertificateAndKey expired = MakeCertificate({.end_s = -60});
  folder_.Write("cert.pem", expired.certificate);
  folder_.Write("key.pem", expired.key);
  EXPECT_TRUE(
      WaitUntil([&] { return absl::StrContains(server_->Log(), "certificate expired at"); }));
  EXPECT_TRUE(only_new());
  // Other clients are known from now on.
  folder_.Write("cert.pem", next.certificate);
  folder_.Write("key.pem", next.key);
  const CertificateAndKey other_fleet = MakeCertificate({.common_name = "other"});
  folder_.Write("clients.pem", other_fleet.certificate);
  ASSERT_EQ(kill(server_->pid(), SIGHUP), 0);
  EXPECT_TRUE(WaitUntil([&] { return !only_new(); }));
  const CertificateAndKey newcomer = MakeCertificate({.common_name = "n", .issuer = &other_fleet});
  EXPECT_TRUE(
      Info(Channel(grpc::SslCredentials({next.certificate, newcomer.key, newcomer.certificate})))
          .ok());
  EXPECT_EQ(server_->Stop(), 0);
}

TEST_F(ServerIdentityTest, OnlyClientsWithATokenAreServed) {
  const std::string tokens = folder_.Write(
      "tokens",
      absl::StrCat("a sha256:", kHashOfA, "\nb sha256:", kHashOfB, " expires=2020-01-01\n"));
  ASSERT_NO_FATAL_FAILURE(Start({"--token-file", tokens}));
  const auto channel = Channel(grpc::InsecureChannelCredentials());
  const std::string valid = "Bearer token of a";
  EXPECT_TRUE(Info(channel, {{"authorization", valid}}).ok());
  EXPECT_TRUE(Info(channel, {{"authorization", "bearer token of a"}}).ok());
  EXPECT_TRUE(Put(channel, "map", {{"authorization", valid}, {"x-client-id", "a/left"}}).ok());
  for (const Metadata& metadata :
       {Metadata{}, Metadata{{"x-client-id", "a"}}, Metadata{{"authorization", "token of a"}},
        Metadata{{"authorization", "Bearer token of b"}},  // expired
        Metadata{{"authorization", "Bearer token of c"}}, Metadata{{"authorization", "Bearer "}},
        Metadata{{"authorization", absl::StrCat("Bearer ", kHashOfA)}},
        Metadata{{"authorization", valid}, {"x-client-id", "b"}}}) {
    for (const grpc::Status& status :
         {Info(channel, metadata), Put(channel, "m", metadata), Delete(channel, "map", metadata)}) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << status.error_message();
      EXPECT_THAT(status.error_message(), Not(HasSubstr("expire")));
    }
    grpc::ClientContext context;
    Prepare(context, metadata);
    const auto stub = v1::Features::NewStub(channel);
    const auto stream = stub->StreamFrames(&context);
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  // Two that say different things say nothing.
  EXPECT_EQ(Info(channel, {{"authorization", valid}, {"authorization", valid}}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  // Probes need no token.
  auto client = client::Client::Connect(server_->address(), {});
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(*(*client)->CheckHealth(), client::Health::kServing);
  EXPECT_EQ((*client)->GetServerInfo().status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(ServerIdentityTest, CallersWithoutAValidTokenAreLoggedAndCounted) {
  const std::string tokens = folder_.Write(
      "tokens",
      absl::StrCat("a sha256:", kHashOfA, "\nb sha256:", kHashOfB, " expires=2020-01-01\n"));
  ASSERT_NO_FATAL_FAILURE(Start({"--token-file", tokens}));
  const auto channel = Channel(grpc::InsecureChannelCredentials());
  // More than are written. They leave the lines of other causes alone.
  for (int i = 0; i < 31; ++i) EXPECT_FALSE(Info(channel).ok());
  for (const Metadata& metadata :
       {Metadata{{"authorization", "Bearer token of c"}},
        Metadata{{"authorization", "Bearer token of b"}},
        Metadata{{"authorization", "Bearer token of a"}, {"x-client-id", "b"}}}) {
    EXPECT_FALSE(Info(channel, metadata).ok());
  }
  EXPECT_TRUE(Info(channel, {{"authorization", "Bearer token of a"}}).ok());
  const std::string page = server_->HttpGet("/metrics");
  ASSERT_EQ(server_->Stop(), 0);
  const std::string log = server_->Log();
  for (const char* line : {"info event=denied cause=no_token address=127.0.0.1 left_out=0\n",
                           "info event=denied cause=wrong_token address=127.0.0.1 left_out=0\n",
                           "cause=expired_token address=127.0.0.1 detail=token:b left_out=0\n",
                           "cause=wrong_name address=127.0.0.1 detail=token:a left_out=0\n"}) {
    EXPECT_THAT(log, HasSubstr(line));
  }
  for (const char* series :
       {"{cause=\"no_token\"} 31\n", "{cause=\"wrong_token\"} 1\n", "{cause=\"expired_token\"} 1\n",
        "{cause=\"wrong_name\"} 1\n", "{cause=\"handshake\"} 0\n"}) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("orbserve_denied_total", series)));
  }
}

#if ORBSERVE_TEST_GRPC_GUARD  // without it gRPC makes the handshakes
TEST_F(ServerIdentityTest, ClientsWithoutAValidCertificateAreLoggedAndCounted) {
  ASSERT_NO_FATAL_FAILURE(StartWithCertificates());
  for (const CertificateAndKey& wrong :
       {CertificateAndKey{}, MakeCertificate(),
        MakeCertificate({.common_name = "a", .end_s = -60, .issuer = &fleet_})}) {
    EXPECT_FALSE(Info(ChannelAs(wrong)).ok());
  }
  EXPECT_FALSE(Info(Channel(grpc::InsecureChannelCredentials())).ok());
  for (const char* cause :
       {"no_certificate", "wrong_certificate", "expired_certificate", "handshake"}) {
    EXPECT_GE(SumOfSeries(server_->HttpGet("/metrics"),
                          absl::StrCat("orbserve_denied_total{cause=\"", cause, "\"}")),
              1)
        << cause;
    EXPECT_TRUE(WaitUntil([&] {
      return absl::StrContains(
          server_->Log(), absl::StrCat("info event=denied cause=", cause, " address=127.0.0.1 "));
    })) << cause;
  }
}
#endif

TEST_F(ServerIdentityTest, ReferencesAndCallsAreOnRecord) {
  ASSERT_NO_FATAL_FAILURE(
      Start({"--token-file", folder_.Write("tokens", absl::StrCat("a sha256:", kHashOfA, "\n")),
             "--log-level", "debug"}));
  const auto channel = Channel(grpc::InsecureChannelCredentials());
  const Metadata of_a = {{"authorization", "Bearer token of a"}};
  ASSERT_TRUE(Put(channel, "secret name", of_a).ok());
  ASSERT_TRUE(Delete(channel, "secret name", of_a).ok());
  ASSERT_FALSE(Delete(channel, "secret name", of_a).ok());
  ASSERT_FALSE(Info(channel).ok());
  const auto stub = v1::Features::NewStub(channel);
  grpc::ClientContext context;
  Prepare(context, of_a);
  const auto stream = stub->StreamFrames(&context);
  stream->WritesDone();
  EXPECT_FALSE(stream->Finish().ok());
  ASSERT_EQ(server_->Stop(), 0);
  const std::string log = server_->Log();
  const std::string caller = "client=token:a address=127.0.0.1";
  EXPECT_THAT(log, HasSubstr(absl::StrCat("info event=reference_put ", caller, " version=1 ")));
  EXPECT_THAT(log, HasSubstr(absl::StrCat("info event=reference_deleted ", caller, " version=1 ")));
  EXPECT_THAT(log,
              Not(HasSubstr("event=reference_put client=token:a address=127.0.0.1 version=2")));
  EXPECT_THAT(log,
              Not(HasSubstr("event=reference_deleted client=token:a address=127.0.0.1 version=2")));
  EXPECT_THAT(log, ContainsRegex("debug event=call method=PutReference code=OK seconds=[0-9.]+ " +
                                 caller + "\n"));
  EXPECT_THAT(log, ContainsRegex("event=call method=DeleteReference code=OK seconds=[0-9.]+ " +
                                 caller + "\n"));
  EXPECT_THAT(log,
              ContainsRegex("event=call method=DeleteReference code=NOT_FOUND seconds=[0-9.]+ " +
                            caller + "\n"));
  EXPECT_THAT(log, ContainsRegex("event=call method=GetServerInfo code=UNAUTHENTICATED "
                                 "seconds=[0-9.]+ client=- address=127.0.0.1\n"));
  EXPECT_THAT(
      log, ContainsRegex("event=call method=StreamFrames code=INVALID_ARGUMENT seconds=[0-9.]+ " +
                         caller + "\n"));
}

TEST_F(ServerIdentityTest, ATokenThatIsTakenAwayEndsTheStreamsOfItsClient) {
  const std::string a = absl::StrCat("a sha256:", kHashOfA, "\n");
  const std::string b = absl::StrCat("b sha256:", kHashOfB, "\n");
  const std::string tokens = folder_.Write("tokens", a + b);
  ASSERT_NO_FATAL_FAILURE(Start({"--token-file", tokens}));
  const auto channel = Channel(grpc::InsecureChannelCredentials());
  const auto stub = v1::Features::NewStub(channel);
  grpc::ClientContext context_a;
  grpc::ClientContext context_b;
  Prepare(context_a, {{"authorization", "Bearer token of a"}});
  Prepare(context_b, {{"authorization", "Bearer token of b"}});
  const auto stream_a = stub->StreamFrames(&context_a);
  const auto stream_b = stub->StreamFrames(&context_b);
  v1::StreamFramesRequest request;
  v1::StreamFramesResponse response;
  request.mutable_open();
  for (const auto& stream : {stream_a.get(), stream_b.get()}) {
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
  }
  folder_.Write("tokens", "nonsense");
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(server_->Log(), "event=reload_failed"); }));
  const auto reload_failed = [&] {
    return SumOfSeries(server_->HttpGet("/metrics"), "orbserve_reload_failed");
  };
  EXPECT_EQ(reload_failed(), 1);
  EXPECT_TRUE(Info(channel, {{"authorization", "Bearer token of a"}}).ok()) << "the old ones stay";
  folder_.Write("tokens", b);
  EXPECT_FALSE(stream_a->Read(&response));
  EXPECT_EQ(stream_a->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Info(channel, {{"authorization", "Bearer token of a"}}).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(reload_failed(), 0);
  *request.mutable_frame() = MakeFrame(160, 120, 1);
  ASSERT_TRUE(stream_b->Write(request));
  ASSERT_TRUE(stream_b->Read(&response));
  EXPECT_EQ(response.result().status().code(), 0);
  stream_b->WritesDone();
  EXPECT_TRUE(stream_b->Finish().ok());
  // A file that was written empty by mistake.
  EXPECT_THAT(server_->Log(), Not(HasSubstr("event=no_tokens")));
  folder_.Write("tokens", "");
  EXPECT_TRUE(
      WaitUntil([&] { return absl::StrContains(server_->Log(), "warning event=no_tokens"); }));
}

TEST_F(ServerIdentityTest, TheClientLibrarySendsItsToken) {
  ASSERT_NO_FATAL_FAILURE(
      Start({"--token-file", folder_.Write("tokens", absl::StrCat("a sha256:", kHashOfA2, "\n"))}));
  const auto ask = [&](const std::string& token) {
    auto client =
        client::Client::Connect(server_->address(), {.token_file = folder_.Write("token", token)});
    if (!client.ok()) return client.status();
    const absl::Status status = (*client)->GetServerInfo().status();
    const auto stream = (*client)->OpenStream({});
    EXPECT_EQ(stream.status().code(), status.code());
    return status;
  };
  EXPECT_TRUE(ask("token-of-a\nanything else\n").ok());
  EXPECT_EQ(ask("token-of-b\n").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(ask("two words\n").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client::Client::Connect("robots.example:50051",
                                    {.token_file = folder_.Write("token", "token-of-a")})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument)
      << "it would be sent in plain text";
}

}  // namespace
}  // namespace orbserve
