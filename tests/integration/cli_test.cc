// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve` as people run it: with its embedded engine and with a real server.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint32_t kSeed = 20;
constexpr int kWidthPx = 320;
constexpr int kHeightPx = 240;

// A PGM of overlapping rectangles: corners at all scales. Neighbouring `shift`s are like frames of
// a moving camera.
std::string Scene(int shift, int width_px = kWidthPx, int height_px = kHeightPx) {
  std::mt19937 random(kSeed);
  std::string pixels(static_cast<size_t>(width_px) * height_px, '\x60');
  for (int i = 0; i < 120; ++i) {
    const int left = static_cast<int>(random() % (width_px + 100)) - shift;
    const int top = static_cast<int>(random() % height_px);
    const int width = 8 + static_cast<int>(random() % 60);
    const int height = 8 + static_cast<int>(random() % 60);
    const char grey = static_cast<char>(random() % 256);
    for (int y = top; y < std::min(top + height, height_px); ++y) {
      for (int x = std::max(left, 0); x < std::min(left + width, width_px); ++x) {
        pixels[static_cast<size_t>(y) * width_px + x] = grey;
      }
    }
  }
  return absl::StrCat("P5\n", width_px, " ", height_px, "\n255\n", pixels);
}

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines = absl::StrSplit(out, '\n');
    lines.pop_back();
    return lines;
  }
};

class CliTest : public ::testing::Test {
 protected:
  // Starts the program; its output goes to files.
  pid_t Start(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), ORBSERVE_CLI_PROGRAM);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = stdout_path_.empty() ? folder_ / "stdout" : stdout_path_;
    const std::string err = folder_ / "stderr";
    const std::string in = folder_.Write("stdin", stdin_);
    const pid_t pid = fork();
    if (pid == 0) {
      if (dup2(stdin_fd_ >= 0 ? stdin_fd_ : open(in.c_str(), O_RDONLY), STDIN_FILENO) < 0 ||
          dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO) < 0 ||
          dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO) < 0) {
        _exit(126);
      }
      execv(argv[0], argv.data());
      _exit(127);
    }
    return pid;
  }

  Outcome Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
            .out = TemporaryFolder::Read(folder_ / "stdout"),
            .err = TemporaryFolder::Read(folder_ / "stderr")};
  }

  // Whether the program, asked to stop, does so soon; else it is killed.
  static bool EndsOrIsKilled(pid_t pid) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < give_up) {
      siginfo_t info = {};
      if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(pid, SIGKILL);
    return false;
  }

  Outcome Run(const std::vector<std::string>& arguments) { return Wait(Start(arguments)); }

  // The same with `--server` of a server that the test starts with its first call.
  Outcome RunWithServer(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", Server().address()});
    return Run(arguments);
  }

  ServerProcess& Server() {
    if (server_ == nullptr) {
      auto started = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {});
      if (!started.ok()) {
        ADD_FAILURE() << started.status();
        std::abort();
      }
      server_ = *std::move(started);
    }
    return *server_;
  }

  // Writes `count` frames below `in/`.
  std::string WriteScenes(int count) {
    for (int i = 0; i < count; ++i) folder_.Write(absl::StrCat("in/", i, ".pgm"), Scene(i * 2));
    return folder_ / "in";
  }

  // Every file below a folder, by relative path.
  static std::map<std::string, std::string> Files(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        files[entry.path().lexically_relative(folder).native()] =
            TemporaryFolder::Read(entry.path().native());
      }
    }
    return files;
  }

  TemporaryFolder folder_;
  std::string stdin_;        // what standard input holds
  int stdin_fd_ = -1;        // instead of it
  std::string stdout_path_;  // "" = `stdout` in the folder
  std::unique_ptr<ServerProcess> server_;
};

