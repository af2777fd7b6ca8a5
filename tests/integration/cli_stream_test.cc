// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// `orbserve stream`: folders, videos, pipes.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

// Checks that every frame has its line, in order, and matches with the frame before.
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

// Returns a video of one frame.
std::string ShortVideo() {
  const std::string scene = Scene(0);
  return absl::StrCat("YUV4MPEG2 W", kWidthPx, " H", kHeightPx, " Cmono\nFRAME\n",
                      scene.substr(scene.size() - kWidthPx * kHeightPx));
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

TEST_F(CliTest, StreamSaysWhichReferencesItCouldNotMatchWith) {
  const std::string in = WriteScenes(3);
  ASSERT_TRUE(Succeeded(RunWithServer({"reference", "put", "tile", in + "/0.pgm"})));
  const Outcome good = RunWithServer({"stream", "--reference", "tile", in});
  ASSERT_TRUE(Succeeded(good));
  const std::vector<std::string> table = good.Lines();
  ASSERT_THAT(table, SizeIs(4));
  EXPECT_THAT(table[0], MatchesRegex("frame +features +matches +tile +time/ms.*"));
  EXPECT_THAT(table[1], MatchesRegex("0.pgm +[0-9]+ +- +[1-9][0-9]* .*"));
  EXPECT_THAT(table[2], MatchesRegex("1.pgm +[0-9]+ +[1-9][0-9]* +[1-9][0-9]* .*"));

  for (const std::string format : {"table", "json"}) {
    std::vector<std::string> arguments = {"stream",      "--reference", "tile",
                                          "--reference", "a name",      in};
    if (format == "json") arguments.emplace_back("--json");
    const Outcome bad = RunWithServer(arguments);
    EXPECT_EQ(bad.code, 1) << format;
    const std::string message =
        "orbserve: 0.pgm: no matches with reference a name: REFERENCE_NOT_FOUND: ";
    const std::vector<std::string> pieces = absl::StrSplit(bad.err, message);
    EXPECT_THAT(pieces, SizeIs(2)) << bad.err;  // reported once
    EXPECT_THAT(bad.err, HasSubstr("3 frames, 2 with matches to the frame before, 3 with failed"));
    EXPECT_THAT(bad.out, HasSubstr(format == "json" ? "\"error\":" : "    a name  "));
    if (format == "json") continue;
    EXPECT_THAT(bad.Lines()[3], MatchesRegex("2.pgm +[0-9]+ +[1-9][0-9]* +[1-9][0-9]* +failed .*"));
  }
}

// A reference implies the default server, which refuses options of the embedded engine.
TEST_F(CliTest, StreamWithAReferenceNeedsAServer) {
  const Outcome run = Run({"stream", "--reference", "tile", "--threads", "1", WriteScenes(1)});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("with --server they cannot be given"));
}

TEST_F(CliTest, StreamWithoutDescriptorsAnswersEveryFrameAndMatchesNone) {
  const std::string in = WriteScenes(4);
  const std::string file =
      folder_.Write("n.textproto", "describe { descriptor_type: DESCRIPTOR_TYPE_NONE }");
  for (const std::vector<std::string>& pipeline :
       std::vector<std::vector<std::string>>{{"--descriptor", "none"}, {"--pipeline", file}}) {
    std::vector<std::string> arguments = {"stream", "--json", "--draw", folder_ / "d", in};
    arguments.insert(arguments.end(), pipeline.begin(), pipeline.end());
    for (const bool with_server : {false, true}) {
      const Outcome run = with_server ? RunWithServer(arguments) : Run(arguments);
      ASSERT_TRUE(Succeeded(run));
      ASSERT_THAT(run.Lines(), SizeIs(4));
      for (const std::string& line : run.Lines()) {
        EXPECT_THAT(line, HasSubstr("\"matches\":[]"));
        EXPECT_THAT(line, Not(HasSubstr("\"features\":0")));
      }
      EXPECT_THAT(run.err, HasSubstr("4 frames, no descriptors to match, 0 failed"));
      EXPECT_THAT(Files(folder_ / "d"), SizeIs(4));
    }
  }
  const Outcome table = Run({"stream", "--descriptor", "none", in});
  ASSERT_TRUE(Succeeded(table));
  EXPECT_THAT(table.Lines()[3], MatchesRegex("2.pgm +[0-9]+ +- .*"));
}

