// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// `orbserve match` and `orbserve reference`.

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

namespace fs = std::filesystem;

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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

TEST_F(CliTest, APictureOfInliersDiffersFromOneOfDistances) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  const std::string b = folder_.Write("b.pgm", Scene(12));
  const std::string by_distance = folder_ / "d.png";
  const std::string by_inliers = folder_ / "i.png";
  ASSERT_TRUE(Succeeded(Run({"match", "--verify", "--draw", by_distance, a, b})));
  const Outcome inliers = Run({"match", "--inliers", "--draw", by_inliers, a, b});
  ASSERT_TRUE(Succeeded(inliers));
  EXPECT_THAT(inliers.out, HasSubstr("of one epipolar geometry"));
  EXPECT_NE(TemporaryFolder::Read(by_distance), TemporaryFolder::Read(by_inliers));
  EXPECT_EQ(Run({"match", "--inliers", a, b}).code, 2);
}

TEST_F(CliTest, MatchesArePrintedEvenIfTheirPictureFails) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  const std::string b = folder_.Write("b.pgm", Scene(12));
  const std::string taken = folder_ / "m.png";
  fs::create_directory(taken);
  const Outcome run = Run({"match", "--json", "--draw", taken, a, b});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr(taken));
  EXPECT_THAT(run.out, HasSubstr("\"query_index\":[0"));
  // A pipe can be matched, but not be read again for a picture.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  ASSERT_TRUE(WriteAll(pipe_ends[1], Scene(0, 160, 120)));
  close(pipe_ends[1]);
  stdin_fd_ = pipe_ends[0];
  const Outcome once = Run({"match", "--json", "--draw", folder_ / "n.png", "/dev/stdin", b});
  EXPECT_EQ(once.code, 1);
  EXPECT_THAT(once.err, HasSubstr("/dev/stdin: is a pipe"));
  EXPECT_THAT(once.out, HasSubstr("\"query_index\":[0"));
  close(pipe_ends[0]);
  stdin_fd_ = -1;
}

TEST_F(CliTest, AnImageThatCannotBeMatchedIsNamed) {
  const std::string good = folder_.Write("good.pgm", Scene(0));
  const std::string cut = folder_.Write("cut.jpg", "\xFF\xD8\xFF\xE0 cut off");
  for (const auto& [query, train] : {std::pair(good, cut), std::pair(cut, good)}) {
    const Outcome run = Run({"match", query, train});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr(cut + ": BAD_IMAGE: JPEG: "));
  }
  const Outcome put = RunWithServer({"reference", "put", "tile", cut});
  EXPECT_EQ(put.code, 1);
  EXPECT_THAT(put.err, HasSubstr(cut + ": BAD_IMAGE: "));
}

TEST_F(CliTest, MatchesLieInTheWindow) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  const std::string b = folder_.Write("b.pgm", Scene(12));
  const std::vector<std::string> command = {"match", "--json",           a,    b, "--match-window",
                                            "3",     "--match-offset-x", "-12"};
  const Outcome run = Run(command);
  ASSERT_TRUE(Succeeded(run));
  const auto pairs = [&run](const std::string& key) {
    std::vector<std::pair<float, float>> points;
    const size_t start = run.out.find(absl::StrCat("\"", key, "\":[[")) + key.size() + 5;
    const std::string list = run.out.substr(start, run.out.find("]]", start) - start);
    for (const auto pair : absl::StrSplit(list, "],[")) {
      const std::vector<std::string> xy = absl::StrSplit(pair, ',');
      points.emplace_back(std::stof(xy[0]), std::stof(xy[1]));
    }
    return points;
  };
  const auto query = pairs("query_xy");
  const auto train = pairs("train_xy");
  ASSERT_GT(query.size(), 20u);
  ASSERT_EQ(query.size(), train.size());
  for (size_t i = 0; i < query.size(); ++i) {
    EXPECT_NEAR(train[i].first, query[i].first - 12, 3.001);
    EXPECT_NEAR(train[i].second, query[i].second, 3.001);
  }
}

TEST_F(CliTest, ReferencesArePutListedMatchedAndDeleted) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "f", a})));
  ASSERT_TRUE(Succeeded(RunWithServer({"reference", "put", "tile", a})));
  ASSERT_TRUE(Succeeded(RunWithServer({"reference", "put", "file", folder_ / "f/a.pgm.npz"})));
  const Outcome useless =
      RunWithServer({"reference", "put", "x", "--levels", "2", folder_ / "f/a.pgm.npz"});
  EXPECT_EQ(useless.code, 2);
  EXPECT_THAT(useless.err, HasSubstr("have no effect"));
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
  EXPECT_TRUE(Succeeded(RunWithServer({"reference", "delete", "tile"})));
  EXPECT_EQ(RunWithServer({"reference", "delete", "tile"}).code, 1);
  EXPECT_EQ(RunWithServer({"match", "--reference", "tile", a}).code, 1);
  EXPECT_THAT(RunWithServer({"reference", "list", "--client-id", "somebody else"}).out,
              Not(HasSubstr("file")));
}

