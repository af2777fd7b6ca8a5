// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve`: first steps, and the commands about a server and its speed.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cli_fixture.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(CliTest, TheFirstMinuteSaysWhatToDoNext) {
  const Outcome alone = Run({});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("orbserve extract photo.jpg"));
  const std::string image = folder_.Write("a.pgm", Scene(0));
  for (const auto& [arguments, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"exract", image}, "there is no command exract; did you mean extract?"},
           {{"frobnicate"}, "there is no command frobnicate (orbserve --help"},
           {{"extract", "--ouput", "x", image},
            "extract has no option --ouput; did you mean --out"},
           {{"stream", "--fps", "fast", image}, "must be a number from 0 to 10000; got fast"},
           {{"stream", "--fps", "nan", image}, "must be a number from 0 to 10000; got nan"},
           {{"extract", "--backend", "gpu", image},
            "--backend: must be one of auto, cpu, cpu-reference, cuda; got gpu"},
           {{"extract", "--log-level", "loud", image}, "--log-level: must be one of trace, debug,"},
           {{"bench", "--rate", "1", "--arrivals", "x", image},
            "--arrivals: must be one of poisson, constant; got x"},
           {{"stream", "--frames", "0", image}, "number from 1 to 1099511627776; got 0"},
           {{"bench", "--rate", "x", image}, "a list of numbers from 0.01 to 10000000 with"},
           {{"extract", "--threads", "1.5", image},
            "must be a whole number from 1 to 1024; got 1.5"},
           {{"info", "--server", "localhost"},
            "the port is missing; write --server localhost:50051"},
           {{"info", "--server", "http://robot:1"}, "has no http://; write --server robot:1"},
           {{"match", "--draw", folder_ / "m.jpg", image, image}, "m.jpg must end in .png"},
           {{"extract", "--draw", folder_ / "x.jpg", image}, "give the name of a folder"},
           {{"stream", "--draw", folder_ / "x.mp4", image}, "give the name of a folder"}}) {
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
}

TEST_F(CliTest, DoctorChecksTheMachineAndAServer) {
  const Outcome alone = Run({"doctor"});
  EXPECT_THAT(alone.out, HasSubstr("ok   cpu"));
  EXPECT_THAT(alone.out, HasSubstr("gpu"));
  EXPECT_THAT(alone.out, HasSubstr("ok   jpeg"));
  StartServer({"--backend", "cpu"});
  const Outcome with = RunWithServer({"doctor", "--json"});
  EXPECT_THAT(with.out, HasSubstr("{\"check\":\"server\",\"result\":\"ok\""));
  EXPECT_THAT(with.out, HasSubstr("JPEG files: cpu: host, then libjpeg; not the device: "
                                  "no CUDA device computes"));
  const Outcome far = Run({"doctor", "--server", "127.0.0.1:1"});
  EXPECT_EQ(far.code, 1);
  EXPECT_THAT(far.out, HasSubstr("BAD  server"));
  EXPECT_THAT(far.out, HasSubstr("-> does it run there"));
}