TEST_F(CliTest, ExtractGivesTheSameFilesAloneFromAServerAndAgain) {
  const std::string in = WriteScenes(12);
  ASSERT_EQ(Run({"extract", "--out", folder_ / "a", in}).code, 0);
  ASSERT_EQ(Run({"extract", "--out", folder_ / "b", "--threads", "1", in}).code, 0);
  ASSERT_EQ(RunWithServer({"extract", "--out", folder_ / "c", in}).code, 0);
  const auto files = Files(folder_ / "a");
  EXPECT_THAT(files, SizeIs(13));  // and the log for --resume
  EXPECT_GT(files.at("11.pgm.npz").size(), 10'000u);
  EXPECT_TRUE(files == Files(folder_ / "b"));
  EXPECT_TRUE(files == Files(folder_ / "c"));
}

TEST_F(CliTest, TableHasOneRowAnImageInNaturalOrder) {
  const Outcome run = Run({"extract", WriteScenes(11)});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(12));
  EXPECT_TRUE(absl::StartsWith(lines[1], "0.pgm ")) << lines[1];
  EXPECT_TRUE(absl::StartsWith(lines[3], "2.pgm ")) << lines[3];
  EXPECT_TRUE(absl::StartsWith(lines[11], "10.pgm ")) << lines[11];
  EXPECT_THAT(lines[1], HasSubstr("320x240"));
}

TEST_F(CliTest, TextFormatsGoToFilesOrToStandardOutput) {
  const std::string in = WriteScenes(3);
  for (const std::string format : {"jsonl", "csv"}) {
    const Outcome run = Run({"extract", "--format", format, in});
    ASSERT_EQ(run.code, 0) << run.err;
    ASSERT_EQ(Run({"extract", "--format", format, "--out", folder_ / format, in}).code, 0);
    std::string joined;
    for (const auto& [name, text] : Files(folder_ / format)) {
      if (!absl::EndsWith(name, format)) continue;
      // The column names once.
      joined += format == "csv" && !joined.empty() ? text.substr(text.find('\n') + 1) : text;
    }
    EXPECT_EQ(run.out, joined) << format;
    EXPECT_FALSE(joined.empty());
  }
}

TEST_F(CliTest, BadInputsAreNamedAndTheRestIsDone) {
  const std::string good = folder_.Write("good.pgm", Scene(0));
  const std::string bad = folder_.Write("bad.png", "not an image");
  const std::string cut = folder_.Write("cut.jpg", "\xFF\xD8\xFF\xE0 cut off");
  const Outcome run = Run({"extract", "--json", bad, good, folder_ / "none.pgm", cut});
  EXPECT_EQ(run.code, 1);
  for (const char* name : {"bad.png: ", "none.pgm: ", "cut.jpg: BAD_IMAGE: "}) {
    EXPECT_THAT(run.err, HasSubstr(name));
  }
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], HasSubstr("\"error\""));
  EXPECT_THAT(lines[1], HasSubstr("\"features\":"));
  EXPECT_THAT(lines[3], HasSubstr("\"reason\":\"BAD_IMAGE\""));
}

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

TEST_F(CliTest, FolderWithoutImagesIsNamedAndTheRestIsDone) {
  const std::string in = WriteScenes(2);
  const std::string empty = folder_ / "empty";
  fs::create_directory(empty);
  const Outcome run = Run({"extract", "--json", "--out", folder_ / "out", empty, in});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr(absl::StrCat(empty, ": no image in this folder")));
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr("\"error\""));
  EXPECT_TRUE(fs::exists(folder_ / "out/1.pgm.npz"));
}

TEST_F(CliTest, NamesOfSeveralLinesKeepTheirRowAndAreResumed) {
  const std::string in = folder_ / "in";
  folder_.Write("in/two\nlines.pgm", Scene(0));
  const Outcome table = Run({"extract", in});
  EXPECT_EQ(table.code, 0) << table.err;
  ASSERT_THAT(table.Lines(), SizeIs(2));
  EXPECT_TRUE(absl::StartsWith(table.Lines()[1], "two\\nlines.pgm "));
  ASSERT_EQ(Run({"extract", "--out", folder_ / "out", in}).code, 0);
  const Outcome again = Run({"extract", "--resume", "--out", folder_ / "out", in});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("1 images were done before"));
}

