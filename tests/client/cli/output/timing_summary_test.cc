// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/timing_summary.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

using Row = TimingSummary::Row;
using ::testing::ElementsAre;

constexpr uint64_t kMs = 1'000'000;

v1::FrameTimings Frame(uint64_t compute_ms,
                       const std::vector<std::pair<std::string, uint64_t>>& stages_ms = {},
                       bool sampled = false) {
  v1::FrameTimings timings;
  timings.set_decode_ns(2 * kMs);
  timings.set_compute_ns(compute_ms * kMs);
  timings.set_total_ns((compute_ms + 5) * kMs);
  for (const auto& [name, duration_ms] : stages_ms) {
    v1::StageTime* stage = timings.add_stages();
    stage->set_stage(name);
    stage->set_duration_ns(duration_ms * kMs);
    stage->set_sampled(sampled);
  }
  return timings;
}

std::vector<std::string> Names(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

Row Find(const TimingSummary& summary, const std::string& name) {
  for (const Row& row : summary.Rows()) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return {};
}

TEST(TimingSummaryTest, PartsHaveARowEachEvenWithoutFrames) {
  const TimingSummary summary;
  EXPECT_THAT(Names(summary.Rows()),
              ElementsAre("admit", "decode_queue", "decode", "queue", "upload", "compute",
                          "download", "track_queue", "match_queue", "send", "total"));
  for (const Row& row : summary.Rows()) {
    EXPECT_EQ(row.frames, 0) << row.name;
    EXPECT_FALSE(row.share.has_value()) << row.name;
  }
}

TEST(TimingSummaryTest, PartThatDidNotHappenIsNotCounted) {
  TimingSummary summary;
  summary.Add(Frame(10));
  v1::FrameTimings queued = Frame(20);
  queued.set_queue_ns(3 * kMs);
  summary.Add(queued);
  EXPECT_EQ(Find(summary, "decode").frames, 2);
  EXPECT_EQ(Find(summary, "queue").frames, 1);
  EXPECT_DOUBLE_EQ(Find(summary, "queue").median_ms, 3);
  EXPECT_EQ(Find(summary, "upload").frames, 0);
}

TEST(TimingSummaryTest, QuantilesAreThoseOfTheSortedFigures) {
  struct Case {
    std::vector<uint64_t> compute_ms;
    double median_ms;
    double p90_ms;
  };
  for (const Case& c : {Case{{7}, 7, 7}, Case{{9, 1}, 5, 9}, Case{{5, 1, 3}, 3, 5},
                        Case{{4, 10, 2, 8, 6, 1, 9, 3, 7, 5}, 5.5, 9},
                        Case{{11, 4, 10, 2, 8, 6, 1, 9, 3, 7, 5}, 6, 10}}) {
    TimingSummary summary;
    for (const uint64_t compute_ms : c.compute_ms) summary.Add(Frame(compute_ms));
    const Row row = Find(summary, "compute");
    EXPECT_EQ(row.frames, static_cast<int64_t>(c.compute_ms.size()));
    EXPECT_DOUBLE_EQ(row.median_ms, c.median_ms) << c.compute_ms.size();
    EXPECT_DOUBLE_EQ(row.p90_ms, c.p90_ms) << c.compute_ms.size();
  }
}

TEST(TimingSummaryTest, StagesFollowComputeInTheOrderOfThePipeline) {
  const std::vector<v1::FrameTimings> frames = {
      Frame(9, {{"select", 1}, {"orient+describe", 2}}),
      Frame(9, {{"zoom", 1}, {"pyramid", 1}, {"detect+suppress", 3}}),
      Frame(9, {{"detect", 1}, {"blur", 1}})};
  std::vector<int> order = {0, 1, 2};
  do {
    TimingSummary summary;
    for (const int i : order) summary.Add(frames[static_cast<size_t>(i)]);
    EXPECT_THAT(
        Names(summary.Rows()),
        ElementsAre("admit", "decode_queue", "decode", "queue", "upload", "compute", "pyramid",
                    "detect", "detect+suppress", "select", "orient+describe", "blur", "zoom",
                    "download", "track_queue", "match_queue", "send", "total"));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(TimingSummaryTest, SharesArePartsOfTheTimeOfAllStages) {
  TimingSummary summary;
  summary.Add(Frame(100, {{"pyramid", 1}, {"detect", 4}}));
  summary.Add(Frame(100, {{"pyramid", 2}, {"detect", 3}}));
  summary.Add(Frame(100));
  EXPECT_DOUBLE_EQ(*Find(summary, "pyramid").share, 0.3);
  EXPECT_DOUBLE_EQ(*Find(summary, "detect").share, 0.7);
  EXPECT_EQ(Find(summary, "detect").frames, 2);
  EXPECT_FALSE(Find(summary, "compute").share.has_value());
}

TEST(TimingSummaryTest, StageIsSampledIfItIsInAnyFrame) {
  TimingSummary summary;
  summary.Add(Frame(5, {{"detect", 1}}, /*sampled=*/true));
  summary.Add(Frame(5, {{"detect", 1}, {"select", 1}}));
  EXPECT_TRUE(Find(summary, "detect").sampled);
  EXPECT_FALSE(Find(summary, "select").sampled);
  EXPECT_FALSE(Find(summary, "compute").sampled);
}

TEST(TimingSummaryTest, StageOfNoTimeHasNoShare) {
  TimingSummary summary;
  summary.Add(Frame(5, {{"detect", 0}}));
  EXPECT_EQ(Find(summary, "detect").frames, 1);
  EXPECT_DOUBLE_EQ(*Find(summary, "detect").share, 0);
}

TEST(TimingTableTest, HasAlignedColumnsAndADashForNoFigure) {
  TimingSummary summary;
  summary.Add(Frame(10, {{"pyramid", 1}, {"detect+suppress", 3}}, /*sampled=*/true));
  EXPECT_EQ(TimingTable(summary.Rows()),
            "stage              frames   median/ms      p90/ms  share/%  sampled\n"
            "admit                   0           -           -        -  no\n"
            "decode_queue            0           -           -        -  no\n"
            "decode                  1       2.000       2.000        -  no\n"
            "queue                   0           -           -        -  no\n"
            "upload                  0           -           -        -  no\n"
            "compute                 1      10.000      10.000        -  no\n"
            "pyramid                 1       1.000       1.000     25.0  yes\n"
            "detect+suppress         1       3.000       3.000     75.0  yes\n"
            "download                0           -           -        -  no\n"
            "track_queue             0           -           -        -  no\n"
            "match_queue             0           -           -        -  no\n"
            "send                    0           -           -        -  no\n"
            "total                   1      15.000      15.000        -  no\n");
}

TEST(TimingJsonTest, HasOneObjectPerRowAndNullForNoFigure) {
  TimingSummary summary;
  summary.Add(Frame(10, {{"detect", 4}}, /*sampled=*/true));
  const std::string json = TimingJson(summary.Rows());
  EXPECT_THAT(json, ::testing::StartsWith(
                        R"({"timing_summary":[{"stage":"admit","frames":0,"median_ms":null,)"));
  EXPECT_THAT(json, ::testing::HasSubstr(
                        R"({"stage":"detect","frames":1,"median_ms":4,"p90_ms":4,"share":1,)"
                        R"("sampled":true})"));
  EXPECT_THAT(json,
              ::testing::HasSubstr(R"({"stage":"upload","frames":0,"median_ms":null,"p90_ms":null,)"
                                   R"("share":null,"sampled":false})"));
}

}  // namespace
}  // namespace orbserve::cli
