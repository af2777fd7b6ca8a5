// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/metrics_observer.h"

#include <chrono>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "gtest/gtest.h"
#include "tests/server/telemetry/metrics_page.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;

class MetricsObserverTest : public ::testing::Test {
 protected:
  static BatchCost CostOfCuda() {
    BatchCost cost;
    cost.backend = "cuda";
    cost.device = "cuda:0";
    cost.timings = {.upload_ns = 2'000'000, .compute_ns = 9'000'000, .download_ns = 0};
    cost.busy_begin = SteadyTime(milliseconds(100));
    cost.busy_end = SteadyTime(milliseconds(112));
    return cost;
  }

  double StageSum(const char* stage) const { return StageValue("sum", stage); }
  double StageCount(const char* stage) const { return StageValue("count", stage); }
  double Value(const std::string& series) const { return ValueOf(metrics_.Render(), series); }

  Metrics metrics_{{.version = "1", .devices = {{"cuda", "cuda:0"}, {"cpu", "cpu"}}}};
  PowerMonitor power_{{}};
  MetricsObserver observer_{&metrics_, &power_};

 private:
  double StageValue(const char* what, const char* stage) const {
    return Value(absl::StrCat("orbserve_stage_duration_seconds_", what, "{stage=\"", stage,
                              "\",backend=\"cuda\",device=\"cuda:0\"}"));
  }
};

TEST_F(MetricsObserverTest, AFrameHasTheStagesThatWereTimed) {
  StageTimes stages;
  stages.Add(Stage::kPyramid, 1'000'000);
  stages.Add({Stage::kDetect, Stage::kSuppress}, 5'000'000);
  observer_.OnStagesTimed(CostOfCuda(), stages);
  observer_.OnStagesTimed(CostOfCuda(), {});  // not sampled
  EXPECT_NEAR(StageSum("pyramid"), 0.001, 1e-12);
  EXPECT_EQ(StageCount("pyramid"), 1);
  EXPECT_NEAR(StageSum("detect+suppress"), 0.005, 1e-12);
  EXPECT_TRUE(std::isnan(StageSum("detect")));
}

TEST_F(MetricsObserverTest, ABatchOfFramesHasASizeAndABusyInterval) {
  EXPECT_FALSE(observer_.OnBatchFinished(WorkKind::kFrames, 5, CostOfCuda()).has_value());
  const std::string labels = "{backend=\"cuda\",device=\"cuda:0\"}";
  EXPECT_EQ(Value("orbserve_batch_size_frames_sum" + labels), 5);
  EXPECT_NEAR(Value("orbserve_device_busy_seconds_total" + labels), 0.012, 1e-12);
  EXPECT_TRUE(std::isnan(StageCount("match")));
}

TEST_F(MetricsObserverTest, BatchesOfMatchesAndTracksKeepTheDeviceBusyAndAreNoFrames) {
  observer_.OnBatchFinished(WorkKind::kMatches, 2, CostOfCuda());
  observer_.OnBatchFinished(WorkKind::kTracks, 2, CostOfCuda());
  const std::string labels = "{backend=\"cuda\",device=\"cuda:0\"}";
  EXPECT_NEAR(Value("orbserve_device_busy_seconds_total" + labels), 0.012, 1e-12);
  EXPECT_EQ(Value("orbserve_batch_size_frames_count" + labels), 0);
}

TEST_F(MetricsObserverTest, MemoryOfTracksIsTheSumOfItsChanges) {
  observer_.OnTrackBytes(1000);
  observer_.OnTrackBytes(500);
  observer_.OnTrackBytes(-700);
  EXPECT_EQ(metrics_.track_bytes(), 800);
}

}  // namespace
}  // namespace orbserve