TEST_F(CliTest, LinksThatLeadNowhereAreNamed) {
  const std::string in = WriteScenes(1);
  fs::create_symlink("gone.png", fs::path(in) / "link.png");
  const Outcome run = Run({"extract", "--json", in});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("link.png: cannot be opened"));
  EXPECT_THAT(run.Lines(), SizeIs(2));
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
           {"extract", "--format", "hdf5", "--out", folder_ / "o", image},
           {"extract", "--format", "npz", image},
           {"extract", "--resume", image},
           {"extract", "--shard", "2/2", image},
           {"extract", "--max-features", "0", image},
           {"extract", "--pipeline", "no-such-preset", image},
           {"extract", "--pipeline", "vio", image},
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
           {"match", "--reference", "r", image, image},
           {"match", "--ratio", "7", image, image},
           {"stream", "--track", image},
           {"stream", "/dev/video0"},
           {"reference"}}) {
    const Outcome run = Run(usage);
    EXPECT_EQ(run.code, 2) << absl::StrCat(usage.size()) << ": " << run.err;
    EXPECT_FALSE(run.err.empty());
  }
  for (const std::vector<std::string>& far :
       std::vector<std::vector<std::string>>{{"extract", image},
                                             {"match", image, image},
                                             {"stream", image},
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

// A token that is not shown must not go unnoticed, with a server and without.
TEST_F(CliTest, ATokenFileIsRefusedAndNotIgnored) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"extract", image},
                                             {"match", image, image},
                                             {"stream", image},
                                             {"reference", "list"},
                                             {"info"},
                                             {"health"},
                                             {"info", "--server", "127.0.0.1:1"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--token-file", folder_ / "token"});
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 2) << command[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr("--token-file is not available in this version"));
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(CliTest, HelpAndVersionGoToStandardOutput) {
  EXPECT_THAT(Run({"--version"}).out, HasSubstr("orbserve "));
  const Outcome help = Run({"extract", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("--resume"));
}

TEST_F(CliTest, ShardsPartTheWorkAndTogetherGiveTheWhole) {
  const std::string in = WriteScenes(10);
  ASSERT_EQ(Run({"extract", "--out", folder_ / "whole", in}).code, 0);
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    ASSERT_EQ(Run({"extract", "--shard", shard, "--out", folder_ / "parts", in}).code, 0);
  }
  auto whole = Files(folder_ / "whole");
  auto parts = Files(folder_ / "parts");
  std::erase_if(whole, [](const auto& file) { return absl::StartsWith(file.first, "."); });
  std::erase_if(parts, [](const auto& file) { return absl::StartsWith(file.first, "."); });
  EXPECT_THAT(whole, SizeIs(10));
  EXPECT_TRUE(whole == parts);
}

TEST_F(CliTest, ResumePassesOverWhatIsDoneWithTheSameOptionsOnly) {
  const std::string in = WriteScenes(6);
  const std::string out = folder_ / "out";
  ASSERT_EQ(Run({"extract", "--out", out, in}).code, 0);
  fs::remove(out + "/3.pgm.npz");
  folder_.Write("in/new.pgm", Scene(50));
  const auto done = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"extract", "--resume", "--json", "--out", out, in};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.Lines().size();
  };
  EXPECT_EQ(done({}), 2u);
  EXPECT_EQ(done({}), 0u);
  EXPECT_EQ(done({"--max-features", "50"}), 7u);
  EXPECT_EQ(done({"--max-features", "50"}), 0u);
}

TEST_F(CliTest, InterruptKeepsWhatIsDoneAndResumeFinishes) {
  const std::string in = WriteScenes(2);
  for (int i = 0; i < 60; ++i)
    folder_.Write(absl::StrCat("in/", 100 + i, ".pgm"), Scene(i, 900, 700));
  const std::string out = folder_ / "out";
  // The reference loops are slow enough to be caught at work.
  const std::vector<std::string> command = {"extract", "--backend", "cpu-reference",
                                            "--out",   out,         in};
  const pid_t pid = Start(command);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fs::exists(out + "/0.pgm.npz") && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(pid, SIGINT);
  const Outcome interrupted = Wait(pid);
  ASSERT_EQ(interrupted.code, 130) << interrupted.err;
  const auto kept = Files(out);
  EXPECT_LT(kept.size(), 63u);
  for (const auto& [name, bytes] : kept) EXPECT_THAT(name, Not(HasSubstr(".part")));
  ASSERT_EQ(Run({"extract", "--resume", "--out", out, in}).code, 0);
  ASSERT_EQ(Run({"extract", "--out", folder_ / "whole", in}).code, 0);
  EXPECT_TRUE(Files(out) == Files(folder_ / "whole"));
}

