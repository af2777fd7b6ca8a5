// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve`: behaviour that its commands share, and what it says of wrong usage and of
// failures.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decode/made_jpegs.h"
#include "tests/integration/cli_fixture.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::MakeCertificate;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CliTest, OutputThatIsLostIsAFailure) {
  const std::string in = WriteScenes(2);
  stdout_path_ = "/dev/full";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"extract", in},
        {"extract", "--format", "csv", in},
        {"extract", "--json", in},
        {"stream", "--json", in},
        {"match", "--json", in + "/0.pgm", in + "/1.pgm"},
        {"info"}}) {
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 1) << arguments[0];
    EXPECT_THAT(run.err, HasSubstr("orbserve: standard output is not complete")) << arguments[0];
  }
}

TEST_F(CliTest, WrongUsageIsTwoAndAnUnreachableServerThree) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const std::string empty = folder_ / "empty";
  fs::create_directory(empty);
  const std::string unknown_key = folder_.Write("p.textproto", "levels: 3");
  const std::string bad_option = folder_.Write("q.textproto", "pyramid { levels: 77 }");
  for (const std::vector<std::string>& usage : std::vector<std::vector<std::string>>{
           {},
           {"nothing"},
           {"extract"},
           {"extract", "--no-such-option", image},
           {"extract", "--format", "xml", "--out", folder_ / "o", image},
           {"extract", "--format", "hdf5", image},
           {"bench", "--percentile", "100", image},
           {"bench", "--rate", "1,x", image},
           {"bench", "--rate", "10", "--concurrency", "2", image},
           {"bench", "--concurrency", "1.5", image},
           {"bench", "--max-p99", "10", "--rate", "10", image},
           {"bench", "--arrivals", "constant", image},
           {"bench", "--metrics", "127.0.0.1:1", image},
           {"extract", "--format", "npz", image},
           {"extract", "--resume", image},
           {"extract", "--shard", "2/2", image},
           {"extract", "--max-features", "0", image},
           {"extract", "--pipeline", "no-such-preset", image},
           {"extract", "--pipeline", unknown_key, image},
           {"extract", "--pipeline", bad_option, image},
           {"extract", "--mask", folder_ / "none.png", image},
           {"extract", "--backend", "tpu", image},
           {"extract", "--server", "127.0.0.1:1", "--threads", "2", image},
           {"extract", "--tls-ca", "x.pem", image},
           {"extract", "--out", folder_ / "o", image, image},
           {"extract", "--draw", folder_ / "o", image, image},
           {"extract", empty},
           {"extract", empty, empty},
           {"match", image},
           {"match", image, image, image},
           {"match", "--reference", "r", image, image},
           {"match", "--ratio", "7", image, image},
           {"stream"},
           {"stream", "--simulate", image, image},
           {"stream", "--simulate", image, "--size", "640"},
           {"stream", "--simulate", image, "--size", "8x8"},
           {"stream", "--size", "640x480", image},
           {"stream", "--camera-format", "yuyv", image},
           {"stream", "--frames", "0", image},
           {"stream", "--track-levels", "3", image},
           {"stream", "--track", "--track-levels", "12", image},
           {"stream", "--track", "--pipeline", "orb", image},
           {"stream", "--track", "--match-keyframe", image},
           {"stream", "--keyframe-lost-percent", "30", image},
           {"stream", "--drop-policy", "all", image},
           {"stream", "rtsp://camera/live"},
           {"info", "--server", ""},
           {"info", "--server="},
           {"health", "--server", ""},
           {"extract", "--mask", "", image},
           {"extract", "--shard", "", image},
           {"extract", "--out", "", image},
           {"extract", ""},
           {"match", image, ""},
           {"stream", "--reference", "", image},
           {"reference", "delete", ""},
           {"reference"}}) {
    const Outcome run = Run(usage);
    EXPECT_EQ(run.code, 2) << absl::StrCat(usage.size()) << ": " << run.err;
    EXPECT_FALSE(run.err.empty());
  }
  for (const std::vector<std::string>& far :
       std::vector<std::vector<std::string>>{{"extract", image},
                                             {"match", image, image},
                                             {"stream", "--reconnect", "0", image},
                                             {"reference", "list"},
                                             {"info"},
                                             {"health"}}) {
    std::vector<std::string> arguments = far;
    arguments.insert(arguments.end(), {"--server", "127.0.0.1:1"});
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 3) << far[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr("127.0.0.1:1"));
  }
}

