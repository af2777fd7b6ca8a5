// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// `orbserve stream`: folders, videos, pipes.

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
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

// Returns the JPEG of a PGM scene.
std::string JpegOf(const std::string& scene) {
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* jpeg = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): as libjpeg-turbo has it
  const auto* pixels = reinterpret_cast<const unsigned char*>(
      scene.data() + scene.size() - static_cast<size_t>(kWidthPx) * kHeightPx);
  EXPECT_EQ(tjCompress2(encoder.get(), pixels, kWidthPx, kWidthPx, kHeightPx, TJPF_GRAY, &jpeg,
                        &size, TJSAMP_GRAY, 90, 0),
            0);
  std::string bytes(reinterpret_cast<const char*>(jpeg), size);
  tjFree(jpeg);
  return bytes;
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

TEST_F(CliTest, StreamSendsRawFramesAsJpegFilesIfAnAgeIsWanted) {
  const std::string in = WriteScenes(5);
  const auto files = [this] {
    return SumOfSeries(Server().HttpGet("/metrics"), "orbserve_jpeg_frames_total");
  };
  ExpectStream(RunWithServer({"stream", "--json", in}), 5);
  EXPECT_EQ(files(), 0);
  ExpectStream(RunWithServer({"stream", "--json", "--jpeg-age", "5", in}), 5);
  EXPECT_EQ(files(), 5);
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
  EXPECT_THAT(table[0], MatchesRegex("frame +features +matches +tile +answer/ms.*"));
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

TEST_F(CliTest, StreamRefusesTimesThatAreNoNumbers) {
  for (const char* option : {"--fps", "--reconnect", "--timeout", "--jpeg-age"}) {
    const Outcome run = Run({"stream", option, "nan", "folder"});
    EXPECT_EQ(run.code, 2) << option;
    EXPECT_THAT(run.err, HasSubstr("; got nan")) << option;
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
    const pid_t pid =
        Start({"stream", "--json", "--reconnect", "0", "--server", Server().address(), "-"});
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
  const Outcome empty = Run({"stream", "--json", "-"});
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr("stdin: the video has no frames: it is empty"));
}

TEST_F(CliTest, SourcesThatAreBrokenAreFailedInputs) {
  const std::string empty = folder_.Write("empty.jpg", "");
  const std::string size = folder_.Write("v.y4m", "YUV4MPEG2 W0 H240 Cmono\n");
  const std::string kind = folder_.Write("w.y4m", "YUV4MPEG2 W320 H240 C420p10\n");
  EXPECT_EQ(Run({"stream", "--simulate", empty}).code, 1);
  EXPECT_EQ(Run({"stream", "--simulate", folder_ / "none.jpg"}).code, 1);
  EXPECT_EQ(Run({"stream", size}).code, 1);
  EXPECT_EQ(Run({"stream", kind}).code, 2);  // as every video that is not read
}

TEST_F(CliTest, StreamOfAnMjpegFileAnswersEveryJpegOfIt) {
  const std::string one = JpegOf(Scene(0));
  std::string video;
  for (int i = 0; i < 24; ++i) video += JpegOf(Scene(i * 2));
  ExpectStream(Run({"stream", "--json", folder_.Write("in/video.jpg", video)}), 24);
  stdin_ = video;
  ExpectStream(Run({"stream", "--json", "-"}), 24);

  // The first of three frames is cut off.
  stdin_ = one.substr(0, one.size() / 2) + one + one;
  const Outcome cut = Run({"stream", "--json", "--draw", folder_ / "d", "-"});
  EXPECT_EQ(cut.code, 1);
  EXPECT_THAT(cut.err, HasSubstr("000000: the JPEG is cut off: another one begins after "));
  EXPECT_THAT(cut.Lines(), SizeIs(2));
  EXPECT_THAT(Files(folder_ / "d"), SizeIs(2));
}

TEST_F(CliTest, StreamOfAForeignVideoNamesTheCommandThatReadsIt) {
  std::string bytes("\0\0\0\30ftypmp42", 12);
  bytes.resize(512);
  const std::string video = folder_.Write("v.mp4", bytes);
  const std::string command =
      "ffmpeg -loglevel error -i '" + video + "' -f yuv4mpegpipe -pix_fmt yuv420p - | orbserve ";
  const Outcome run = Run({"stream", video});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr(command + "stream -"));
  EXPECT_THAT(Run({"stream", "--track", video}).err, HasSubstr(command + "stream --track -"));
}

