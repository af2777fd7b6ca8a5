// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve` against a server whose answers break the wire contract, and with files and
// names made to harm it.

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/files/feature_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/lying_server.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

using ::orbserve::testing::LyingServer;
using ::orbserve::testing::RightFeatures;
using ::orbserve::testing::RightReference;
using ::testing::HasSubstr;
using ::testing::Not;

class CliWrongServerTest : public CliTest {
 protected:
  static Outcome With(const LyingServer& server, CliWrongServerTest* test,
                      std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server.address()});
    return test->Run(arguments);
  }
};

TEST_F(CliWrongServerTest, NothingIsWrittenOfAWrongAnswer) {
  LyingServer server;
  server.extract = [](v1::ExtractResponse* r) {
    r->mutable_features()->mutable_y()->Truncate(3);
    return grpc::Status::OK;
  };
  const std::string in = WriteScenes(2);
  const Outcome run =
      With(server, this, {"extract", "--out", folder_ / "out", "--draw", folder_ / "pictures", in});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("0.pgm: the server's answer is wrong: features.y is a list of 3; "
                                 "allowed: 12"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/0.pgm.npz"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "pictures/0.pgm.png"));
}

TEST_F(CliWrongServerTest, EveryCommandNamesTheFieldThatIsWrong) {
  const std::string in = WriteScenes(2);
  const std::string a = in + "/0.pgm";
  const std::string b = in + "/1.pgm";
  using Lie = std::function<void(LyingServer*)>;
  const auto extract = [](std::function<void(v1::FeatureSet*)> tell) -> Lie {
    return [tell](LyingServer* server) {
      server->extract = [tell](v1::ExtractResponse* r) {
        tell(r->mutable_features());
        return grpc::Status::OK;
      };
    };
  };
  const auto match = [](std::function<void(v1::MatchResponse*)> tell) -> Lie {
    return [tell](LyingServer* server) { server->match = tell; };
  };
  const auto result = [](std::function<void(v1::FrameResult*)> tell) -> Lie {
    return [tell](LyingServer* server) { server->result = tell; };
  };
  const auto write_for_ever = [](const v1::StreamFramesResponse& response) -> Lie {
    return [response](LyingServer* server) {
      server->after_opened = [response](LyingServer::Stream* stream) {
        while (stream->Write(response)) {
        }
      };
    };
  };
  v1::StreamFramesResponse opened;
  opened.mutable_opened()->set_max_in_flight(4);
  v1::StreamFramesResponse going_away;
  going_away.mutable_going_away()->mutable_status()->set_code(14);
  struct Row {
    std::vector<std::string> command;
    Lie lie;
    const char* text;
  };
  for (const Row& row : std::vector<Row>{
           {{"extract", a}, extract([](auto* f) { f->clear_size(); }), "features.size is"},
           {{"extract", "--out", folder_ / "o", "--format", "csv", a},
            extract([](auto* f) { f->clear_octave(); }),
            "features.octave is"},
           {{"extract", "--out", folder_ / "o", "--format", "jsonl", a},
            extract([](auto* f) { f->mutable_descriptors()->resize(1); }),
            "features.descriptors is"},
           {{"extract", "--draw", folder_ / "d", a},
            extract([](auto* f) { f->set_x(0, 1e30f); }),
            "features.x[0] is 1e+30"},
           {{"extract", "--sheet", folder_ / "s.html", a},
            extract([](auto* f) { f->set_y(1, 1e38f); }),
            "features.y[1] is 1e+38"},
           {{"match", "--draw", folder_ / "m.png", a, b},
            match([](auto* r) { r->mutable_matches()->set_train_index(0, 99); }),
            "matches.train_index[0] is 99"},
           {{"match", "--verify", a, b},
            match([](auto* r) { r->mutable_query_features()->clear_y(); }),
            "query_features.y is"},
           {{"match", "--exhaustive", "--out", folder_ / "p", "--verify", in},
            match([](auto* r) { r->mutable_matches()->clear_distance(); }),
            "matches.distance is"},
           {{"match", "--reference", "door", "--draw", folder_ / "r.png", a},
            match([](auto* r) { r->mutable_query_features()->clear_size(); }),
            "query_features.size is"},
           {{"stream", "--draw", folder_ / "t", in},
            result([](auto* r) { r->mutable_features()->clear_size(); }),
            "result.features.size is"},
           {{"stream", "--track", "--draw", folder_ / "t", in},
            result([](auto* r) { r->mutable_tracks(0)->set_x(1e30f); }),
            "result.tracks[0].x is"},
           {{"stream", in}, write_for_ever(opened), "message is opened"},
           {{"stream", in}, write_for_ever(going_away), "message is a second going_away"},
           {{"stream", in},
            result([](auto* r) { r->set_sequence(r->sequence() + 1); }),
            "result.sequence is 1; allowed: 0"},
           {{"reference", "list"},
            [](LyingServer* server) {
              server->list = [](v1::ListReferencesResponse* r) {
                r->clear_references();
                *r->add_references() = RightReference("a");
                r->set_next_page_token("a");
              };
            },
            "references[0].name is a; allowed: names behind a"},
           {{"info"},
            [](LyingServer* server) {
              server->info = [](auto* r) { r->mutable_limits()->set_max_side_px(~0u); };
            },
            "limits.max_side_px is"},
       }) {
    LyingServer server;
    row.lie(&server);
    const Outcome run = With(server, this, row.command);
    EXPECT_EQ(run.code, 1) << row.text << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(absl::StrCat("the server's answer is wrong: ", row.text)));
  }
}

