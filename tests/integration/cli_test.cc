// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve`: behaviour that its commands share, and commands about a server.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decode/made_jpegs.h"
#include "tests/integration/cli_fixture.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::MakeCertificate;
using ::orbserve::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

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
  StartServer({"--config", config});
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
TEST_F(CliTest, FlagsOfThePipelineReachTheServer) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const struct {
    std::vector<std::string> flags;
    const char* message;
  } rows[] = {
      {{"--levels", "99"}, "pyramid.levels must be in [1, 16]; got 99"},
      {{"--scale", "9"}, "pyramid.scale_factor must be in [1.01, 4]; got 9"},
      {{"--threshold", "255"}, "fast_threshold must be in [1, 254]; got 255"},
      {{"--arc", "8"}, "detect.fast_arc_length must be in [9, 12]; got 8"},
      {{"--score", "sad-arc"}, "detect.score is SAD_ARC and suppress.compare is FAST; allowed:"},
      {{"--threshold-low", "21"}, "fast_threshold_low must be 0 (off), or in [1, 20]"},
      {{"--detector", "harris", "--orientation", "arc-middle"},
       "describe.orientation is ARC_MIDDLE and detect.detector is not FAST"},
      {{"--detector", "shi-tomasi", "--suppress", "minimum-distance", "--min-distance", "65"},
       "suppress.minimum_distance_px must be in [1, 64]; got 65"},
      {{"--detector", "harris", "--quality", "1"}, "quality_level must be above 0 and below 1"},
      {{"--detector", "harris", "--threshold-low", "3"},
       "fast_threshold_low is 3 and detect.detector is not FAST"},
      {{"--window", "4"}, "suppress.window_px must be odd, in [3, 9]; got 4"},
      {{"--suppress", "cell"}, "suppress.suppression is CELL and select.selection is LEVEL_QUOTA"},
      {{"--select", "cell", "--cell-width", "40"}, "suppress.cell_width_px must be a multiple of"},
      {{"--select", "cell", "--cell-height", "4"}, "suppress.cell_height_px must be in [8, 512]"},
      {{"--suppress", "minimum-distance", "--compression", "--distance-shape", "disc"},
       "suppress.cornerness_compression is on and suppress.distance_shape is DISC"},
      {{"--suppress", "minimum-distance", "--max-passes", "10001"},
       "suppress.max_passes must be in [0, 10000]; got 10001"},
      {{"--max-features", "0"}, "max_features must be in [1, 100000]; got 0"},
      {{"--capacity", "0"}, "select.capacity must be in [1, 100000]; got 0"},
      {{"--border", "21"}, "select.border_px must be in [22, 255]; got 21"},
      {{"--orientation", "none"}, "describe.orientation is NONE"},
      {{"--descriptor", "bfrost-256"}, "select.border_px must be in [44, 255]; got 31"},
  };
  for (const auto& row : rows) {
    for (const std::string command : {"extract", "stream"}) {
      std::vector<std::string> arguments = {command, image};
      arguments.insert(arguments.end(), row.flags.begin(), row.flags.end());
      const Outcome run = RunWithServer(arguments);
      EXPECT_EQ(run.code, 2) << row.flags[0] << ": " << run.err;
      EXPECT_THAT(run.err, HasSubstr(row.message));
      EXPECT_EQ(run.out, "");
    }
  }
}