// No output replaces an input.
TEST_F(CliTest, OutputsThatWouldReplaceInputsAreWrongUsage) {
  const std::string in = folder_ / "in";
  const std::string image = folder_.Write("in/a.pgm", Scene(0));
  const std::string picture = folder_.Write("in/a.pgm.png", Scene(2));
  const std::string features = folder_.Write("in/a.pgm.npz", Scene(4));
  const auto before = Files(in);
  for (const std::vector<std::string>& usage :
       std::vector<std::vector<std::string>>{{"extract", "--draw", in, in},
                                             {"extract", "--draw", in, image, picture},
                                             {"extract", "--draw", in, "--mask", picture, image},
                                             {"extract", "--out", in, image, features},
                                             {"stream", "--draw", in, in},
                                             {"match", "--draw", picture, image, picture},
                                             {"match", "--draw", picture, picture, image}}) {
    const Outcome run = Run(usage);
    EXPECT_EQ(run.code, 2) << usage[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(in));
    EXPECT_TRUE(Files(in) == before) << usage[0];
  }
  EXPECT_TRUE(Succeeded(Run({"extract", "--out", in, "--draw", folder_ / "d", image, picture})));
}

// Options that a server refuses are wrong usage in every command, and reported once.
TEST_F(CliTest, OptionsThatTheServerRefusesAreWrongUsage) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const std::string mask = folder_.Write("m.pgm", Scene(0));
  const std::string border = folder_.Write("b.textproto", "select { border_px: 3 }");
  const std::string none = folder_.Write("n.textproto", "describe { descriptor_type: 1 }");
  const std::string low =
      folder_.Write("l.textproto", "detect { detector: DETECTOR_HARRIS fast_threshold_low: 7 }");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"extract", image, mask},
                                             {"extract", image, mask, "--mask", mask},
                                             {"match", image, image},
                                             {"stream", image},
                                             {"reference", "put", "a", image}}) {
    for (const std::string& pipeline : {border, low, none}) {
      // These commands need no descriptors.
      if (pipeline == none && (command[0] == "extract" || command[0] == "stream")) continue;
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--pipeline", pipeline});
      const Outcome run = RunWithServer(arguments);
      EXPECT_EQ(run.code, 2) << command[0] << " " << pipeline << ": " << run.err;
      EXPECT_EQ(run.out, "");
      EXPECT_THAT(run.err, AllOf(HasSubstr("BAD_OPTIONS: "), Not(HasSubstr("a.pgm"))))
          << command[0];
    }
  }
}

// An image that a server refuses is not wrong usage: the other images are done.
TEST_F(CliTest, AnImageThatTheServerDoesNotSupportIsAFailedInput) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  std::string cmyk;
  for (const MadeJpeg& made : MakeJpegs()) {
    if (made.name == "cmyk") cmyk.assign(made.bytes.begin(), made.bytes.end());
  }
  ASSERT_FALSE(cmyk.empty());
  const std::string odd = folder_.Write("cmyk.jpg", cmyk);
  const Outcome extract = RunWithServer({"extract", "--json", "--max-features", "50", odd, image});
  EXPECT_EQ(extract.code, 1);
  EXPECT_THAT(extract.err, HasSubstr("cmyk.jpg: UNSUPPORTED: "));
  EXPECT_EQ(extract.Lines().size(), 2u);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"match", odd, image}, {"stream", odd}, {"reference", "put", "a", odd}}) {
    const Outcome run = RunWithServer(command);
    EXPECT_EQ(run.code, 1) << command[0];
    EXPECT_THAT(run.err, HasSubstr("UNSUPPORTED: ")) << command[0];
  }
}

