// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The independent oracle of ORB-SLAM3's extractor reproduces its published reference values, and
// every stage of two of them. Tests that compare a backend with the oracle rest on this.

#include "tests/support/orb_slam3_oracle.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/support/orb_slam3_values.h"
#include "tests/support/reference_lines.h"

namespace orbserve::testing {
namespace {

const char kSlam3Folder[] = ORBSERVE_TEST_DATA_DIR;

std::string HexOfCrc(const std::string& text) {
  char hex[9];
  std::snprintf(hex, sizeof(hex), "%08x", Crc32(text));
  return hex;
}

OracleOptions OptionsOf(const Slam3Settings& settings) {
  OracleOptions options;
  options.max_features = settings.max_features;
  options.scale_factor = settings.scale_factor;
  options.levels = settings.levels;
  options.threshold = settings.threshold;
  options.threshold_low = settings.threshold_low;
  options.lapping_begin = settings.lapping_begin;
  options.lapping_end = settings.lapping_end;
  return options;
}

std::string BytesOf(const GreyPlane& plane) {
  std::string bytes;
  for (const int value : plane.values) bytes += static_cast<char>(value);
  return bytes;
}

// Some take half a minute of a busy processor: each is a test of its own.
class Slam3OracleTest : public ::testing::TestWithParam<Slam3Value> {};

TEST_P(Slam3OracleTest, GivesThePublishedAnswer) {
  const Slam3Value& value = GetParam();
  const auto image = Slam3Image(value, kSlam3Folder);
  if (!image.has_value()) GTEST_SKIP() << "no image " << NameOf(value);
  const Slam3Answer answer = Slam3Extract(PlaneOf(image->view()), OptionsOf(value.settings));
  const std::string lines = value.lines;
  ASSERT_EQ(answer.refusal.empty(), !lines.empty()) << NameOf(value) << ": " << answer.refusal;
  if (lines.empty()) return;
  EXPECT_EQ(ValueWithDescriptor(answer.features), lines) << NameOf(value);
  EXPECT_EQ(answer.first_lapping, value.first_lapping) << NameOf(value);
  if (*value.records != '\0') {
    EXPECT_EQ(HexOfCrc(Slam3Records(answer)), value.records) << NameOf(value);
  }
}

INSTANTIATE_TEST_SUITE_P(Published, Slam3OracleTest, ::testing::ValuesIn(Slam3Values()),
                         [](const auto& test) { return "Value" + std::to_string(test.index); });

TEST(Slam3OracleStagesTest, GivesEveryPublishedStage) {
  for (const Slam3Stage& stage : Slam3Stages()) {
    const Slam3Value value = {stage.file, {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "", "", 0};
    const auto image = Slam3Image(value, kSlam3Folder);
    if (!image.has_value()) continue;
    const Slam3Answer answer = Slam3Extract(PlaneOf(image->view()), OptionsOf(value.settings));
    const Slam3Level& level = answer.levels[static_cast<size_t>(stage.level)];
    const std::string place = NameOf(value) + ", level " + std::to_string(stage.level);
    EXPECT_EQ(level.pixels.width, stage.width_px) << place;
    EXPECT_EQ(level.pixels.height, stage.height_px) << place;
    EXPECT_EQ(level.quota, stage.quota) << place;
    EXPECT_EQ(HexOfCrc(BytesOf(level.pixels)), stage.pixels) << place;
    EXPECT_EQ(HexOfCrc(BytesOf(level.smoothed)), stage.smoothed) << place;
    std::string lines;
    for (const Slam3Candidate& candidate : level.candidates) {
      lines += std::to_string(candidate.x) + "," + std::to_string(candidate.y) + "," +
               std::to_string(candidate.score) + "\n";
    }
    EXPECT_EQ(static_cast<int>(level.candidates.size()), stage.candidates) << place;
    EXPECT_EQ(HexOfCrc(lines), stage.candidate_lines) << place;
    EXPECT_EQ(level.roots, stage.roots) << place;
    EXPECT_EQ(level.sorts, stage.sorts) << place;
    EXPECT_EQ(static_cast<int>(level.kept.size()), stage.kept) << place;
  }
}

}  // namespace
}  // namespace orbserve::testing
