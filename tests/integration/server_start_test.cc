// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The server program refuses to start with an exit code that says whether it would fail again, and
// with one line of our own. --check-config finds the same.

#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/server.h"
#include "tests/client/temporary_folder.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::CertificateAndKey;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectRefused(std::vector<std::string> arguments, const std::string& what) {
  for (const bool check_only : {false, true}) {
    if (check_only) arguments.push_back("--check-config");
    const ServerRun run = RunServer(arguments);
    EXPECT_EQ(run.code, 2) << what << ": " << run.text;
    EXPECT_THAT(run.text, HasSubstr(what));
    EXPECT_THAT(run.text, StartsWith("orbserve-server: "));
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << run.text;
  }
}

TEST(ServerStartTest, AddressesThatCannotBeReadAreWrongConfiguration) {
  for (const char* address :
       {"", "nonsense", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:http", ":50051",
        "300.1.1.1:50051", "1.2.3:50051", "[::1:50051", "::1:50051", "[::g]:50051", "a b:50051",
        "http://localhost:50051"}) {
    ExpectRefused({"--listen", address}, "listen must be");
  }
  ExpectRefused({"--listen", "unix:"}, "name of a Unix socket");
  for (const char* address :
       {"nonsense", "127.0.0.1:70000", "300.1.1.1:9464", "unix:/tmp/x", ":x"}) {
    ExpectRefused({"--http-listen", address}, address);
  }
}

TEST(ServerStartTest, NumbersThatAreNoneAreNamedWithWhatIsAllowed) {
  for (const char* flag : {"--devices", "--threads", "--max-batch", "--max-queue-delay-us",
                           "--gpu-memory-limit", "--device-deadline-ms", "--drain-timeout-ms"}) {
    for (const char* value : {"-1", "1.5", "many", "99999999999999999999"}) {
      const ServerRun run = RunServer({flag, value, "--check-config"});
      EXPECT_EQ(run.code, 2) << flag << " " << value;
      EXPECT_THAT(run.text, HasSubstr(std::string(flag) + ": must be a whole number in ["));
      EXPECT_THAT(run.text, HasSubstr(std::string("; got ") + value));
    }
  }
}

TEST(ServerStartTest, FlagsThatNameNothingAreRefused) {
  for (const char* flag :
       {"--config", "--token-file", "--tls-cert", "--tls-key", "--tls-client-ca"}) {
    ExpectRefused({flag, ""}, absl::StrCat(flag, ": must name a file; got nothing"));
  }
  ExpectRefused({"--devices", "0,"}, "--devices: must be a whole number in [0, 255]; got ");
}

TEST(ServerStartTest, ArgumentsThatAreNotKnownAreNamed) {
  ExpectRefused({"--confg", "x"}, "there is no option --confg; did you mean --config?");
  ExpectRefused({"--listn=x"}, "there is no option --listn=x; did you mean --listen?");
  ExpectRefused({"--colour"}, "there is no option --colour; --help lists them");
  ExpectRefused({"server.textproto"},
                "nothing is known of the argument server.textproto; --config");
  ExpectRefused({"--listen", "a:1", "--listen", "a:2"}, "--listen: At Most 1 required");
  for (const std::vector<std::string>& json :
       {std::vector<std::string>{"--log-format", "json"}, {"--log-format=json"}}) {
    std::vector<std::string> arguments = {"--confg", "x"};
    arguments.insert(arguments.end(), json.begin(), json.end());
    EXPECT_THAT(RunServer(arguments).text,
                AllOf(StartsWith("{\"time\":\""), HasSubstr("\"exit_code\":2,")));
  }
}