// Seconds from SIGTERM to the end of the program. Loaded machines get some more than one.
constexpr double kSoonSeconds = 5;

TEST_F(CliWrongServerTest, SigtermEndsEveryCommandThatWaitsForItsServer) {
  const std::string in = WriteScenes(3);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"extract", "--out", folder_ / "o", in},
           {"extract", "--draw", folder_ / "d", in},
           {"match", in + "/0.pgm", in + "/1.pgm"},
           {"match", "--exhaustive", in},
           {"stream", in},
           {"stream", "--track", "--draw", folder_ / "v.y4m", in},
           {"bench", "--concurrency", "2", "--duration", "60"},
           {"bench", "--streams", "2", "--rate", "10", "--duration", "60"},
           {"reference", "list"},
           {"reference", "put", "door", in + "/0.pgm"}}) {
    LyingServer server;
    server.is_silent = true;
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--server", server.address()});
    const pid_t pid = Start(words);
    ASSERT_TRUE(HappensSoon([&] { return server.calls() > 0; })) << command[0];
    const auto start = std::chrono::steady_clock::now();
    kill(pid, SIGTERM);
    EXPECT_TRUE(EndsOrIsKilled(pid)) << command[0];
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), kSoonSeconds) << command[0];
    const Outcome run = Wait(pid);
    EXPECT_TRUE(run.code == 130 || run.code == -SIGTERM) << command[0] << ": " << run.code;
  }
}

// A picture of 64 megapixels takes many seconds to draw and to compress: the program does not wait
// for it.
TEST_F(CliWrongServerTest, SigtermEndsADrawingThatTakesLong) {
  constexpr int kSidePx = 8000;
  LyingServer server;
  server.extract = [](v1::ExtractResponse* r) {
    *r->mutable_features() = RightFeatures(kSidePx, kSidePx, 100'000);
    return grpc::Status::OK;
  };
  const std::string image = folder_.Write("big.pgm", Scene(0, kSidePx, kSidePx));
  const pid_t pid = Start({"extract", "--out", folder_ / "out", "--draw", folder_ / "pictures",
                           image, "--server", server.address()});
  // Features are written before their picture is drawn.
  ASSERT_TRUE(HappensSoon([&] { return std::filesystem::exists(folder_ / "out/big.pgm.npz"); }));
  const auto start = std::chrono::steady_clock::now();
  kill(pid, SIGTERM);
  EXPECT_TRUE(EndsOrIsKilled(pid));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), kSoonSeconds);
  EXPECT_EQ(Wait(pid).code, 130);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "pictures/big.pgm.png"));
}

constexpr char kEvil[] =
    "\033]0;owned\007\n\033[2J\xC2\x9B"
    "31m\r";

// What a terminal would act on.
void ExpectHarmless(const Outcome& run, const std::string& what) {
  for (const std::string& text : {run.out, run.err}) {
    for (const char* const bad : {"\033", "\007", "\r", "\xC2\x9B"}) {
      EXPECT_THAT(text, Not(HasSubstr(bad))) << what;
    }
  }
}

