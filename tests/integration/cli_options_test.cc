// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve`: options of pipelines and of matching, and presets.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/cli_fixture.h"

namespace orbserve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
      {{"--max-distance", "8323201"}, "match.max_distance must be in [0, 8323200]; got 8323201"},
      {{"--k", "17"}, "match.k must be in [1, 16]; got 17"},
      {{"--k", "2", "--cross-check"}, "match.cross_check and match.ratio keep at most one match"},
      {{"--match-selection", "best", "--k", "2"}, "match.k belongs to match.selection K_BEST"},
      {{"--match-window", "-1"}, "match.window_px must be 0 (off), or a finite number above 0"},
      {{"--match-offset-x", "-5"}, "match.offset_x is -5 and match.window_px is 0 (off)"},
      {{"--match-offset-y", "5"}, "match.offset_y is 5 and match.window_px is 0 (off)"},
      {{"--min-dx", "2", "--max-dx", "1"}, "match.min_dx is 2 and match.max_dx is 1"},
      {{"--max-dy", "-1"}, "match.max_dy must be in [0, 1000000]; got -1"},
      {{"--max-epipolar", "2"}, "match.max_epipolar_px is 2 and match.fundamental is none"},
      {{"--fundamental", "1,2,3", "--max-epipolar", "2"},
       "must be nine numbers, row by row; got 3"},
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
  EXPECT_EQ(table.Lines().size(), 12u);
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
          "\"LEVEL_QUOTA\",\"max_features\":500,\"capacity\":100000,\"border_px\":31,"
          "\"lapping_begin_px\":0,\"lapping_end_px\":0},\"describe\":{\"orientation\":\"INTENSITY_"
          "CENTROID\",\"descriptor_type\":"
          "\"RBRIEF_256\"},\"match\":{\"selection\":\"BEST\",\"k\":1,\"ratio\":0,"
          "\"cross_check\":false,\"max_distance\":8323200,\"window_px\":0,\"offset_x\":0,"
          "\"offset_y\":0,\"min_dx\":-1e+06,\"max_dx\":1e+06,\"max_dy\":1e+06,"
          "\"fundamental\":[],\"max_epipolar_px\":0},\"track\":{\"levels\":5,\"coarse_patch_px\":"
          "16,\"iterations\":30,"
          "\"epsilon_px\":0.005,\"min_eigen\":0.1,\"max_residual\":128,\"illumination\":\"NONE\","
          "\"template\":\"PREVIOUS\",\"redetect_percent\":30},\"sift\":{\"octave_layers\":3,"
          "\"contrast_threshold\":0.04,\"edge_threshold\":10,\"sigma\":1.6,\"first_octave\":-1}}"
          "}"));
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
      EXPECT_EQ(absl::StrContains(run.out, "\"suppression_passes\":"),
                cells[2] != "FAST" && cells[2] != "SIFT")
          << line;
      EXPECT_EQ(absl::StrContains(run.out, "\"target\":\"previous\""),
                command == "stream" && cells[3] != "NONE")
          << line;
    }
  }
  EXPECT_GE(available, 3);
}

}  // namespace
}  // namespace orbserve