// A match that cannot be is refused, not left out.
TEST_F(CliTest, StreamThatIsAskedToMatchWithoutDescriptorsIsWrongUsage) {
  const std::string in = WriteScenes(1);
  for (const std::vector<std::string>& asked : std::vector<std::vector<std::string>>{
           {"--ratio", "0.8"}, {"--cross-check"}, {"--match-window", "9"}, {"--reference", "r"}}) {
    std::vector<std::string> arguments = {"stream", "--descriptor", "none", in};
    arguments.insert(arguments.end(), asked.begin(), asked.end());
    const Outcome run = RunWithServer(arguments);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_THAT(run.err, HasSubstr(absl::StrJoin(asked, " ") +
                                   " needs descriptors to match, and describe.descriptor_type"));
  }
}

TEST_F(CliTest, StreamIsInterruptedBetweenFrames) {
  const pid_t pid = Start({"stream", "--json", "--fps", "2", WriteScenes(40)});
  EXPECT_TRUE(HappensSoon([this] { return !Output().empty(); }));
  kill(pid, SIGINT);
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_GE(run.Lines().size(), 1u);
  EXPECT_LT(run.Lines().size(), 40u);
}

TEST_F(CliTest, StreamWhoseInputStallsIsInterrupted) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  stdin_fd_ = ends[0];
  const std::string video = ShortVideo();
  const pid_t pid = Start({"stream", "--json", "-"});
  ASSERT_TRUE(WriteAll(ends[1], video));
  EXPECT_TRUE(HappensSoon([this] { return !Output().empty(); }));
  kill(pid, SIGTERM);  // and the pipe stays open
  EXPECT_TRUE(EndsOrIsKilled(pid));
  close(ends[0]);
  close(ends[1]);
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_THAT(run.Lines(), SizeIs(1));
}

// A pipe may be quiet between two frames, or inside one.
TEST_F(CliTest, StreamWhoseServerDiesEndsThoughItsInputStalls) {
  for (const char* begun : {"", "FRAME\nxyz"}) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    stdin_fd_ = ends[0];
    fs::remove(folder_ / "stdout");  // of the previous run
    StartServer({});
    const pid_t pid = Start({"stream", "--json", "--server", Server().address(), "-"});
    ASSERT_TRUE(WriteAll(ends[1], ShortVideo() + begun));
    EXPECT_TRUE(HappensSoon([this] { return !Output().empty(); }));
    kill(Server().pid(), SIGKILL);  // and the pipe stays open
    EXPECT_TRUE(EndsOrIsKilled(pid));
    close(ends[0]);
    close(ends[1]);
    const Outcome run = Wait(pid);
    EXPECT_EQ(run.code, 3) << run.err;
    EXPECT_THAT(run.err, HasSubstr("the stream has ended early: "));
    EXPECT_THAT(run.err, HasSubstr(" 0 failed"));
    EXPECT_THAT(run.Lines(), SizeIs(1));
  }
}

TEST_F(CliTest, StreamOfAVideoWithoutFramesSaysSo) {
  const std::string video = folder_.Write("v.y4m", "YUV4MPEG2 W320 H240 Cmono\n");
  const Outcome run = Run({"stream", "--json", video});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr(absl::StrCat(video, ": the Y4M video has no frames")));
}

TEST_F(CliTest, StreamOfANamedPipe) {
  const std::string fifo = folder_ / "video";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const pid_t pid = Start({"stream", "--json", fifo});
  const int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(end, 0);
  const std::string video = ShortVideo();
  ASSERT_TRUE(WriteAll(end, video));
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