TEST_F(CliTest, FlagsOfMatchingReachTheServer) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const struct {
    std::vector<std::string> flags;
    const char* message;
  } rows[] = {
      {{"--ratio", "7"}, "match.ratio must be in [0, 1]; got 7"},
      {{"--max-distance", "257"}, "match.max_distance must be in [0, 256]; got 257"},
      {{"--k", "17"}, "match.k must be in [1, 16]; got 17"},
      {{"--k", "2", "--cross-check"}, "match.cross_check and match.ratio keep at most one match"},
      {{"--match-selection", "best", "--k", "2"}, "match.k belongs to match.selection K_BEST"},
      {{"--match-window", "-1"}, "match.window_px must be 0 (off), or a finite number above 0"},
      {{"--match-offset-x", "-5"}, "match.offset_x is -5 and match.window_px is 0 (off)"},
      {{"--match-offset-y", "5"}, "match.offset_y is 5 and match.window_px is 0 (off)"},
  };
  for (const auto& row : rows) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"match", image, image}, {"stream", image}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), row.flags.begin(), row.flags.end());
      const Outcome run = RunWithServer(arguments);
      EXPECT_EQ(run.code, 2) << row.flags[0] << ": " << run.err;
      EXPECT_THAT(run.err, HasSubstr(row.message));
    }
  }
  // Commands that do not match do not know them.
  EXPECT_EQ(Run({"extract", "--ratio", "0.8", image}).code, 2);
  EXPECT_TRUE(Succeeded(
      RunWithServer({"match", image, image, "--pipeline", "bfrost", "--no-cross-check", "--k=2"})));
}

TEST_F(CliTest, FlagsChangeTheAnswer) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const auto features = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"extract", "--format", "csv", image});
    std::rotate(flags.begin(), flags.end() - 4, flags.end());
    const Outcome run = Run(flags);
    EXPECT_TRUE(Succeeded(run));
    return run.out;
  };
  const std::string orb = features({});
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--levels", "2"},
                                             {"--scale", "1.5"},
                                             {"--pyramid-source", "level-zero"},
                                             {"--threshold", "60"},
                                             {"--arc", "12"},
                                             {"--score", "fast"},
                                             {"--select", "best"},
                                             {"--max-features", "20"},
                                             {"--capacity", "20"},
                                             {"--border", "60"},
                                             {"--orientation", "arc-middle"},
                                             {"--descriptor", "rbrief-32"},
                                             {"--descriptor", "none"}}) {
    EXPECT_NE(features(flags), orb) << flags[0];
  }
  EXPECT_EQ(features({"--candidate-test", "bit-table"}), orb);
  // A flag replaces the value of the file.
  const std::string file = folder_.Write("p.textproto", "pyramid { levels: 3 }");
  EXPECT_EQ(features({"--pipeline", file, "--levels", "2"}), features({"--levels", "2"}));
}

TEST_F(CliTest, FlagsThatContradictOrHaveNoEffectAreRefusedWithBoth) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  const struct {
    std::vector<std::string> flags;
    const char* message;
  } rows[] = {
      {{"--detector", "FAST", "--detector", "HARRIS"},
       "--detector can be given once; got --detector FAST and --detector HARRIS"},
      {{"--max-features", "5", "--max-features", "6"}, "got --max-features 5 and --max-features 6"},
      {{"--compression", "--no-compression"}, "got --compression and --no-compression"},
      {{"--quality", "0.1"}, "it needs --detector HARRIS or SHI_TOMASI, and detect.detector is FA"},
      {{"--min-distance", "5"},
       "--min-distance 5 has no effect: it needs --suppress MINIMUM_DISTANCE, and "
       "suppress.suppression is NEIGHBOURHOOD"},
      {{"--score", "sift"}, "--score must be one of FAST, HARRIS, SAD_CIRCLE, SAD_A"},
      {{"--levels", "three"},
       "--levels must be a whole number (Levels of the pyramid, 1 to 16); got three"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> arguments = {"extract", image};
    arguments.insert(arguments.end(), row.flags.begin(), row.flags.end());
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 2) << row.flags[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(row.message));
  }
}