TEST_F(CliTest, NamesFromStandardInputAndOneOutputTwice) {
  stdin_ =
      absl::StrCat(folder_.Write("x.pgm", Scene(0)), "\n", folder_.Write("y.pgm", Scene(9)), "\n");
  const Outcome run = Run({"extract", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.Lines(), SizeIs(3));
  const std::string first = folder_.Write("a/1.pgm", Scene(0));
  const std::string second = folder_.Write("b/1.pgm", Scene(9));
  const Outcome shown = Run({"extract", first, second});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.Lines(), SizeIs(3));
  const Outcome twice = Run({"extract", "--out", folder_ / "out", first, second});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("two inputs would write one output"));
}

TEST_F(CliTest, MaskKeepsFeaturesOutOfItsBlackHalf) {
  const std::string image = folder_.Write("a.pgm", Scene(0));
  std::string mask = "P5\n320 240\n255\n";
  for (int i = 0; i < kWidthPx * kHeightPx; ++i) mask += i % kWidthPx < 160 ? '\xFF' : '\0';
  const Outcome run =
      Run({"extract", "--format", "csv", "--mask", folder_.Write("m.pgm", mask), image});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = run.Lines();
  ASSERT_GT(lines.size(), 10u);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    EXPECT_LT(std::stof(fields[1]), 161.0f) << lines[i];
  }
  const Outcome wrong =
      Run({"extract", "--mask", folder_.Write("n.pgm", "P5\n1 1\n255\nx"), image});
  EXPECT_EQ(wrong.code, 1) << wrong.err;
}

TEST_F(CliTest, OverlaysAreWrittenBesideAndSkipped) {
  const std::string in = WriteScenes(3);
  const Outcome run = Run({"extract", "--draw", in + "/overlays", in});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(Files(in + "/overlays"), SizeIs(3));
  EXPECT_THAT(Run({"extract", "--draw", in + "/overlays", in}).Lines(), SizeIs(4));
}

TEST_F(CliTest, MatchFindsTheShiftAloneAndWithAServer) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  const std::string b = folder_.Write("b.pgm", Scene(12));
  const std::string picture = folder_ / "m.png";
  const std::vector<std::string> command = {
      "match", "--json", "--cross-check", "--ratio", "0.8", "--draw", picture, a, b};
  const Outcome run = Run(command);
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_THAT(run.Lines(), SizeIs(1));
  EXPECT_EQ(TemporaryFolder::Read(picture).substr(1, 3), "PNG");
  const auto matches_of = [](const std::string& text) {
    return text.substr(0, text.find("\"timings_ms\""));
  };
  const Outcome remote = RunWithServer(command);
  ASSERT_EQ(remote.code, 0) << remote.err;
  EXPECT_EQ(matches_of(run.out), matches_of(remote.out));
  // Most keypoints have moved by 12 pixels.
  const auto points = [&run](const std::string& key) {
    std::vector<float> x;
    const size_t start = run.out.find(absl::StrCat("\"", key, "\":[[")) + key.size() + 5;
    const std::string list = run.out.substr(start, run.out.find("]]", start) - start);
    for (const auto pair : absl::StrSplit(list, "],[")) x.push_back(std::stof(std::string(pair)));
    return x;
  };
  const std::vector<float> query = points("query_xy");
  const std::vector<float> train = points("train_xy");
  ASSERT_EQ(query.size(), train.size());
  ASSERT_GT(query.size(), 20u);
  size_t right = 0;
  for (size_t i = 0; i < query.size(); ++i) right += std::abs(query[i] - train[i] - 12) < 2 ? 1 : 0;
  EXPECT_GT(right * 10, query.size() * 8);
}