TEST_F(CliTest, CertificateFilesThatCannotBeUsedAreWrongUsage) {
  const std::string none = folder_ / "none.pem";
  const std::string good = folder_.Write("cert.pem", MakeCertificate().certificate);
  const std::string other = folder_.Write("key.pem", MakeCertificate().key);
  for (const char* command : {"info", "health"}) {
    for (const auto& [options, message] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--tls-ca", none}, none},
             {{"--tls-ca", other}, other},
             {{"--tls-ca", good, "--tls-cert", good}, "--tls-cert and --tls-key must be"},
             {{"--tls-ca", good, "--tls-key", other}, "--tls-cert and --tls-key must be"},
             {{"--tls-cert", good, "--tls-key", other}, "--tls-cert needs --tls-ca"},
             {{"--tls-ca", good, "--tls-cert", none, "--tls-key", other}, none},
             {{"--tls-ca", good, "--tls-cert", good, "--tls-key", none}, none},
             {{"--tls-ca", good, "--tls-cert", good, "--tls-key", other}, "is not that of"}}) {
      std::vector<std::string> arguments = {command, "--server", "127.0.0.1:1"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      const Outcome run = Run(arguments);
      EXPECT_EQ(run.code, 2) << run.err;
      EXPECT_THAT(run.err, HasSubstr(message));
    }
  }
}

TEST_F(CliTest, AServerThatAsksForCertificatesIsShownOne) {
  const auto own = MakeCertificate();
  const auto robot = MakeCertificate();
  const std::string ca = folder_.Write("own.pem", own.certificate);
  const std::string certificate = folder_.Write("robot.pem", robot.certificate);
  const std::string key = folder_.Write("robot-key.pem", robot.key);
  StartServer({"--tls-cert", ca, "--tls-key", folder_.Write("own-key.pem", own.key),
               "--tls-client-ca", certificate});
  const std::string image = folder_.Write("a.pgm", Scene(0));
  EXPECT_TRUE(Succeeded(RunWithServer(
      {"extract", image, "--tls-ca", ca, "--tls-cert", certificate, "--tls-key", key})));
  for (const auto& [given, advice] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "maybe the server wants TLS (tls_ca_file, --tls-ca)"},
           {{"--tls-ca", ca}, "a certificate of the client that it accepts (tls_cert_file"},
           {{"--tls-ca", certificate},
            "the certificate of the server is for another host, has exp"}}) {
    std::vector<std::string> arguments = {"extract", image};
    arguments.insert(arguments.end(), given.begin(), given.end());
    const Outcome run = RunWithServer(arguments);
    EXPECT_EQ(run.code, 3);
    EXPECT_THAT(run.err, HasSubstr(advice));
  }
  StartServer({});
  const Outcome plain = RunWithServer({"extract", image, "--tls-ca", ca});
  EXPECT_EQ(plain.code, 3);
  EXPECT_THAT(plain.err, HasSubstr("the server speaks plain text there: connect without"));
}

// An image and a mask that the embedded engine refuses and this server accepts.
TEST_F(CliTest, TheLimitsAreThoseOfTheServer) {
  StartServer({"--config", folder_.Write("c.textproto", "limits { max_side_px: 20000 }")});
  constexpr int kLongPx = 9000;
  const std::string image = folder_.Write("a.pgm", Scene(0, kLongPx, 100));
  const std::string mask = folder_.Write(
      "m.pgm", absl::StrCat("P5\n", kLongPx, " 100\n255\n", std::string(kLongPx * 100, '\xFF')));
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"extract", image},
                                             {"match", image, image},
                                             {"stream", image},
                                             {"reference", "put", "a", image}}) {
    EXPECT_TRUE(Succeeded(RunWithServer(command))) << command[0];
    std::vector<std::string> masked = command;
    masked.insert(masked.end(), {"--mask", mask});
    EXPECT_TRUE(Succeeded(RunWithServer(masked))) << command[0];
  }
  EXPECT_EQ(Run({"stream", image}).code, 1);
  const std::string small = folder_.Write("s.pgm", Scene(0));
  const Outcome refused = Run({"extract", "--mask", mask, small});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--mask: image too large: 9000 x 100; allowed are 8192"));
}

