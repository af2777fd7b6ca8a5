// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// `orbserve extract`, with its embedded engine and with a real server.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::orbserve::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(CliTest, ExtractGivesTheSameFilesAloneFromAServerAndAgain) {
  const std::string in = WriteScenes(12);
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "a", in})));
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "b", "--threads", "1", in})));
  ASSERT_TRUE(Succeeded(RunWithServer({"extract", "--out", folder_ / "c", in})));
  const auto files = Files(folder_ / "a");
  EXPECT_THAT(files, SizeIs(13));  // and the log for --resume
  EXPECT_GT(files.at("11.pgm.npz").size(), 10'000u);
  EXPECT_TRUE(files == Files(folder_ / "b"));
  EXPECT_TRUE(files == Files(folder_ / "c"));
}

TEST_F(CliTest, ThePresetBFrostGivesTheSameFilesAloneAndFromAServer) {
  const std::string in = WriteScenes(3);
  const auto extract = [&](const char* to) -> std::vector<std::string> {
    return {"extract",         "--pipeline", "bfrost",     "--draw",
            folder_ / "drawn", "--out",      folder_ / to, in};
  };
  ASSERT_TRUE(Succeeded(Run(extract("a"))));
  ASSERT_TRUE(Succeeded(RunWithServer(extract("b"))));
  const auto files = Files(folder_ / "a");
  EXPECT_THAT(files, SizeIs(4));  // and the log for --resume
  EXPECT_TRUE(files == Files(folder_ / "b"));
  EXPECT_THAT(files.at("1.pgm.npz"), HasSubstr("descriptor_type.npy"));
  EXPECT_THAT(Files(folder_ / "drawn"), SizeIs(3));
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "orb", in})));
  EXPECT_THAT(Files(folder_ / "orb").at("1.pgm.npz"), Not(HasSubstr("descriptor_type.npy")));
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

// Returns the first column of a table.
std::vector<std::string> FirstWords(const std::vector<std::string>& lines) {
  std::vector<std::string> words;
  for (const std::string& line : lines) words.push_back(line.substr(0, line.find(' ')));
  return words;
}

TEST_F(CliTest, TimingsFollowTheTableAndHaveARowForEveryPart) {
  const Outcome run = Run({"extract", "--timings", WriteScenes(3)});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = run.Lines();
  ASSERT_GE(lines.size(), 12u);
  EXPECT_TRUE(absl::StartsWith(lines[3], "2.pgm ")) << lines[3];
  EXPECT_EQ(lines[4], "");
  const std::vector<std::string> table(lines.begin() + 5, lines.end());
  EXPECT_THAT(table[0], MatchesRegex("stage +frames +median/ms +p90/ms +share/% +sampled"));
  std::vector<std::string> parts = FirstWords(table);
  EXPECT_THAT(parts, IsSupersetOf({"decode", "queue", "upload", "compute", "download", "total"}));
  EXPECT_EQ(parts[6], "compute");
  EXPECT_EQ(parts.back(), "total");
  EXPECT_THAT(table[3], MatchesRegex("decode +3 +[0-9.]+ +[0-9.]+ +- +no"));
  EXPECT_THAT(table[6], MatchesRegex("compute +3 +[0-9.]+ +[0-9.]+ +- +no"));
  EXPECT_THAT(table.back(), MatchesRegex("total +3 +[0-9.]+ +[0-9.]+ +- +no"));
}