TEST_F(CliTest, FilesOfOrb32AreReferencesOfTheirOwnKind) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  const std::vector<std::string> extract = {
      "extract", "--pipeline", "orb-32", "--draw", folder_ / "drawn", "--out", folder_ / "f", a};
  ASSERT_TRUE(Succeeded(Run(extract)));
  const std::string file = TemporaryFolder::Read(folder_ / "f/a.pgm.npz");
  // 4 bytes tell the kind.
  EXPECT_THAT(file, Not(HasSubstr("descriptor_type.npy")));
  ASSERT_TRUE(Succeeded(
      RunWithServer({"extract", "--pipeline", "orb-32", "--out", folder_ / "remote", a})));
  EXPECT_EQ(TemporaryFolder::Read(folder_ / "remote/a.pgm.npz"), file);
  ASSERT_TRUE(Succeeded(RunWithServer({"reference", "put", "file", folder_ / "f/a.pgm.npz"})));
  const Outcome list = RunWithServer({"reference", "list", "--json"});
  EXPECT_THAT(list.out, HasSubstr("\"descriptor_bytes\":4"));
  EXPECT_THAT(list.out, HasSubstr("RBRIEF_32"));
  const Outcome match =
      RunWithServer({"match", "--json", "--pipeline", "orb-32", "--reference", "file", a});
  ASSERT_EQ(match.code, 0) << match.err;
  EXPECT_THAT(match.out, HasSubstr("\"distance\":[0,0,0"));
  const Outcome other = RunWithServer({"match", "--reference", "file", a});
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("RBRIEF_32"));
}

TEST_F(CliTest, DescriptorsOf64BytesAreWrittenMatchedAndStored) {
  const std::string a = folder_.Write("a.pgm", Scene(0));
  const auto extract = [&](const char* to) -> std::vector<std::string> {
    return {"extract", "--descriptor", "teblid-512", "--out", folder_ / to, a};
  };
  ASSERT_TRUE(Succeeded(Run(extract("f"))));
  const std::string file = TemporaryFolder::Read(folder_ / "f/a.pgm.npz");
  EXPECT_THAT(file, HasSubstr("descriptor_type.npy"));
  EXPECT_THAT(file, HasSubstr(", 64), }"));  // the shape of the descriptors
  ASSERT_TRUE(Succeeded(RunWithServer(extract("remote"))));
  EXPECT_EQ(TemporaryFolder::Read(folder_ / "remote/a.pgm.npz"), file);
  ASSERT_TRUE(Succeeded(RunWithServer({"reference", "put", "file", folder_ / "f/a.pgm.npz"})));
  const Outcome list = RunWithServer({"reference", "list", "--json"});
  EXPECT_THAT(list.out, HasSubstr("\"descriptor_bytes\":64"));
  EXPECT_THAT(list.out, HasSubstr("TEBLID_512"));
  const Outcome match =
      RunWithServer({"match", "--json", "--descriptor", "teblid-512", "--reference", "file", a});
  ASSERT_EQ(match.code, 0) << match.err;
  EXPECT_THAT(match.out, HasSubstr("\"distance\":[0,0,0"));
  const Outcome other =
      RunWithServer({"match", "--descriptor", "beblid-512", "--reference", "file", a});
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("TEBLID_512"));
}

TEST_F(CliTest, FoldersAreMatchedPairByPair) {
  const std::string in = WriteScenes(4);
  const std::vector<std::string> command = {"match",    "--exhaustive", "--cross-check",
                                            "--verify", "--json",       in};
  const Outcome run = Run(command);
  ASSERT_TRUE(Succeeded(run));
  ASSERT_THAT(run.Lines(), SizeIs(6));
  EXPECT_THAT(run.Lines()[0], HasSubstr("{\"query\":\"0.pgm\",\"train\":\"1.pgm\",\"matches\":"));
  EXPECT_THAT(run.Lines()[5], HasSubstr("{\"query\":\"2.pgm\",\"train\":\"3.pgm\",\"matches\":"));
  EXPECT_THAT(run.err, HasSubstr("6 pairs verified"));
  EXPECT_THAT(Run({"match", "--sequential", "1", in, "--json"}).Lines(), SizeIs(3));
  // One pair alone has the same number of matches.
  const auto matches_of = [](const std::string& text) {
    const size_t start = text.find("\"matches\":");
    return text.substr(start, text.find(',', start) - start);
  };
  const Outcome pair = Run({"match", "--cross-check", "--json", in + "/0.pgm", in + "/1.pgm"});
  ASSERT_TRUE(Succeeded(pair));
  EXPECT_EQ(matches_of(pair.out), matches_of(run.Lines()[0]));
}