TEST_F(CliTest, ReferencesArePutListedMatchedAndDeleted) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  ASSERT_EQ(Run({"extract", "--out", folder_ / "f", a}).code, 0);
  ASSERT_EQ(RunWithServer({"reference", "put", "tile", a}).code, 0);
  ASSERT_EQ(RunWithServer({"reference", "put", "file", folder_ / "f/a.pgm.npz"}).code, 0);
  const Outcome list = RunWithServer({"reference", "list", "--json"});
  EXPECT_THAT(list.out, HasSubstr("\"name\":\"file\""));
  EXPECT_THAT(list.out, HasSubstr("\"name\":\"tile\""));
  std::string first;
  for (const char* name : {"tile", "file"}) {
    const Outcome match =
        RunWithServer({"match", "--json", "--cross-check", "--reference", name, a});
    ASSERT_EQ(match.code, 0) << match.err;
    const size_t start = match.out.find("\"matches\":");
    const std::string matches = match.out.substr(start, match.out.find("\"timings_ms\"") - start);
    if (first.empty()) first = matches;
    // The image and its features are the same reference.
    EXPECT_EQ(matches, first);
    EXPECT_THAT(matches, Not(HasSubstr("\"matches\":0")));
  }
  const Outcome stream = RunWithServer({"stream", "--json", "--reference", "tile", a});
  EXPECT_THAT(stream.out, HasSubstr("\"target\":\"reference\",\"reference\":\"tile\""));
  EXPECT_EQ(RunWithServer({"reference", "delete", "tile"}).code, 0);
  EXPECT_EQ(RunWithServer({"reference", "delete", "tile"}).code, 1);
  EXPECT_EQ(RunWithServer({"match", "--reference", "tile", a}).code, 1);
  EXPECT_THAT(RunWithServer({"reference", "list", "--client-id", "somebody else"}).out,
              Not(HasSubstr("file")));
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

// Every line in order, and how many frames have matches with the frame before.
void ExpectStream(const Outcome& run, size_t frames) {
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = run.Lines();
  ASSERT_EQ(lines.size(), frames);
  for (size_t i = 0; i < frames; ++i) {
    EXPECT_THAT(lines[i], HasSubstr(absl::StrCat("\"sequence\":", i, ",")));
    if (i == 0) {
      EXPECT_THAT(lines[i], Not(HasSubstr("\"previous\",\"target_sequence\"")));
    } else {
      EXPECT_THAT(lines[i],
                  HasSubstr(absl::StrCat("\"previous\",\"target_sequence\":", i - 1, ",")));
      EXPECT_THAT(lines[i], Not(HasSubstr("\"count\":0")));
    }
  }
  EXPECT_THAT(run.err, HasSubstr(absl::StrCat(frames, " frames, ", frames - 1, " with matches")));
}

TEST_F(CliTest, StreamAnswersEveryFrameInOrder) {
  const std::string in = WriteScenes(25);
  const Outcome embedded = Run({"stream", "--json", "--draw", folder_ / "d", in});
  ExpectStream(embedded, 25);
  EXPECT_THAT(Files(folder_ / "d"), SizeIs(25));
  ExpectStream(RunWithServer({"stream", "--json", "--fps", "200", in}), 25);
}

TEST_F(CliTest, StreamOfAVideoOnStandardInput) {
  stdin_ = absl::StrCat("YUV4MPEG2 W", kWidthPx, " H", kHeightPx, " F10:1 Cmono\n");
  for (int i = 0; i < 4; ++i) {
    const std::string scene = Scene(i * 3);
    stdin_ += "FRAME\n" + scene.substr(scene.size() - kWidthPx * kHeightPx);
  }
  const Outcome run = Run({"stream", "--json", "-"});
  ExpectStream(run, 4);
  EXPECT_THAT(run.out, HasSubstr("\"sequence\":2,\"timestamp_ns\":200000000,"));
}

