// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// `orbserve match` and `orbserve reference`.

#include <cmath>
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

using ::orbserve::testing::TemporaryFolder;
using ::testing::HasSubstr;
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

}  // namespace
}  // namespace orbserve