TEST_F(CliTest, MatchesOfAFolderAreTheSameFromItsFeaturesAndWithAServer) {
  const std::string in = WriteScenes(3);
  const auto command = [&](const std::string& out, const std::string& input) {
    return std::vector<std::string>{"match", "--exhaustive", "--verify", "--out", out, input};
  };
  ASSERT_TRUE(Succeeded(Run(command(folder_ / "a", in))));
  const auto files = Files(folder_ / "a");
  EXPECT_THAT(files, SizeIs(7));  // with the record of the run
  EXPECT_TRUE(files.contains("matches/0.pgm.with/2.pgm.npz"));
  ASSERT_TRUE(Succeeded(RunWithServer(command(folder_ / "b", in))));
  EXPECT_EQ(Files(folder_ / "b"), files);
  // NPZ files of an earlier run are not written again.
  ASSERT_TRUE(Succeeded(Run(command(folder_ / "c", folder_ / "a/features"))));
  EXPECT_EQ(Files(folder_ / "c/matches"), Files(folder_ / "a/matches"));
  EXPECT_THAT(Files(folder_ / "c"), SizeIs(4));
  // Feature files of `extract` are the same.
  ASSERT_TRUE(Succeeded(Run({"extract", "--out", folder_ / "f", in})));
  for (const auto& [name, bytes] : Files(folder_ / "a/features")) {
    EXPECT_EQ(TemporaryFolder::Read(folder_ / ("f/" + name)), bytes);
  }
}

TEST_F(CliTest, PairsOfAFileAreMatchedAndBrokenImagesNamed) {
  const std::string in = WriteScenes(3);
  folder_.Write("in/broken.png", "no image");
  const std::string pairs = folder_.Write("pairs.txt", "2.pgm 0.pgm\n0.pgm broken.png\n");
  const Outcome run = Run({"match", "--pairs", pairs, "--json", in});
  EXPECT_EQ(run.code, 1);
  ASSERT_THAT(run.Lines(), SizeIs(2));
  EXPECT_THAT(run.Lines()[0], HasSubstr("\"query\":\"2.pgm\",\"train\":\"0.pgm\",\"matches\""));
  EXPECT_THAT(run.Lines()[1], HasSubstr("\"error\""));
  EXPECT_THAT(run.err, HasSubstr("broken.png"));
  const std::string unknown = folder_.Write("unknown.txt", "2.pgm 7.pgm\n");
  const Outcome refused = Run({"match", "--pairs", unknown, in});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("line 1: no input is called 7.pgm"));
}

TEST_F(CliTest, ExportsOfAFolderAreWholeFiles) {
  const std::string in = WriteScenes(3);
  for (const char* format : {"hdf5", "colmap"}) {
    const std::string out = folder_ / format;
    ASSERT_TRUE(Succeeded(Run({"match", "--exhaustive", "--format", format, "--out", out, in})));
    const auto files = Files(out);
    EXPECT_THAT(files, SizeIs(std::string(format) == "hdf5" ? 3 : 2));
    // Features alone, in two steps: the second run adds what the first has not done.
    const std::string alone = folder_ / (std::string(format) + "-alone");
    const std::vector<std::string> extract = {"extract",  "--format", format,
                                              "--resume", "--out",    alone};
    auto first = extract;
    first.insert(first.end(), {in + "/0.pgm", in + "/1.pgm"});
    ASSERT_TRUE(Succeeded(Run(first)));
    auto all = extract;
    all.insert(all.end(), {in + "/0.pgm", in + "/1.pgm", in + "/2.pgm"});
    const Outcome second = Run(all);
    ASSERT_TRUE(Succeeded(second));
    EXPECT_THAT(second.err, HasSubstr("2 images were done before"));
    EXPECT_THAT(Files(alone), SizeIs(2));  // with the record of the run
  }
}