TEST(ServerStartTest, AConfigurationThatIsNotPrintedWholeIsAFailure) {
  const std::string command =
      absl::StrCat(ORBSERVE_SERVER_PROGRAM, " --check-config > /dev/full 2> /dev/null");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(ServerStartTest, ConfigurationsThatMayBeMeantAreWarnedOf) {
  const TemporaryFolder folder;
  const CertificateAndKey late = MakeCertificate({.begin_s = 3600, .end_s = 7200});
  const std::vector<std::string> arguments = {
      "--backend",
      "cpu",
      "--listen",
      "192.0.2.1:1",
      "--http-listen",
      "",
      "--tls-cert",
      folder.Write("late.pem", late.certificate),
      "--tls-key",
      folder.Write("late.key", late.key),
      "--token-file",
      folder.Write("tokens", "a sha256:" + std::string(64, 'a') + "\n"),
      "--config",
      folder.Write("config", R"(shares { owner: "token:a" weight: 2 }
                                            shares { owner: "token:b" weight: 2 })")};
  for (const bool check_only : {false, true}) {
    SCOPED_TRACE(check_only);
    std::vector<std::string> all = arguments;
    if (check_only) all.push_back("--check-config");
    const ServerRun run = RunServer(all);
    EXPECT_EQ(run.code, check_only ? 0 : 1) << run.text;
    for (const char* event : {"event=certificate_not_valid_yet valid_from=20",
                              "event=owner_unknown owner=token:b message="}) {
      EXPECT_THAT(run.text, HasSubstr(event));
    }
    EXPECT_THAT(run.text, ::testing::Not(HasSubstr("owner=token:a")));
  }
}

TEST(ServerStartTest, AddressesThatCanBeReadAreAccepted) {
  for (const char* address : {"127.0.0.1:0", "0.0.0.0:50051", "localhost:50051", "[::]:50051",
                              "[::1]:1", "[fe80::1%eth0]:1", "robot-7.local:65535",
                              "unix:/run/orbserve.sock", "unix-abstract:orbserve"}) {
    const ServerRun run = RunServer({"--check-config", "--insecure", "--listen", address});
    EXPECT_EQ(run.code, 0) << run.text;
  }
  for (const char* address : {"", ":9464", "127.0.0.1:0"}) {
    const ServerRun run = RunServer({"--check-config", "--http-listen", address});
    EXPECT_EQ(run.code, 0) << run.text;
  }
}

// Returns true if sockets of IPv6 can be had here: containers often have none.
bool HasIpv6() {
  const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool bound =
      probe >= 0 && bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (probe >= 0) close(probe);
  return bound;
}

// Returns true if the name is known here: a machine without /etc/hosts may not know its own.
bool HasLocalhost() {
  addrinfo* found = nullptr;
  if (getaddrinfo("localhost", nullptr, nullptr, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

TEST(ServerStartTest, PlainTextForOtherMachinesMustBeAskedFor) {
  const TemporaryFolder folder;
  const CertificateAndKey own = MakeCertificate();
  const std::string cert = folder.Write("cert.pem", own.certificate);
  const std::string key = folder.Write("key.pem", own.key);
  const std::string tokens = folder.Write("tokens", "");
  for (const char* address : {"0.0.0.0:0", "[::]:0", "192.0.2.7:0", "robot-7.local:0"}) {
    ExpectRefused({"--listen", address}, "plain text to other machines");
    ExpectRefused({"--listen", address, "--token-file", tokens, "--insecure"}, "tokens are sent");
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--insecure"},
          {"--tls-cert", cert, "--tls-key", key, "--token-file", tokens}}) {
      std::vector<std::string> arguments = {"--check-config", "--listen", address};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const ServerRun run = RunServer(arguments);
      EXPECT_EQ(run.code, 0) << run.text;
    }
  }
  for (const char* address : {"127.0.0.1:0", "127.1.2.3:0", "localhost:0", "[::1]:0",
                              "unix:/run/orbserve.sock", "unix-abstract:orbserve"}) {
    const ServerRun run =
        RunServer({"--check-config", "--listen", address, "--token-file", tokens});
    EXPECT_EQ(run.code, 0) << run.text;
  }
}

TEST(ServerStartTest, TokensThatCannotBeReadAreWrongConfiguration) {
  const TemporaryFolder folder;
  ExpectRefused({"--token-file", folder / "none"}, "none: cannot be read");
  ExpectRefused({"--token-file", folder.Write("tokens", "# ours\nrobot-7 secret\n")},
                "tokens:2: the name must be followed by sha256:");
}

TEST(ServerStartTest, EveryKindOfAddressIsServed) {
  const TemporaryFolder folder;
  const bool has_ipv6 = HasIpv6();
  const struct {
    std::string listen;
    std::string connect;  // a port follows where this ends with ':'
    bool can_be_had = true;
  } rows[] = {
      {"127.0.0.1:0", "127.0.0.1:"},
      {"0.0.0.0:0", "127.0.0.1:"},
      {"localhost:0", "localhost:", HasLocalhost()},
      {"[::1]:0", "[::1]:", has_ipv6},
      {"[::]:0", "[::1]:", has_ipv6},
      {"[::]:0", "127.0.0.1:", has_ipv6},
      {absl::StrCat("unix:", folder.path(), "/socket"),
       absl::StrCat("unix:", folder.path(), "/socket")},
      {absl::StrCat("unix-abstract:orbserve-test-", getpid()),
       absl::StrCat("unix-abstract:orbserve-test-", getpid())},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.listen);
    if (!row.can_be_had) continue;
    server::Config config;
    config.set_listen(row.listen);
    config.set_http_listen("");
    config.mutable_backend()->set_name("cpu");
    const auto server = Server::Create(config);
    ASSERT_TRUE(server.ok()) << server.status();
    const bool has_port = row.connect.back() == ':';
    EXPECT_EQ((*server)->port() > 0, has_port);
    const auto client = client::Client::Connect(
        has_port ? absl::StrCat(row.connect, (*server)->port()) : row.connect, {});
    ASSERT_TRUE(client.ok()) << client.status();
    const auto health = (*client)->CheckHealth();
    ASSERT_TRUE(health.ok()) << health.status();
    EXPECT_EQ(*health, client::Health::kServing);
  }
}

TEST(ServerStartTest, CertificatesThatCannotBeUsedAreWrongConfiguration) {
  const TemporaryFolder folder;
  const CertificateAndKey own = MakeCertificate();
  const std::string cert = folder.Write("cert.pem", own.certificate);
  const std::string key = folder.Write("key.pem", own.key);
  const std::string other_key = folder.Write("other_key.pem", MakeCertificate().key);
  const std::string none = folder / "none.pem";
  ExpectRefused({"--tls-cert", none, "--tls-key", key}, "none.pem: cannot be read: No such file");
  ExpectRefused({"--tls-cert", cert, "--tls-key", none}, "none.pem: cannot be read: No such file");
  ExpectRefused({"--tls-cert", cert, "--tls-key", key, "--tls-client-ca", none}, "none.pem");
  ExpectRefused({"--tls-cert", folder.path(), "--tls-key", key}, "Is a directory");
  ExpectRefused({"--tls-cert", key, "--tls-key", key}, "key.pem: is not a PEM file");
  const CertificateAndKey expired = MakeCertificate({.end_s = -60});
  ExpectRefused({"--tls-cert", folder.Write("expired.pem", expired.certificate), "--tls-key",
                 folder.Write("expired_key.pem", expired.key)},
                "expired.pem: the certificate expired at ");
  ExpectRefused({"--tls-cert", cert, "--tls-key", cert}, "cert.pem: is not a PEM file");
  ExpectRefused({"--tls-cert", folder.Write("empty", ""), "--tls-key", key}, "is not a PEM file");
  ExpectRefused({"--tls-cert", cert, "--tls-key", other_key},
                "other_key.pem: is not the private key of the certificate in tls.cert_file");
  const ServerRun good = RunServer({"--check-config", "--tls-cert", cert, "--tls-key", key});
  EXPECT_EQ(good.code, 0) << good.text;
}

TEST(ServerStartTest, ADeviceNamedTwiceIsWrongConfiguration) {
  for (const char* backend : {"auto", "cuda", "cpu"}) {
    ExpectRefused({"--backend", backend, "--devices", "1,0,1"},
                  "backend.devices must name each device once; got 1 twice");
  }
}

TEST(ServerStartTest, AnAddressInUseMayBeFreeTheNextTime) {
  const int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(holder, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(holder, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(holder, 1), 0);
  ASSERT_EQ(getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string in_use = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  const std::vector<std::string> arguments = {"--listen",  in_use, "--http-listen", "",
                                              "--backend", "cpu",  "--log-level",   "error"};
  const ServerRun text = RunServer(arguments);
  std::vector<std::string> with_json = arguments;
  with_json.insert(with_json.end(), {"--log-format", "json"});
  const ServerRun json = RunServer(with_json);
  close(holder);
  EXPECT_THAT(text.text,
              HasSubstr(absl::StrCat("critical event=fatal exit_code=1 message=\"cannot serve on ",
                                     in_use)));
  EXPECT_THAT(
      json.text,
      AllOf(StartsWith("{\"time\":\""),
            HasSubstr(absl::StrCat("\"event\":\"fatal\",\"exit_code\":1,\"message\":\"cannot "
                                   "serve on ",
                                   in_use))));
  for (const ServerRun& run : {text, json}) {
    EXPECT_EQ(run.code, 1) << run.text;
    // Nothing of gRPC's own before or behind it.
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << run.text;
  }
}

TEST(ServerStartTest, AnHttpPortThatOthersReachIsWarnedOf) {
  for (const auto& [http_listen, is_open] :
       std::vector<std::pair<std::string, bool>>{{":0", true},
                                                 {"0.0.0.0:0", true},
                                                 {"[::]:0", true},
                                                 {"127.0.0.1:0", false},
                                                 {"localhost:0", false},
                                                 {"[::1]:0", false},
                                                 {"", false}}) {
    // No machine has the address of the service: the program ends.
    const ServerRun run = RunServer({"--listen", "192.0.2.1:1", "--insecure", "--http-listen",
                                     http_listen, "--backend", "cpu"});
    EXPECT_EQ(run.code, 1) << run.text;
    EXPECT_EQ(absl::StrContains(run.text, absl::StrCat("warning event=http_open_to_others "
                                                       "http_listen=",
                                                       http_listen, " ")),
              is_open)
        << run.text;
  }
}

TEST(ServerStartTest, AWrongConfigurationIsALineOfJsonWhereTheLogIs) {
  const std::vector<std::string> arguments = {"--log-format", "json", "--listen", "nonsense"};
  const ServerRun run = RunServer(arguments);
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, AllOf(StartsWith("{\"time\":\""),
                              HasSubstr("\"exit_code\":2,\"message\":\"listen must be ")));
}

TEST(ServerStartTest, AUnixSocketIsServedByOneServer) {
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  const auto start = [](const std::string& listen) {
    server::Config config;
    config.set_listen(listen);
    config.set_http_listen("");
    config.mutable_backend()->set_name("cpu");
    return Server::Create(config);
  };
  const auto serves = [](const std::string& address) {
    const auto client = client::Client::Connect(address, {});
    return client.ok() && (*client)->CheckHealth().ok();
  };
  // A socket and a lock that a process left behind when it was killed.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(dead);
  folder.Write("socket.lock", "");

  for (const std::string& listen :
       {absl::StrCat("unix:", path), absl::StrCat("unix-abstract:", path)}) {
    SCOPED_TRACE(listen);
    auto first = start(listen);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = start(listen);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(second.status().message()),
                StartsWith(absl::StrCat("cannot serve on ", listen)));
    EXPECT_TRUE(serves(listen));
    first->reset();
    const auto next = start(listen);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_TRUE(serves(listen));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ServerStartTest, EveryLineOfTheLogHasItsForm) {
  const auto server =
      ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu", "--log-level", "debug"});
  ASSERT_TRUE(server.ok()) << server.status();
  // Text that is not UTF-8, about which protobuf itself would write a line in a form of its own.
  v1::ExtractRequest request;
  request.mutable_frame();
  request.mutable_pipeline()->set_preset("@@@@");
  std::string bytes = request.SerializeAsString();
  std::replace(bytes.begin(), bytes.end(), '@', '\xff');
  grpc::GenericStub stub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer message(&slice, 1);
  grpc::ByteBuffer answer;
  std::promise<grpc::Status> status;
  stub.UnaryCall(&context, "/orbserve.v1.Features/Extract", {}, &message, &answer,
                 [&](grpc::Status ended) { status.set_value(std::move(ended)); });
  EXPECT_FALSE(status.get_future().get().ok());
  // The log has a thread of its own.
  std::string log;
  EXPECT_TRUE(WaitUntil([&] {
    log = (*server)->Log();
    return absl::StrContains(log, "event=failed what=Extract client=") && absl::EndsWith(log, "\n");
  })) << log;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    EXPECT_THAT(std::string(line), AllOf(StartsWith("20"), HasSubstr(" event=")));
  }
}

}  // namespace
}  // namespace orbserve
