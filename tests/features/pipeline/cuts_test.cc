// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/cuts.h"

#include <gtest/gtest.h>

#include <vector>

namespace orbserve {
namespace {

std::vector<int32_t> FirstOf(const std::array<int32_t, kMaxLevels>& cuts, int levels) {
  return {cuts.begin(), cuts.begin() + levels};
}

TEST(CutsTest, QuotasOf500AreAGeometricSeries) {
  // 500 * (1 - q) / (1 - q^8) = 108.59 with q = 1 / 1.2, then times q each; the last level gets
  // what is left.
  const Cuts cuts = Cuts::For({}, {.max_features = 500});
  EXPECT_FALSE(cuts.all_levels);
  EXPECT_EQ(FirstOf(cuts.by_response, 8), (std::vector<int32_t>{109, 90, 75, 63, 52, 44, 36, 31}));
  // Harris responses choose from twice as many.
  EXPECT_EQ(FirstOf(cuts.by_score, 8), (std::vector<int32_t>{218, 180, 150, 126, 104, 88, 72, 62}));
}

TEST(CutsTest, WithoutAResponseTheScoreCutsOnce) {
  PipelineOptions options;
  options.detect.score = Score::kFast;
  const Cuts cuts = Cuts::For(options, {.max_features = 500});
  EXPECT_EQ(cuts.by_score, cuts.by_response);
  EXPECT_EQ(cuts.by_response[0], 109);
}

TEST(CutsTest, FewFeaturesLeaveLowLevelsWithNone) {
  const Cuts cuts = Cuts::For({}, {.max_features = 1});
  EXPECT_EQ(FirstOf(cuts.by_response, 8), (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(CutsTest, OneLevelGetsAll) {
  PipelineOptions options;
  options.pyramid.levels = 1;
  EXPECT_EQ(Cuts::For(options, {.max_features = 777}).by_response[0], 777);
}

TEST(CutsTest, TheBestOfAFrameAreCutOnceOverAllLevels) {
  PipelineOptions options;
  options.select.selection = Selection::kBest;
  EXPECT_TRUE(CutsAllLevels(options));
  EXPECT_FALSE(CutsAllLevels({}));
  const Cuts cuts = Cuts::For(options, {.max_features = 300});
  EXPECT_TRUE(cuts.all_levels);
  EXPECT_EQ(cuts.by_response[0], 300);
  for (const int32_t cut : cuts.by_score) EXPECT_EQ(cut, Cuts::kNoCut);
}

TEST(CutsTest, WhereTheScoreRanksNoLevelNeedsMoreThanAreWanted) {
  PipelineOptions options;
  options.select.selection = Selection::kBest;
  options.detect.score = Score::kFast;
  options.select.capacity = 40;
  const Cuts cuts = Cuts::For(options, {.max_features = 300});
  EXPECT_EQ(cuts.by_score[0], 300);
  EXPECT_EQ(cuts.by_response[0], 40);
}

TEST(CutsTest, AQuadtreeHasTheQuotasOfWhatTheAnswerCanHold) {
  PipelineOptions options;
  options.select.selection = Selection::kQuadtree;
  options.select.capacity = 500;
  const Cuts cuts = Cuts::For(options, {.max_features = 800});
  EXPECT_FALSE(cuts.all_levels);
  EXPECT_EQ(FirstOf(cuts.by_response, 8), (std::vector<int32_t>{109, 90, 75, 63, 52, 44, 36, 31}));
  for (const int32_t cut : cuts.by_score) EXPECT_EQ(cut, Cuts::kNoCut);
  EXPECT_EQ(cuts.answer_limit(), 500);
  // 7 * (1 - q) / (1 - q^8) = 1.52, 1.27, 1.06, 0.88, 0.73, 0.61, 0.51 round to 8.
  const Cuts few = Cuts::For(options, {.max_features = 7});
  int sum = 0;
  for (const int32_t cut : FirstOf(few.by_response, 8)) sum += cut;
  EXPECT_EQ(sum, 8);
  EXPECT_EQ(few.answer_limit(), 7);
}

TEST(CutsTest, CellsAreCutOnceOverAllLevels) {
  PipelineOptions options;
  options.select.selection = Selection::kCell;
  options.select.capacity = 40;
  const Cuts cuts = Cuts::For(options, {.max_features = 300});
  EXPECT_TRUE(cuts.all_levels);
  EXPECT_EQ(cuts.by_response[0], 40);
  EXPECT_EQ(cuts.answer_limit(), 40);
  for (const int32_t cut : cuts.by_score) EXPECT_EQ(cut, Cuts::kNoCut);
}

TEST(CutsTest, OnlyTheQuotaAnswersTiesBeyondTheWantedNumber) {
  PipelineOptions options;
  options.select.capacity = 40;
  EXPECT_EQ(Cuts::For(options, {.max_features = 30}).answer_limit(), 40);
  options.select.selection = Selection::kBest;
  EXPECT_EQ(Cuts::For(options, {.max_features = 30}).answer_limit(), 30);
}

TEST(CutsTest, AnAnswerIsTruncatedWhenMoreQualifyThanItHolds) {
  PipelineOptions options;
  options.select.capacity = 40;
  const Cuts quota = Cuts::For(options, {.max_features = 30});
  EXPECT_FALSE(quota.Truncates(/*survivors=*/1000, /*ranked=*/40));
  EXPECT_TRUE(quota.Truncates(1000, 41));  // ties
  options.select.selection = Selection::kBest;
  EXPECT_FALSE(Cuts::For(options, {.max_features = 30}).Truncates(1000, 30));
  EXPECT_FALSE(Cuts::For(options, {.max_features = 300}).Truncates(40, 40));
  EXPECT_TRUE(Cuts::For(options, {.max_features = 300}).Truncates(41, 40));
  for (const Selection selection : {Selection::kCell, Selection::kQuadtree}) {
    options.select.selection = selection;
    EXPECT_FALSE(Cuts::For(options, {.max_features = 40}).Truncates(1000, 43));
    EXPECT_FALSE(Cuts::For(options, {.max_features = 300}).Truncates(40, 40));
    EXPECT_TRUE(Cuts::For(options, {.max_features = 300}).Truncates(41, 38));
  }
}

}  // namespace
}  // namespace orbserve