TEST_F(CliTest, DoctorSaysWhatTlsLacks) {
  const auto own = MakeCertificate();
  const auto robot = MakeCertificate({.common_name = "robot"});
  const std::string ca = folder_.Write("own.pem", own.certificate);
  const std::string certificate = folder_.Write("robot.pem", robot.certificate);
  const std::string key = folder_.Write("robot-key.pem", robot.key);
  const auto old = MakeCertificate({.common_name = "old", .end_s = -60, .issuer = &robot});
  const std::vector<std::string> expired = {"--tls-cert", folder_.Write("old.pem", old.certificate),
                                            "--tls-key", folder_.Write("old-key.pem", old.key)};
  const std::string own_key = folder_.Write("own-key.pem", own.key);
  StartServer({"--tls-cert", ca, "--tls-key", own_key, "--tls-client-ca", certificate});
  const auto doctor = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "doctor");
    return RunWithServer(options);
  };
  const Outcome plain = doctor({});
  EXPECT_EQ(plain.code, 1);
  EXPECT_THAT(plain.out, AllOf(HasSubstr("BAD  tls      the server speaks TLSv1.3; its certificate "
                                         "localhost is valid until "),
                               HasSubstr("--tls-ca FILE")));
  const Outcome other = doctor({"--tls-ca", certificate});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("and is not trusted: self-signed certificate"));
  const Outcome nobody = doctor({"--tls-ca", ca});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.out, AllOf(HasSubstr("it wants a certificate of the client"),
                                HasSubstr("--tls-cert FILE --tls-key FILE")));
  const Outcome late = doctor({"--tls-ca", ca, expired[0], expired[1], expired[2], expired[3]});
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.out,
              AllOf(HasSubstr("old.pem, has expired on "), HasSubstr("a new one signed")));
  const Outcome gone = doctor({"--tls-ca", folder_ / "none.pem"});
  EXPECT_EQ(gone.code, 1);
  EXPECT_THAT(gone.out, HasSubstr("BAD  options  certificate file cannot be read: "));
  const Outcome stranger = doctor({"--tls-ca", ca, "--tls-cert", ca, "--tls-key", own_key});
  EXPECT_EQ(stranger.code, 1);
  EXPECT_THAT(stranger.out, HasSubstr("-> does its log refuse the certificate of the client"));
  const Outcome good = doctor({"--tls-ca", ca, "--tls-cert", certificate, "--tls-key", key});
  EXPECT_THAT(good.out, AllOf(HasSubstr("note tls      the server speaks TLSv1.3"),  // one day left
                              HasSubstr("ok   server")));
}

TEST_F(CliTest, DoctorSaysWhatATokenLacks) {
  const std::string token = folder_.Write("token", "abc");
  const std::string hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  StartServer({"--token-file", folder_.Write("tokens", "robot sha256:" + hash + "\n")});
  const Outcome without = RunWithServer({"doctor"});
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.out, AllOf(HasSubstr("ok   tls      the server speaks plain text"),
                                 HasSubstr("BAD  token    UNAUTHENTICATED: the call has no token"),
                                 HasSubstr("-> give one: --token-file FILE")));
  const std::string other = folder_.Write("other", "abcd");
  EXPECT_THAT(RunWithServer({"doctor", "--token-file", other}).out,
              HasSubstr("BAD  token    UNAUTHENTICATED: the token of the call is not a valid one"));
  EXPECT_THAT(RunWithServer({"doctor", "--token-file", folder_ / "none"}).out,
              HasSubstr("BAD  options  token file cannot be read: "));
  const Outcome good = RunWithServer({"doctor", "--token-file", token});
  EXPECT_THAT(good.out, AllOf(HasSubstr("ok   token"), HasSubstr("ok   server")));
  const std::string ca = folder_.Write("ca.pem", MakeCertificate().certificate);
  EXPECT_THAT(RunWithServer({"doctor", "--tls-ca", ca}).out,
              HasSubstr("BAD  tls      the server speaks plain text"));
}

TEST_F(CliTest, BenchMeasuresClosedAndOpenLoops) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const std::string svg = folder_ / "curve.svg";
  const auto bench = [&](std::vector<std::string> load) {
    std::vector<std::string> command = {"bench", "--json",    "--duration", "0.5", "--warm-up",
                                        "0.1",   "--presets", "orb,vio",    image};
    command.insert(command.end(), load.begin(), load.end());
    return command;
  };
  const Outcome closed = Run(bench({"--concurrency", "1,2", "--svg", svg}));
  ASSERT_TRUE(Succeeded(closed));
  ASSERT_THAT(closed.Lines(), SizeIs(2));
  EXPECT_THAT(closed.Lines()[1], HasSubstr("\"loop\":\"closed\",\"concurrency\":2,"));
  EXPECT_THAT(closed.out, HasSubstr("\"failed\":0"));
  EXPECT_EQ(TemporaryFolder::Read(svg).substr(0, 4), "<svg");
  for (const char* arrivals : {"constant", "poisson"}) {
    const Outcome open = RunWithServer(
        bench({"--rate", "40", "--arrivals", arrivals, "--streams", "2", "--connections", "2"}));
    ASSERT_TRUE(Succeeded(open));
    ASSERT_THAT(open.Lines(), SizeIs(1));
    EXPECT_THAT(open.out, HasSubstr("\"loop\":\"open\",\"rate\":40,"));
    // Frames start at their times, however slow the machine is: 20 in half a second.
    if (std::string(arrivals) == "constant") {
      EXPECT_THAT(open.out, HasSubstr("\"frames\":20,"));
    }
  }
  const Outcome far = Run({"bench", "--server", "127.0.0.1:1", image});
  EXPECT_EQ(far.code, 3);
  const Outcome range = Run({"bench", "--json", "--concurrency", "1:5:2,8", "--duration", "0.1",
                             "--warm-up", "0", image});
  ASSERT_TRUE(Succeeded(range));
  ASSERT_THAT(range.Lines(), SizeIs(4));
  EXPECT_THAT(range.Lines()[2], HasSubstr("\"concurrency\":5,"));
  for (const char* bad : {"3:1", "1:2:0", "1:2:1:1", "1:100000", ":", "1:x"}) {
    EXPECT_EQ(Run({"bench", "--concurrency", bad, image}).code, 2) << bad;
  }
  const Outcome one = Run(bench({"--connections", "2"}));
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.err, HasSubstr("--connections 2 has no effect: it needs --server"));
}