TEST_F(CliTest, StreamOfACameraThatIsNotThereSaysSo) {
  const Outcome run = Run({"stream", "/dev/video99"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("/dev/video99: cannot be opened"));
}

TEST_F(CliTest, StreamEndsAfterTheWantedNumberOfFrames) {
  ExpectStream(Run({"stream", "--json", "--frames", "3", WriteScenes(10)}), 3);
}

// The numbers in the list behind `key`, for example of a JSON array of numbers.
std::vector<double> NumbersAt(const std::string& line, const std::string& key) {
  std::vector<double> numbers;
  const size_t at = line.find("\"" + key + "\":[");
  if (at == std::string::npos) return numbers;
  const size_t begin = at + key.size() + 4;
  for (const absl::string_view text :
       absl::StrSplit(absl::string_view(line).substr(begin, line.find(']', begin) - begin), ',')) {
    double number = 0;
    if (absl::SimpleAtod(text, &number)) numbers.push_back(number);
  }
  return numbers;
}

double NumberAt(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\":");
  return at == std::string::npos ? -1 : std::atof(line.c_str() + at + key.size() + 3);
}

TEST_F(CliTest, StreamOfASimulatedFlightTracksWhatTrulyMoves) {
  const std::string photo = folder_.Write("photo.pgm", Scene(0, 900, 700));
  const std::vector<std::string> arguments = {"stream",     "--track", "--json",
                                              "--frames",   "40",      "--size",
                                              "320x240",    "--draw",  folder_ / "d/tails.y4m",
                                              "--simulate", photo};
  const Outcome run = Run(arguments);
  ASSERT_TRUE(Succeeded(run));
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(40));
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(NumbersAt(lines[i], "to_photo"), SizeIs(6));
    EXPECT_THAT(lines[i], HasSubstr("\"tracks\":[{\"id\":"));
    EXPECT_THAT(lines[i], HasSubstr("\"ended\":["));
    if (i == 0) continue;
    EXPECT_THAT(NumbersAt(lines[i], "from_previous"), SizeIs(6));
    // Half a pixel, over up to 40 frames of a scene of sharp rectangles.
    EXPECT_GE(NumberAt(lines[i], "median_track_error_px"), 0) << i;
    EXPECT_LT(NumberAt(lines[i], "median_track_error_px"), 0.5) << i;
  }
  EXPECT_THAT(run.err, ContainsRegex("40 frames, [0-9.]+ tracks on average, 0 failed"));
  const std::string video = testing::TemporaryFolder::Read(folder_ / "d/tails.y4m");
  EXPECT_EQ(video.size(), std::string("YUV4MPEG2 W320 H240 F30000:1000 Ip A1:1 C444\n").size() +
                              40 * (6 + 3 * 320 * 240));
  // Through a server the times of the program differ, and its tracks do not.
  std::vector<std::string> table = {"stream", "--track", "--frames", "5", "--simulate", photo};
  const Outcome text = RunWithServer(table);
  ASSERT_TRUE(Succeeded(text));
  EXPECT_THAT(text.Lines()[0],
              MatchesRegex("frame +features +matches +tracks +mean-age +ended +true-dx +true-dy "
                           "+zoom +turn +error/px +answer/ms.*"));
  EXPECT_THAT(text.Lines()[5], MatchesRegex("000004 +[0-9]+ +- +[1-9][0-9]* +[0-9.]+ +[0-9]+ .*"));
}

TEST_F(CliTest, StreamOfFilesThatAreNamedByTheirTimesHasThese) {
  folder_.Write("in/1305031102.175304.pgm", Scene(0));
  folder_.Write("in/1305031102.211214.pgm", Scene(3));
  const Outcome run = Run({"stream", "--json", "--matches", "--fps", "100", folder_ / "in"});
  ExpectStream(run, 2);
  EXPECT_THAT(run.Lines()[0], HasSubstr("\"timestamp_ns\":1305031102175304000,"));
  EXPECT_THAT(run.Lines()[1], HasSubstr("\"timestamp_ns\":1305031102211214000,"));
  EXPECT_GT(NumberAt(run.Lines()[1], "age_ms"), NumberAt(run.Lines()[1], "round_trip_ms"));
  EXPECT_GT(NumberAt(run.Lines()[1], "round_trip_ms"), 0);
  const size_t count = static_cast<size_t>(NumberAt(run.Lines()[1], "count"));
  for (const std::string key : {"query_index", "train_index", "distance"}) {
    EXPECT_THAT(NumbersAt(run.Lines()[1], key), SizeIs(count)) << key;
  }
  EXPECT_THAT(run.Lines()[1], HasSubstr("\"train_xy\":[["));
}