TEST_F(CliTest, TimingsHaveARowForEveryStageOfThePipeline) {
  const std::string in = WriteScenes(3);
  const Outcome run = Run({"extract", "--timings", "--backend", "cpu", in});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = run.Lines();
  double shares = 0;
  std::string stages;
  for (const std::string& line : lines) {
    const std::vector<std::string> cells = absl::StrSplit(line, ' ', absl::SkipEmpty());
    double share = 0;
    if (cells.size() != 6 || !absl::SimpleAtod(cells[4], &share)) continue;
    EXPECT_EQ(cells[1], "3") << line;
    EXPECT_EQ(cells[5], "no") << line;
    shares += share;
    stages += cells[0] + "+";
  }
  EXPECT_NEAR(shares, 100, 0.5) << run.out;
  for (const char* stage : {"pyramid", "detect", "suppress", "select", "orient", "describe"}) {
    EXPECT_THAT(stages, HasSubstr(absl::StrCat(stage, "+")));
  }
  EXPECT_THAT(Run({"extract", "--json", "--backend", "cpu", in}).out,
              HasSubstr("\"stages\":[{\"stage\":\"pyramid"));
}

TEST_F(CliTest, TimingsInJsonAreOneMoreLine) {
  const Outcome run = Run({"extract", "--timings", "--json", WriteScenes(2)});
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(3));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(lines[i], AllOf(HasSubstr("\"timings_ms\":{"), HasSubstr("\"stages\":[")));
  }
  EXPECT_TRUE(absl::StartsWith(lines[2], "{\"timing_summary\":[{\"stage\":\"admit\",\"frames\":2,"))
      << lines[2];
  EXPECT_THAT(lines[2], HasSubstr("{\"stage\":\"total\",\"frames\":2,"));
}

TEST_F(CliTest, TimingsLeaveTheOutputsAloneAndArePrintedWhenQuiet) {
  const std::string in = WriteScenes(2);
  folder_.Write("in/bad.png", "broken");
  EXPECT_EQ(Run({"extract", "--out", folder_ / "a", in}).code, 1);
  const Outcome timed = Run({"extract", "--timings", "--quiet", "--out", folder_ / "b", in});
  EXPECT_EQ(timed.code, 1) << timed.err;
  EXPECT_TRUE(Files(folder_ / "a") == Files(folder_ / "b"));
  ASSERT_FALSE(timed.Lines().empty());
  EXPECT_TRUE(absl::StartsWith(timed.Lines()[0], "stage ")) << timed.Lines()[0];
  // The image that failed has no times.
  EXPECT_THAT(timed.Lines().back(), MatchesRegex("total +2 .*"));

  const Outcome both = Run({"extract", "--timings", "--format", "csv", in});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--timings and --format"));
}

TEST_F(CliTest, TextFormatsGoToFilesOrToStandardOutput) {
  const std::string in = WriteScenes(3);
  for (const std::string format : {"jsonl", "csv"}) {
    const Outcome run = Run({"extract", "--format", format, in});
    ASSERT_EQ(run.code, 0) << run.err;
    ASSERT_TRUE(Succeeded(Run({"extract", "--format", format, "--out", folder_ / format, in})));
    std::string joined;
    for (const auto& [name, text] : Files(folder_ / format)) {
      if (!absl::EndsWith(name, format)) continue;
      // Column names come once.
      joined += format == "csv" && !joined.empty() ? text.substr(text.find('\n') + 1) : text;
    }
    EXPECT_EQ(run.out, joined) << format;
    EXPECT_FALSE(joined.empty());
  }
}

// gRPC may wait for ten seconds before it ends, after a large message.
TEST_F(CliTest, ExtractOfALargeImageEndsWhenItIsDone) {
  folder_.Write("large.pgm", Scene(0, 2048, 2048));
  for (int i = 0; i < 4; ++i) {
    fs::remove(folder_ / "stderr");
    const pid_t program = Start(
        {"extract", "--format", "csv", "--server", Server().address(), folder_ / "large.pgm"});
    // The last line comes when all is written. Time before it is that of the machine.
    EXPECT_TRUE(HappensSoon([&] {
      return absl::StrContains(TemporaryFolder::Read(folder_ / "stderr"), "images a second");
    }));
    const auto done = std::chrono::steady_clock::now();
    EXPECT_TRUE(Succeeded(Wait(program)));
    EXPECT_LT(std::chrono::steady_clock::now() - done, std::chrono::seconds(8));
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
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "out", in})));
  const Outcome again = Run({"extract", "--resume", "--out", folder_ / "out", in});
  EXPECT_TRUE(Succeeded(again));
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