TEST_F(CliTest, PresetsAreListedWithTheirPurposeAndTheirValues) {
  const Outcome table = RunWithServer({"presets"});
  ASSERT_TRUE(Succeeded(table));
  EXPECT_THAT(table.Lines()[0], ::testing::MatchesRegex("preset +features +detector +descriptor +f"
                                                        "or"));
  EXPECT_EQ(table.Lines().size(), 10u);
  EXPECT_THAT(table.out, HasSubstr("\norb  "));
  EXPECT_THAT(table.out,
              HasSubstr("500  FAST        RBRIEF_256  cv::ORB of OpenCV 4.6.0, bit for"));
  EXPECT_THAT(table.out, HasSubstr("128  FAST        RBRIEF_32   128 keypoints"));
  const Outcome json = Run({"presets", "--json"});
  ASSERT_TRUE(Succeeded(json));
  ASSERT_EQ(json.Lines().size(), 1u);
  EXPECT_THAT(
      json.out,
      HasSubstr(
          "{\"name\":\"orb\",\"available\":true,\"description\":\"cv::ORB of OpenCV 4.6.0, bit for "
          "bit\",\"pipeline\":{\"preset\":\"orb\",\"pyramid\":{\"levels\":8,\"scale_factor\":1.2,"
          "\"source\":\"PREVIOUS_LEVEL\"},\"detect\":{\"detector\":\"FAST\",\"fast_threshold\":20,"
          "\"fast_arc_length\":9,\"candidate_test\":\"UNSPECIFIED\",\"score\":\"HARRIS\","
          "\"quality_level\":0.01,\"fast_threshold_low\":0},\"suppress\":{\"suppression\":"
          "\"NEIGHBOURHOOD\",\"window_px\":3,\"cell_width_px\":32,\"cell_height_px\":32,"
          "\"minimum_distance_px\":8,\"compare\":\"FAST\",\"distance_shape\":\"SQUARE\","
          "\"cornerness_compression\":false,\"max_passes\":0},\"select\":{\"selection\":"
          "\"LEVEL_QUOTA\",\"max_features\":500,\"capacity\":100000,\"border_px\":31},"
          "\"describe\":{\"orientation\":\"INTENSITY_CENTROID\",\"descriptor_type\":"
          "\"RBRIEF_256\"},\"match\":{\"selection\":\"BEST\",\"k\":1,\"ratio\":0,"
          "\"cross_check\":false,\"max_distance\":256,\"window_px\":0,\"offset_x\":0,"
          "\"offset_y\":0},\"track\":{\"levels\":5,\"coarse_patch_px\":16,\"iterations\":30,"
          "\"epsilon_px\":0.005,\"min_eigen\":0.1,\"max_residual\":128,\"illumination\":\"NONE\","
          "\"template\":\"PREVIOUS\",\"redetect_percent\":30}}}"));
}

TEST_F(CliTest, EveryPresetThatIsAvailableExtractsAndStreams) {
  const std::string in = WriteScenes(2);
  std::vector<std::string> lines = Run({"presets"}).Lines();
  lines.erase(lines.begin());
  int available = 0;
  for (const std::string& line : lines) {
    const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
    ASSERT_GE(cells.size(), 4u) << line;
    if (cells[1] == "-") {
      EXPECT_EQ(Run({"extract", "--pipeline", cells[0], in}).code, 2) << line;
      continue;
    }
    ++available;
    for (const std::string command : {"extract", "stream"}) {
      const Outcome run = Run({command, "--json", "--pipeline", cells[0], in});
      ASSERT_TRUE(Succeeded(run)) << line;
      EXPECT_EQ(run.Lines().size(), 2u);
      EXPECT_THAT(run.out, Not(HasSubstr("\"features\":0"))) << line;
      // The presets of corner maps keep a minimum distance.
      EXPECT_EQ(absl::StrContains(run.out, "\"suppression_passes\":"), cells[2] != "FAST") << line;
      EXPECT_EQ(absl::StrContains(run.out, "\"target\":\"previous\""),
                command == "stream" && cells[3] != "NONE")
          << line;
    }
  }
  EXPECT_GE(available, 3);
}

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
  StartServer({"--tls-cert", ca, "--tls-key", folder_.Write("own-key.pem", own.key),
               "--tls-client-ca", certificate});
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
  const std::vector<std::string> short_load = {"--concurrency", "1", "--duration",  "0.2",
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