TEST_F(CliTest, BenchShowsAPercentileAndNeedsNoImage) {
  const std::vector<std::string> short_load = {"--concurrency", "1", "--duration",  "1",
                                               "--warm-up",     "0", "--percentile"};
  const auto bench = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"bench"};
    command.insert(command.end(), short_load.begin(), short_load.end());
    command.insert(command.end(), more.begin(), more.end());
    return Run(command);
  };
  const Outcome json = bench({"99.5", "--json"});
  ASSERT_TRUE(Succeeded(json));
  EXPECT_THAT(json.out, HasSubstr("\"p99\":"));
  EXPECT_THAT(json.out, HasSubstr("\"p995\":"));
  EXPECT_THAT(json.out, HasSubstr("\"failed\":0"));
  EXPECT_THAT(json.err, HasSubstr("synthetic image of 640x480"));
  const Outcome table = bench({"95"});
  ASSERT_TRUE(Succeeded(table));
  EXPECT_THAT(table.Lines()[0], HasSubstr("   p90/ms    p95/ms    p99/ms  p99.9/ms    max/ms"));
  const Outcome usual = bench({"99"});
  EXPECT_THAT(usual.Lines()[0], HasSubstr("   p90/ms    p99/ms  p99.9/ms"));
}

TEST_F(CliTest, BenchNamesBrokenImagesAndMeasuresWithTheRest) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const std::string empty = folder_.Write("empty.png", "");
  const std::string cut = folder_.Write("cut.jpg", "\xFF\xD8\xFF\xE0 cut off");
  for (const std::string& broken : {empty, cut}) {
    const Outcome run = Run({"bench", "--json", "--concurrency", "1", "--duration", "0.2",
                             "--warm-up", "0", broken, image});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.Lines(), SizeIs(1));
    EXPECT_THAT(run.err, HasSubstr(broken == empty ? "empty.png: the file is empty" : "BAD_IMAGE"));
  }
  EXPECT_EQ(Run({"bench", empty}).code, 1);
}

TEST_F(CliTest, BenchFailsWithItsFrames) {
  StartServer({"--config", folder_.Write("c.textproto", "batching { max_queue_frames: 1 }")});
  const std::string image = folder_.Write("a.pgm", Scene(0, 1280, 960));
  const auto bench = [&](const char* callers) {
    return RunWithServer(
        {"bench", "--concurrency", callers, "--duration", "1", "--warm-up", "0", image});
  };
  EXPECT_TRUE(Succeeded(bench("1")));
  const Outcome crowded = bench("16");
  EXPECT_EQ(crowded.code, 1);
  EXPECT_THAT(crowded.err,
              HasSubstr(" frames failed; the first: Q"));  // QUEUE_FULL, QUOTA_EXCEEDED
  EXPECT_THAT(crowded.Lines(), SizeIs(2));
}

TEST_F(CliTest, InfoAndHealthOfAServer) {
  const Outcome info = RunWithServer({"info", "--json"});
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("\"name\":\"orb\",\"available\":true"));
  EXPECT_THAT(Run({"info"}).out, HasSubstr("preset    orb "));
  const Outcome health = RunWithServer({"health"});
  EXPECT_EQ(health.code, 0) << health.err;
  EXPECT_EQ(health.out, "SERVING\n");
}

}  // namespace
}  // namespace orbserve