TEST_F(CliTest, StreamMatchesWithKeyframes) {
  const Outcome run =
      Run({"stream", "--json", "--match-keyframe", "--keyframe-every", "3", WriteScenes(8)});
  ASSERT_TRUE(Succeeded(run));
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(8));
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], HasSubstr(i % 3 == 0 ? "\"keyframe\":true" : "\"keyframe\":false"));
    if (i == 0) continue;
    EXPECT_THAT(lines[i], HasSubstr(absl::StrCat("\"target\":\"keyframe\",\"target_sequence\":",
                                                 (i - 1) / 3 * 3, ",")));
  }
}

// Every frame is there, done or dropped, and drops that were asked for are no failure.
TEST_F(CliTest, StreamWithADropPolicyTellsWhichFramesWereDropped) {
  for (const std::string policy : {"newest", "oldest"}) {
    const Outcome run = Run({"stream", "--json", "--drop-policy", policy, "--max-features", "5000",
                             "--threads", "1", WriteScenes(60)});
    EXPECT_EQ(run.code, 0) << run.err;
    const std::vector<std::string> lines = run.Lines();
    ASSERT_THAT(lines, SizeIs(60));
    int dropped = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_THAT(lines[i], HasSubstr(absl::StrCat("\"sequence\":", i, ",")));
      dropped += absl::StrContains(lines[i], "\"reason\":\"DROPPED\"") ? 1 : 0;
    }
    EXPECT_THAT(run.err, HasSubstr(absl::StrCat(60 - dropped, " frames, ")));
    if (dropped == 0) continue;
    EXPECT_THAT(run.err, HasSubstr(absl::StrCat(dropped, " dropped, ")));
  }
}

TEST_F(CliTest, StreamMayBeginBeforeItsServer) {
  StartServer({});
  const std::string address = Server().address();
  server_.reset();
  const pid_t pid = Start({"stream", "--json", "--server", address, WriteScenes(3)});
  EXPECT_TRUE(HappensSoon([this] {
    return absl::StrContains(testing::TemporaryFolder::Read(folder_ / "stderr"),
                             "cannot be reached");
  }));
  StartServer({"--listen", address});
  const Outcome run = Wait(pid);
  EXPECT_TRUE(Succeeded(run));
  EXPECT_THAT(run.Lines(), SizeIs(3));
  EXPECT_THAT(run.err, HasSubstr(absl::StrCat("trying for 30s: the server ", address)));
}

TEST_F(CliTest, StreamGoesOnWhenItsServerIsKilledAndStartedAgain) {
  StartServer({});
  const std::string address = Server().address();
  const pid_t pid =
      Start({"stream", "--json", "--fps", "40", "--server", address, WriteScenes(120)});
  const auto lines_so_far = [this] {
    const std::string out = Output();
    return std::count(out.begin(), out.end(), '\n');
  };
  EXPECT_TRUE(HappensSoon([&] { return lines_so_far() > 5; }));
  kill(Server().pid(), SIGKILL);
  server_.reset();
  StartServer({"--listen", address});
  const Outcome run = Wait(pid);
  const std::vector<std::string> lines = run.Lines();
  ASSERT_THAT(lines, SizeIs(120)) << run.err;
  int reconnected = 0;
  int lost = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], HasSubstr(absl::StrCat("\"sequence\":", i, ",")));
    reconnected += absl::StrContains(lines[i], "\"reconnected\":{\"attempts\":") ? 1 : 0;
    lost += absl::StrContains(lines[i], "\"code\":\"UNAVAILABLE\"") ? 1 : 0;
  }
  EXPECT_EQ(reconnected, 1) << run.err;
  EXPECT_EQ(run.code, lost > 0 ? 1 : 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("orbserve: the connection is lost, with "));
  EXPECT_THAT(run.err, HasSubstr("orbserve: connected again after "));
  EXPECT_THAT(run.err, HasSubstr("connected again 1x"));
}

// Returns what a program that has ended wrote to a terminal, which is closed.
std::string ReadTerminal(int terminal) {
  std::string shown;
  char buffer[4096];
  // Everything is in the terminal by now. Behind it the read fails, as no program is left.
  for (ssize_t size = 0; (size = read(terminal, buffer, sizeof(buffer))) > 0;) {
    shown.append(buffer, static_cast<size_t>(size));
  }
  close(terminal);
  return shown;
}