TEST_F(CliWrongServerTest, TextsOfTheServerCannotControlTheTerminal) {
  LyingServer server;
  server.info = [](v1::GetServerInfoResponse* r) {
    r->set_version(kEvil);
    r->add_backends(kEvil);
    r->set_active_backend(kEvil);
    r->mutable_devices(0)->set_name(kEvil);
    r->mutable_devices(0)->set_board(kEvil);
    r->mutable_devices(0)->add_throttled(kEvil);
    r->mutable_presets(0)->set_description(kEvil);
    r->add_presets()->set_name(kEvil);
    r->set_power_source(kEvil);
    r->add_power_rails()->set_rail(kEvil);
  };
  server.extract = [](v1::ExtractResponse* r) {
    r->mutable_timings()->add_stages()->set_stage(kEvil);
    return grpc::Status::OK;
  };
  const std::string in = WriteScenes(2);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"info"},
                                             {"info", "--json"},
                                             {"presets"},
                                             {"presets", "--json"},
                                             {"power", "--once", "--interval", "0.1"},
                                             {"power", "--once", "--interval", "0.1", "--json"},
                                             {"doctor"},
                                             {"extract", "--timings", in},
                                             {"extract", "--timings", "--json", in}}) {
    const Outcome run = With(server, this, command);
    ExpectHarmless(run, command[0]);
    EXPECT_THAT(run.out, HasSubstr(command.back() == "--json" || command[0] == "extract"
                                       ? "owned"
                                       : "\\x1b]0;owned\\x07"));
  }
  server.extract = [](v1::ExtractResponse*) {
    return grpc::Status(grpc::INVALID_ARGUMENT, absl::StrCat("no", kEvil, "\norbserve: done"));
  };
  const Outcome run = With(server, this, {"extract", in});
  ExpectHarmless(run, "error");
  EXPECT_THAT(run.err, HasSubstr("\\x1b]0;owned\\x07"));
  EXPECT_THAT(run.err, Not(HasSubstr("\norbserve: done")));
}

TEST_F(CliWrongServerTest, NamesOfFilesCannotControlTheTerminal) {
  const std::string name = "in/a\033[2Jb.pgm";
  folder_.Write(name, Scene(0));
  folder_.Write("in/bad\033[2J.pgm", "P5\nnothing");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"extract", folder_ / "in"},
           {"stream", folder_ / "in"},
           {"match", folder_ / name, folder_ / "in/bad\033[2J.pgm"},
           {"match", "--exhaustive", folder_ / "in"},
           {"show", folder_ / name, folder_ / name}}) {
    const Outcome run = Run(command);
    EXPECT_EQ(run.code, 1) << command[0] << run.err;
    EXPECT_THAT(run.err, HasSubstr("\\x1b[2J"));
    ExpectHarmless(run, command[0]);
  }
}

TEST_F(CliWrongServerTest, IdsAndAddressesThatCannotBeSentAreWrongUsage) {
  const std::string in = WriteScenes(1);
  for (const char* id : {"caf\xC3\xA9", "a\nb"}) {
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"health"},
                                               {"info"},
                                               {"extract", in},
                                               {"stream", in},
                                               {"match", in, in},
                                               {"reference", "list"},
                                               {"bench", "--duration", "1"}}) {
      std::vector<std::string> words = command;
      words.insert(words.end(), {"--client-id", id, "--server", "127.0.0.1:1"});
      const Outcome run = Run(words);
      EXPECT_EQ(run.code, 2) << command[0] << ": " << run.err;
      EXPECT_THAT(run.err, HasSubstr("the client id must be printable ASCII; got "));
    }
  }
  // The embedded engine has clients, too.
  EXPECT_EQ(Run({"extract", "--client-id", "caf\xC3\xA9", in}).code, 2);
  const Outcome run = Run({"info", "--server", "caf\xC3\xA9:50051"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("the address of a server must be printable ASCII"));
}

// A file that somebody else has made. Drawing takes as long as the picture is large.
TEST_F(CliWrongServerTest, FeaturesOfAFileThatLieFarOutsideAreDrawnInTime) {
  v1::FeatureSet features = RightFeatures(320, 240, 5000);
  const float far[] = {1e30f, -1e30f, std::numeric_limits<float>::max(), 1e9f, 3e6f, 160};
  for (int i = 0; i < features.x_size(); ++i) {
    features.set_x(i, far[i % 6]);
    features.set_y(i, far[i / 6 % 6]);
    features.set_size(i, far[i / 36 % 6]);
  }
  const std::string npz =
      folder_.Write("far.npz", cli::EncodeFeatures(features, cli::FeatureFormat::kNpz, "far.pgm"));
  const std::string image = folder_.Write("far.pgm", Scene(0));
  const Outcome run = Run({"show", "--draw", folder_ / "far.png", npz, image});
  EXPECT_TRUE(Succeeded(run));
}

}  // namespace
}  // namespace orbserve