// Sends images to a server whose messages have up to 3.2 MiB: one that is larger, and one that fits
// alone, but not with another or with a mask.
TEST_F(CliTest, WhatIsTooLargeForAMessageIsAFailedInput) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own memory is more than this server's";
#endif
  const std::string small = folder_.Write("in/0.pgm", Scene(0, 160, 120));
  folder_.Write("in/1.pgm", Scene(0, 2000, 1900));
  folder_.Write("in/2.pgm", Scene(2, 160, 120));
  const std::string large = folder_.Write("large.pgm", Scene(0, 1320, 1300));
  const std::string mask = folder_.Write(
      "m.pgm", absl::StrCat("P5\n1320 1300\n255\n", std::string(1320 * 1300, '\xFF')));
  const std::string config = folder_ / "c.textproto";
  folder_.Write("c.textproto", "limits { memory_bytes: 67108864 }");
  StartServer({"--backend", "cpu", "--config", config});
  const std::string allowed = " as it is sent; allowed are 3.2 MiB";
  for (const char* command : {"extract", "stream"}) {
    const Outcome run = RunWithServer({command, "--json", folder_ / "in"});
    EXPECT_EQ(run.code, 1) << command << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr("1.pgm: too large for a message to the server: 3.6"));
    EXPECT_THAT(run.err, HasSubstr(allowed));
    EXPECT_THAT(run.out, HasSubstr("\"0.pgm\""));
    EXPECT_THAT(run.out, HasSubstr("\"2.pgm\"")) << command;
  }
  // With one level its workspace fits into the memory of this server.
  EXPECT_TRUE(Succeeded(RunWithServer({"extract", "--levels", "1", large})));
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"extract", "--mask", mask, large},
                                             {"stream", "--mask", mask, large},
                                             {"match", small, large, "--mask", mask},
                                             {"match", large, large},
                                             {"reference", "put", "a", large, "--mask", mask}}) {
    const Outcome run = RunWithServer(command);
    EXPECT_EQ(run.code, 1) << command[0];
    EXPECT_THAT(run.err, HasSubstr(allowed)) << command[0];
  }
}

// The missing device of the embedded engine is not an unreachable server. The test hides the
// devices of the machine.
TEST_F(CliTest, ABackendWithoutADeviceIsAFailure) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "", /*overwrite=*/1), 0);
  const Outcome run = Run({"extract", "--backend", "cuda", image});
  unsetenv("CUDA_VISIBLE_DEVICES");
  // A program that was built without the backend refuses the option.
  const bool is_built = absl::StrContains(run.err, "no CUDA device answers");
  EXPECT_EQ(run.code, is_built ? 1 : 2) << run.err;
}

TEST_F(CliTest, ATokenFileThatCannotBeUsedIsNotIgnored) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const std::string token = folder_.Write("token", "secret\n");
  const auto expect_refused = [this](const std::vector<std::string>& arguments,
                                     const std::string& why) {
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 2) << arguments[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_EQ(run.out, "");
  };
  expect_refused({"extract", image, "--token-file", token}, "--token-file needs --server");
  expect_refused({"info", "--server", "127.0.0.1:1", "--token-file", folder_ / "none"},
                 "token file cannot be read");
  for (const char* server :
       {"robots.example:1", "127.example.org:1", "127.0.0.1.example.org:1", "dns:///127.example:1",
        "localhost.example.org:1", "ipv4:127.0.0.1:1,192.0.2.1:1", "ipv6:[::1]:1,[2001:db8::1]:1",
        "dns://192.0.2.1/localhost:1"}) {
    expect_refused({"info", "--server", server, "--token-file", token},
                   "over TLS, Unix sockets and the loopback only");
  }
  for (const char* server : {"127.0.0.1:1", "localhost:1", "[::1]:1", "dns:///localhost:1",
                             "ipv4:127.0.0.1:1,127.0.0.2:1", "unix:/nowhere"}) {
    EXPECT_EQ(Run({"info", "--server", server, "--token-file", token}).code, 3) << server;
  }
}

TEST_F(CliTest, HelpAndVersionGoToStandardOutput) {
  EXPECT_THAT(Run({"--version"}).out, HasSubstr("orbserve "));
  const Outcome help = Run({"extract", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("--resume"));
  EXPECT_THAT(help.out, HasSubstr("--detector FAST|HARRIS|SHI_TOMASI"));
  EXPECT_THAT(help.out, Not(HasSubstr("--ratio")));
  EXPECT_THAT(Run({"match", "--help"}).out, HasSubstr(" INPUT...\n"));
}

// Flags of the pipeline, as the server sees them: it names the option and the value.

}  // namespace
}  // namespace orbserve