TEST_F(CliTest, ShardsPartTheWorkAndTogetherGiveTheWhole) {
  const std::string in = WriteScenes(10);
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "whole", in})));
  for (const char* shard : {"0/3", "1/3", "2/3"}) {
    ASSERT_TRUE(Succeeded(Run({"extract", "--shard", shard, "--out", folder_ / "parts", in})));
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
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", out, in})));
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

TEST_F(CliTest, ResumeMakesAgainWhatWasCutOff) {
  const std::string in = WriteScenes(4);
  const std::vector<std::string> command = {"extract",       "--resume", "--json",      "--out",
                                            folder_ / "out", "--draw",   folder_ / "d", in};
  ASSERT_TRUE(Succeeded(Run(command)));
  const auto outputs = Files(folder_ / "out");
  const auto pictures = Files(folder_ / "d");
  fs::resize_file(folder_ / "out/0.pgm.npz", 0);
  fs::resize_file(folder_ / "out/1.pgm.npz", fs::file_size(folder_ / "out/1.pgm.npz") / 2);
  fs::resize_file(folder_ / "d/2.pgm.png", fs::file_size(folder_ / "d/2.pgm.png") / 2);
  const Outcome again = Run(command);
  EXPECT_TRUE(Succeeded(again));
  EXPECT_THAT(again.Lines(), SizeIs(3));
  EXPECT_TRUE(Files(folder_ / "out") == outputs);
  EXPECT_TRUE(Files(folder_ / "d") == pictures);
}

TEST_F(CliTest, InterruptKeepsWhatIsDoneAndResumeFinishes) {
  const std::string in = WriteScenes(2);
  for (int i = 0; i < 60; ++i)
    folder_.Write(absl::StrCat("in/", 100 + i, ".pgm"), Scene(i, 900, 700));
  const std::string out = folder_ / "out";
  // The reference loops are slow enough to be interrupted.
  const std::vector<std::string> command = {"extract", "--backend", "cpu-reference",
                                            "--out",   out,         in};
  const pid_t pid = Start(command);
  EXPECT_TRUE(HappensSoon([&] { return fs::exists(out + "/0.pgm.npz"); }));
  kill(pid, SIGINT);
  const Outcome interrupted = Wait(pid);
  ASSERT_EQ(interrupted.code, 130) << interrupted.err;
  const auto kept = Files(out);
  EXPECT_LT(kept.size(), 63u);
  for (const auto& [name, bytes] : kept) EXPECT_THAT(name, Not(HasSubstr(".part")));
  ASSERT_TRUE(Succeeded(Run({"extract", "--resume", "--out", out, in})));
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "whole", in})));
  EXPECT_TRUE(Files(out) == Files(folder_ / "whole"));
}