TEST_F(CliTest, MatchingThatWasKilledIsResumedToTheSameBytes) {
  const std::string in = WriteScenes(25);
  for (const std::string format : {"npz", "hdf5", "colmap"}) {
    const auto command = [&](const std::string& out, const std::vector<std::string>& more) {
      std::vector<std::string> arguments = {"match", "--exhaustive", "--verify", "--format",
                                            format,  "--out",        out,        in};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return arguments;
    };
    const std::string out = folder_ / format;
    const std::string parts = format == "npz" ? out : out + "/.orbserve-match-parts";
    const pid_t pid = Start(command(out, {}));
    EXPECT_TRUE(HappensSoon([&] { return fs::exists(parts + "/matches/0.pgm.with/3.pgm.npz"); }));
    kill(pid, SIGKILL);
    ASSERT_EQ(Wait(pid).code, -SIGKILL);
    if (format != "npz") {
      EXPECT_FALSE(fs::exists(out + "/database.db"));
      EXPECT_FALSE(fs::exists(out + "/matches.h5"));
    }
    const Outcome resumed = Run(command(out, {"--resume", "--json"}));
    ASSERT_TRUE(Succeeded(resumed));
    EXPECT_THAT(resumed.err, HasSubstr("pairs were done before"));
    EXPECT_LT(resumed.Lines().size(), 300u);
    ASSERT_TRUE(Succeeded(Run(command(folder_ / ("whole-" + format), {}))));
    EXPECT_TRUE(Files(out) == Files(folder_ / ("whole-" + format))) << format;
    const Outcome again = Run(command(out, {"--resume", "--json"}));
    ASSERT_TRUE(Succeeded(again));
    EXPECT_THAT(again.Lines(), IsEmpty());
    EXPECT_THAT(again.err, HasSubstr("300 pairs were done before"));
  }
}

TEST_F(CliTest, ResumedMatchingDoesNewAndChangedImagesOnly) {
  const std::string in = WriteScenes(4);
  for (const std::string format : {"npz", "hdf5", "colmap"}) {
    const std::string out = folder_ / format;
    fs::remove(in + "/new.pgm");
    folder_.Write("in/2.pgm", Scene(6));
    const auto pairs_done = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments = {
          "match", "--exhaustive", "--resume", "--json", "--format", format, "--out", out, in};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const Outcome run = Run(arguments);
      EXPECT_EQ(run.code, 0) << run.err;
      return run.Lines().size();
    };
    EXPECT_EQ(pairs_done({}), 6u);
    EXPECT_EQ(pairs_done({}), 0u);
    folder_.Write("in/new.pgm", Scene(50));
    EXPECT_EQ(pairs_done({}), 4u);
    folder_.Write("in/2.pgm", Scene(70, 300, 200));
    EXPECT_EQ(pairs_done({}), 4u);
    EXPECT_EQ(pairs_done({"--cross-check"}), 10u);
    EXPECT_EQ(pairs_done({"--cross-check"}), 0u);
  }
}

TEST_F(CliTest, MatchingFoldersIsRefusedWithAReason) {
  const std::string in = WriteScenes(2);
  const auto error = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "match");
    const Outcome run = Run(arguments);
    EXPECT_EQ(run.code, 2) << run.err;
    return run.err;
  };
  EXPECT_THAT(error({in}), HasSubstr("--exhaustive"));
  EXPECT_THAT(error({"--exhaustive", "--sequential", "2", in}), HasSubstr("xcludes"));
  EXPECT_THAT(error({"--exhaustive", "--draw", "x.png", in}), HasSubstr("--draw cannot be given"));
  EXPECT_THAT(error({"--exhaustive", "--format", "csv", "--out", "x", in}), HasSubstr("npz, hdf5"));
  EXPECT_THAT(error({"--exhaustive", "--format", "hdf5", in}), HasSubstr("needs --out"));
  EXPECT_THAT(error({"--exhaustive", in + "/0.pgm"}), HasSubstr("two images or more"));
  EXPECT_THAT(error({"--exhaustive", "--resume", in}), HasSubstr("--resume needs --out"));
  EXPECT_THAT(error({"--exhaustive", "--focal", "700", "--out", "x", in}),
              HasSubstr("--focal has no effect: it needs --format colmap"));
  EXPECT_THAT(error({"--exhaustive", "--format", "colmap", "--out", "x", "--camera-model",
                     "PINHOLE", "--camera-params", "700,320", in}),
              HasSubstr("fx,fy,cx,cy"));
  EXPECT_THAT(error({"--resume", in + "/0.pgm", in + "/1.pgm"}), HasSubstr("need --exhaustive"));
  EXPECT_THAT(error({"--exhaustive", "--inliers", in}), HasSubstr("--inliers cannot be given"));
  const char* const no_check = "--verify-px 2 has no effect: it needs --verify";
  EXPECT_THAT(error({"--exhaustive", "--verify-px", "2", in}), HasSubstr(no_check));
  EXPECT_THAT(error({"--verify-px", "2", in + "/0.pgm", in + "/1.pgm"}), HasSubstr(no_check));
}

}  // namespace
}  // namespace orbserve