TEST_F(CliTest, StreamLeavesOutWhatItCannotRead) {
  WriteScenes(3);
  folder_.Write("in/1b.png", "broken");
  const Outcome run = Run({"stream", "--json", folder_ / "in"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.Lines(), SizeIs(3));
  EXPECT_THAT(run.err, HasSubstr("1b.png"));
}

TEST_F(CliTest, StreamIsInterruptedBetweenFrames) {
  const pid_t pid = Start({"stream", "--json", "--fps", "2", WriteScenes(40)});
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (TemporaryFolder::Read(folder_ / "stdout").empty() &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(pid, SIGINT);
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_GE(run.Lines().size(), 1u);
  EXPECT_LT(run.Lines().size(), 40u);
}

// The bytes of a video of one frame.
std::string ShortVideo() {
  const std::string scene = Scene(0);
  return absl::StrCat("YUV4MPEG2 W", kWidthPx, " H", kHeightPx, " Cmono\nFRAME\n",
                      scene.substr(scene.size() - kWidthPx * kHeightPx));
}

TEST_F(CliTest, StreamWhoseInputStallsIsInterrupted) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  stdin_fd_ = ends[0];
  const std::string video = ShortVideo();
  const pid_t pid = Start({"stream", "--json", "-"});
  for (size_t sent = 0; sent < video.size();) {
    const ssize_t count = write(ends[1], video.data() + sent, video.size() - sent);
    ASSERT_GT(count, 0);
    sent += static_cast<size_t>(count);
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (TemporaryFolder::Read(folder_ / "stdout").empty() &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(pid, SIGTERM);  // and the pipe stays open
  EXPECT_TRUE(EndsOrIsKilled(pid));
  close(ends[0]);
  close(ends[1]);
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_THAT(run.Lines(), SizeIs(1));
}

TEST_F(CliTest, StreamOfAVideoWithoutFramesSaysSo) {
  const std::string video = folder_.Write("v.y4m", "YUV4MPEG2 W320 H240 Cmono\n");
  const Outcome run = Run({"stream", "--json", video});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr(absl::StrCat(video, ": the Y4M video has no frames")));
}

TEST_F(CliTest, ExtractOfANamedPipeWaitsForItsImageAndCanBeInterrupted) {
  const std::string fifo = folder_ / "image";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  pid_t pid = Start({"extract", "--json", fifo});
  const int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
  ASSERT_GE(end, 0);
  const std::string scene = Scene(0);
  for (size_t sent = 0; sent < scene.size();) {
    const ssize_t count = write(end, scene.data() + sent, scene.size() - sent);
    if (count < 0 && errno == EAGAIN) continue;
    ASSERT_GT(count, 0);
    sent += static_cast<size_t>(count);
  }
  close(end);
  const Outcome read = Wait(pid);
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.Lines(), SizeIs(1));

  // Nobody writes; the image beside it shows that the command is at work.
  pid = Start({"extract", "--out", folder_ / "out", folder_.Write("a.pgm", scene), fifo});
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!fs::exists(folder_ / "out/a.pgm.npz") && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(pid, SIGTERM);
  EXPECT_TRUE(EndsOrIsKilled(pid));
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/a.pgm.npz"));
}

TEST_F(CliTest, StreamOfANamedPipe) {
  const std::string fifo = folder_ / "video";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const pid_t pid = Start({"stream", "--json", fifo});
  const int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(end, 0);
  const std::string video = ShortVideo();
  for (size_t sent = 0; sent < video.size();) {
    const ssize_t count = write(end, video.data() + sent, video.size() - sent);
    ASSERT_GT(count, 0);
    sent += static_cast<size_t>(count);
  }
  close(end);
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.Lines(), SizeIs(1));
}

TEST_F(CliTest, StreamOfRealDrivingAnswersFiftyOneFrames) {
  const std::string frames = ORBSERVE_TEST_DATA_DIR "/seq-kitti-a/image_0";
  if (!fs::exists(frames)) GTEST_SKIP() << "NOT RUN: no images at " << frames;
  ExpectStream(RunWithServer({"stream", "--json", frames}), 51);
  ExpectStream(Run({"stream", "--json", frames}), 51);
}

}  // namespace
}  // namespace orbserve