TEST_F(CliTest, NamesFromStandardInputAndOneOutputTwice) {
  stdin_ =
      absl::StrCat(folder_.Write("x.pgm", Scene(0)), "\n", folder_.Write("y.pgm", Scene(9)), "\n");
  const Outcome run = Run({"extract", "-"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.Lines(), SizeIs(3));
  stdin_.clear();
  const Outcome none = Run({"extract", "-"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_THAT(none.err, HasSubstr("no names on standard input"));
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

TEST_F(CliTest, FeaturesAreKeptIfTheirPictureFails) {
  const std::string in = WriteScenes(3);
  fs::create_directories(folder_ / "d/1.pgm.png");
  const Outcome run =
      Run({"extract", "--json", "--out", folder_ / "o", "--draw", folder_ / "d", in});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("1.pgm: "));
  EXPECT_TRUE(fs::exists(folder_ / "o/1.pgm.npz"));
  ASSERT_THAT(run.Lines(), SizeIs(3));
  EXPECT_THAT(run.Lines()[0], HasSubstr("\"overlay\":"));
  EXPECT_THAT(run.Lines()[1], HasSubstr("\"output\":"));
  EXPECT_THAT(run.Lines()[1], Not(HasSubstr("\"overlay\":")));
  EXPECT_THAT(run.Lines()[1], Not(HasSubstr("\"error\":")));
  // A later run draws what is missing, and nothing else.
  fs::remove(folder_ / "d/1.pgm.png");
  const Outcome again =
      Run({"extract", "--json", "--resume", "--out", folder_ / "o", "--draw", folder_ / "d", in});
  ASSERT_TRUE(Succeeded(again));
  EXPECT_THAT(again.Lines(), SizeIs(1));
}

TEST_F(CliTest, ExtractOfANamedPipeWaitsForItsImageAndCanBeInterrupted) {
  const std::string fifo = folder_ / "image";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  pid_t pid = Start({"extract", "--json", fifo});
  const int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
  ASSERT_GE(end, 0);
  const std::string scene = Scene(0);
  ASSERT_TRUE(WriteAll(end, scene));
  close(end);
  const Outcome read = Wait(pid);
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.Lines(), SizeIs(1));

  // Nobody writes to the pipe. The output of the other image shows that the command is at work.
  pid = Start({"extract", "--out", folder_ / "out", folder_.Write("a.pgm", scene), fifo});
  EXPECT_TRUE(HappensSoon([&] { return fs::exists(folder_ / "out/a.pgm.npz"); }));
  kill(pid, SIGTERM);
  EXPECT_TRUE(EndsOrIsKilled(pid));
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/a.pgm.npz"));
}

TEST_F(CliTest, ExtractWhoseServerDiesEndsThoughAPipeStalls) {
  const std::string quiet = folder_ / "quiet";
  const std::string late = folder_ / "late";
  ASSERT_EQ(mkfifo(quiet.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(late.c_str(), 0600), 0);
  const std::string scene = Scene(0);
  const pid_t pid = Start({"extract", "--server", Server().address(), "--out", folder_ / "out",
                           folder_.Write("a.pgm", scene), quiet, late});
  EXPECT_TRUE(HappensSoon([&] { return fs::exists(folder_ / "out/a.pgm.npz"); }));
  kill(Server().pid(), SIGKILL);
  const int end = open(late.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
  ASSERT_GE(end, 0);
  ASSERT_TRUE(WriteAll(end, scene));
  close(end);
  EXPECT_TRUE(EndsOrIsKilled(pid));  // and nobody writes to the other pipe
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/a.pgm.npz"));
}

TEST_F(CliTest, FeaturesAreShownOnTheirImageAndOnASheet) {
  const std::string in = WriteScenes(2);
  const std::string sheet = folder_ / "sheet.html";
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "f", "--sheet", sheet, in})));
  EXPECT_THAT(TemporaryFolder::Read(sheet), HasSubstr("<b>1.pgm</b>"));
  const std::string picture = folder_ / "p.png";
  const Outcome shown = Run({"show", "--draw", picture, folder_ / "f/0.pgm.npz", in + "/0.pgm"});
  ASSERT_TRUE(Succeeded(shown));
  EXPECT_THAT(shown.err, HasSubstr("features drawn in"));
  // `extract --draw` draws the same.
  ASSERT_TRUE(Succeeded(Run({"extract", "--draw", folder_ / "d", in})));
  EXPECT_EQ(TemporaryFolder::Read(picture), TemporaryFolder::Read(folder_ / "d/0.pgm.png"));
  const std::string other = folder_.Write("other.pgm", Scene(0, 160, 120));
  const Outcome wrong = Run({"show", "--draw", picture, folder_ / "f/0.pgm.npz", other});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("of an image of 320x240"));
}

}  // namespace
}  // namespace orbserve