TEST_F(CliTest, StreamShowsItsStatusOnATerminal) {
  const std::string photo = folder_.Write("photo.pgm", Scene(0, 900, 700));
  for (const bool quiet : {false, true}) {
    int terminal = -1;
    ASSERT_EQ(openpty(&terminal, &stderr_fd_, nullptr, nullptr, nullptr), 0);
    std::vector<std::string> arguments = {"stream",  "--track",    "--json", "--fps",
                                          "20",      "--frames",   "20",     "--size",
                                          "320x240", "--simulate", photo};
    if (quiet) arguments.emplace_back("--quiet");
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 0);
    close(stderr_fd_);
    const std::string shown = ReadTerminal(terminal);
    if (quiet) {
      EXPECT_EQ(shown, "");
      continue;
    }
    EXPECT_THAT(shown,
                ContainsRegex("/20 frames, [0-9.]+ a second, latency [0-9.]+ ms, [1-9][0-9]* "
                              "tracks\r"));
    EXPECT_THAT(shown, HasSubstr("\r\033[Korbserve: 20 frames, "));  // in its place at the end
    EXPECT_THAT(run.out, Not(HasSubstr("latency")));
  }
}

// A status that wraps could not be removed.
TEST_F(CliTest, StreamFitsItsStatusIntoTheTerminal) {
  const std::string photo = folder_.Write("photo.pgm", Scene(0, 900, 700));
  int terminal = -1;
  const winsize narrow = {.ws_row = 24, .ws_col = 30, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&terminal, &stderr_fd_, nullptr, nullptr, &narrow), 0);
  const Outcome run = Run({"stream", "--json", "--fps", "20", "--frames", "20", "--size", "320x240",
                           "--simulate", photo});
  EXPECT_EQ(run.code, 0);
  close(stderr_fd_);
  const std::string shown = ReadTerminal(terminal);
  EXPECT_THAT(shown, HasSubstr("/20 frames, "));
  for (const absl::string_view status : absl::StrSplit(shown, "\r\033[K")) {
    if (absl::StartsWith(status, "orbserve: ")) continue;
    EXPECT_LT(status.size(), 30u) << status;
  }
}

// The photograph may be a picture of an earlier run.
TEST_F(CliTest, StreamNeverDrawsOverItsPhotograph) {
  const std::string photo = folder_.Write("d/000001.png", Scene(0, 900, 700));
  const Outcome run =
      Run({"stream", "--frames", "3", "--draw", folder_ / "d", "--simulate", photo});
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("would be replaced by the output"));
  EXPECT_TRUE(testing::TemporaryFolder::Read(photo) == Scene(0, 900, 700));  // short if it fails
}

// Accepts a stream and never answers its opening.
class SilentService : public v1::Features::Service {
 public:
  grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status StreamFrames(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::StreamFramesResponse, v1::StreamFramesRequest>*) override {
    asked = true;
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status::CANCELLED;
  }

  std::atomic<bool> asked = false;
};

TEST_F(CliTest, StreamIsInterruptedWhileItIsOpened) {
  SilentService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const pid_t pid = Start({"stream", "--server", absl::StrCat("127.0.0.1:", port), WriteScenes(2)});
  EXPECT_TRUE(HappensSoon([&] { return service.asked.load(); }));
  kill(pid, SIGINT);
  EXPECT_TRUE(EndsOrIsKilled(pid));
  EXPECT_EQ(Wait(pid).code, -SIGINT);
  server->Shutdown();
}

TEST_F(CliTest, StreamKeepsTheVideoOfAnInterruptedRun) {
  const std::string photo = folder_.Write("photo.pgm", Scene(0, 900, 700));
  const pid_t pid = Start({"stream", "--json", "--fps", "20", "--frames", "100000", "--draw",
                           folder_ / "v.Y4M", "--simulate", photo});
  EXPECT_TRUE(HappensSoon([this] { return !Output().empty(); }));
  kill(pid, SIGINT);
  const Outcome run = Wait(pid);
  EXPECT_EQ(run.code, 130) << run.err;
  const std::string video = testing::TemporaryFolder::Read(folder_ / "v.Y4M");
  EXPECT_THAT(video.substr(0, 20), HasSubstr("YUV4MPEG2 W640 H480"));
  EXPECT_THAT(Files(folder_.path()), SizeIs(5));  // stdin, stdout, stderr, photograph, video
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
