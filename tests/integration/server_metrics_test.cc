// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The page of metrics of a running server, after frames and matches went through it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/process/limits.h"
#include "server/process/text_file.h"
#include "server/telemetry/frame_times.h"
#include "tests/integration/server_fixture.h"
#include "tests/server/telemetry/metrics_page.h"
#include "tests/server/telemetry/promtool.h"
#include "tests/support/forwarding_backend.h"

namespace orbserve {
namespace {

constexpr StageSet kDetectSuppress = {Stage::kDetect, Stage::kSuppress};
constexpr StageSet kOrientDescribe = {Stage::kOrient, Stage::kDescribe};

// Puts times of stages into the answers of a backend, and adds figures of memory to it.
class TimedBackend final : public testing::ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  std::vector<MemoryUse> memory() const override {
    return {{"arenas", "cpu", 1234}, {"pinned", "host", 0}};
  }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    inner().Submit(std::move(plan), std::move(jobs),
                   [done = std::move(done)](FrameBatchAnswer answer) mutable {
                     for (FrameAnswer& frame : answer.frames) {
                       frame.stages = {};
                       frame.stages.Add(Stage::kPyramid, 1'000'000);
                       frame.stages.Add(kDetectSuppress, 20'000'000);
                       frame.stages.Add(kOrientDescribe, 300'000'000);
                     }
                     std::move(done)(std::move(answer));
                   });
  }
};

class MetricsPageTest : public ServerTest {
 protected:
  void SetUp() override { StartTimedServer({}); }

  void StartTimedServer(server::Config config, ServerHooks hooks = {}) {
    hooks.wrap_backend = [](std::unique_ptr<FeatureBackend> inner) {
      return std::make_unique<TimedBackend>(std::move(inner));
    };
    StartServer(std::move(config), std::move(hooks));
  }

  grpc::Status ExtractOne(int width_px, int height_px, uint32_t seed = 1) {
    v1::ExtractRequest request;
    *request.mutable_frame() = MakeFrame(width_px, height_px, seed);
    v1::ExtractResponse response;
    return Extract(request, &response);
  }

  grpc::Status MatchTwoImages() {
    v1::MatchRequest request;
    *request.mutable_query_frame() = MakeFrame(320, 240, 1);
    *request.mutable_train_frame() = MakeFrame(320, 240, 2);
    v1::MatchResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    return stub_->Match(&context, request, &response);
  }

  grpc::Status PutImage(const std::string& name) {
    v1::PutReferenceRequest request;
    request.set_name(name);
    *request.mutable_frame() = MakeFrame(320, 240, 3);
    v1::PutReferenceResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    return stub_->PutReference(&context, request, &response);
  }

  double FramesTimed(const std::string& method) const {
    return Metric(absl::StrCat("orbserve_frame_duration_seconds_count{method=\"", method, "\"}"));
  }

  double StageValue(const char* what, const std::string& stage) const {
    return Metric(absl::StrCat("orbserve_stage_duration_seconds_", what, "{stage=\"", stage,
                               "\",backend=\"cpu\",device=\"cpu\"}"));
  }

  double Memory(const std::string& kind, const std::string& device) const {
    return Metric(
        absl::StrCat("orbserve_memory_bytes{kind=\"", kind, "\",device=\"", device, "\"}"));
  }
};

TEST_F(MetricsPageTest, TimesOfStagesComeFromTheBackend) {
  for (uint32_t seed = 0; seed < 3; ++seed) ASSERT_TRUE(ExtractOne(320, 240, seed).ok());
  const std::map<std::string, double> seconds = {
      {"pyramid", 0.001}, {"detect+suppress", 0.02}, {"orient+describe", 0.3}};
  for (const auto& [stage, duration] : seconds) {
    EXPECT_EQ(StageValue("count", stage), 3) << stage;
    EXPECT_NEAR(StageValue("sum", stage), 3 * duration, 1e-9) << stage;
  }
  EXPECT_EQ(StageValue("count", "detect"), -1);  // part of a step, never alone
  EXPECT_EQ(StageValue("count", "compute"), 3);
  EXPECT_EQ(StageValue("count", "queue"), 3);
  EXPECT_EQ(StageValue("count", "match"), -1);
  ASSERT_TRUE(MatchTwoImages().ok());
  EXPECT_EQ(StageValue("count", "match"), 2);  // of both frames
  EXPECT_EQ(StageValue("count", "pyramid"), 5);
  EXPECT_EQ(StageValue("count", "match_queue"), 2);
}

TEST_F(MetricsPageTest, EveryFrameIsTimedOnceAndUnderItsMethod) {
  ASSERT_TRUE(ExtractOne(320, 240).ok());
  v1::ExtractRequest bad;
  *bad.mutable_frame() = MakeFrame(320, 240, 1);
  bad.mutable_frame()->set_width_px(321);
  v1::ExtractResponse response;
  EXPECT_FALSE(Extract(bad, &response).ok());
  EXPECT_FALSE(Extract({}, &response).ok());  // no frame at all
  EXPECT_EQ(FramesTimed("Extract"), 2);

  ASSERT_TRUE(MatchTwoImages().ok());
  EXPECT_EQ(FramesTimed("Match"), 2);
  ASSERT_TRUE(PutImage("place").ok());
  EXPECT_EQ(FramesTimed("PutReference"), 1);

  {
    grpc::ClientContext context;
    const auto stream = Open(context);
    v1::Frame frame = MakeFrame(320, 240, 1);
    ASSERT_TRUE(Send(*stream, frame));
    frame.set_width_px(321);
    ASSERT_TRUE(Send(*stream, frame));
    stream->WritesDone();
    v1::StreamFramesResponse result;
    ASSERT_TRUE(stream->Read(&result));
    EXPECT_FALSE(result.result().has_status());
    ASSERT_TRUE(stream->Read(&result));
    EXPECT_TRUE(result.result().has_status());
    EXPECT_FALSE(stream->Read(&result));
    EXPECT_TRUE(stream->Finish().ok());
  }
  EXPECT_EQ(FramesTimed("StreamFrames"), 2);
  EXPECT_EQ(Metric("orbserve_frames_received_total"), 7);
  EXPECT_GT(Metric("orbserve_frame_duration_seconds_sum{method=\"StreamFrames\"}"), 0);
}

TEST_F(MetricsPageTest, FramesWhoseClientIsGoneAreTimedToo) {
  for (int i = 0; i < 5; ++i) {
    grpc::ClientContext context;
    const auto stream = Open(context);
    const v1::Frame frame = MakeFrame(1280, 960, 1);
    for (int k = 0; k < 6; ++k) Send(*stream, frame);
    context.TryCancel();
    v1::StreamFramesResponse result;
    while (stream->Read(&result)) {
    }
    stream->Finish();
  }
  EXPECT_TRUE(Eventually([this] {
    return Metric("orbserve_streams") == 0 &&
           FramesTimed("StreamFrames") == Metric("orbserve_frames_received_total");
  })) << FramesTimed("StreamFrames")
      << " of " << Metric("orbserve_frames_received_total");
}

TEST_F(MetricsPageTest, TotalTimeOfAFrameIsItsDuration) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(640, 480, 1);
  v1::ExtractResponse response;
  ASSERT_TRUE(Extract(request, &response).ok());
  const double total = static_cast<double>(response.timings().total_ns()) * 1e-9;
  const double sum = Metric("orbserve_frame_duration_seconds_sum{method=\"Extract\"}");
  const double call =
      Metric("orbserve_request_duration_seconds_sum{method=\"Extract\",code=\"OK\"}");
  EXPECT_GE(sum, total);
  if (call > 0) {  // else the call has not ended on the server's side
    EXPECT_LE(sum, call);
  }
}

// The parts of the times of one image.
uint64_t SumOfParts(const v1::FrameTimings& t) {
  return t.admit_ns() + t.decode_queue_ns() + t.decode_ns() + t.queue_ns() + t.upload_ns() +
         t.compute_ns() + t.download_ns() + t.track_queue_ns() + t.track_ns() + t.match_queue_ns() +
         t.match_ns() + t.send_ns();
}

TEST_F(MetricsPageTest, ThePartsOfAFramesTimeAddUp) {
  v1::ExtractRequest request;
  *request.mutable_frame() = MakeFrame(1280, 1024, 1);  // large enough for a worker
  for (int i = 0; i < 3; ++i) {
    v1::ExtractResponse response;
    ASSERT_TRUE(Extract(request, &response).ok());
    EXPECT_EQ(SumOfParts(response.timings()), response.timings().total_ns());
    EXPECT_GT(response.timings().decode_queue_ns(), 0u);
    EXPECT_GT(response.timings().decode_ns(), 0u);
    EXPECT_GT(response.timings().compute_ns(), 0u);
  }

  v1::StreamOpen open;
  open.mutable_pipeline()->set_preset("vio");
  v1::DescribeOptions& describe = *open.mutable_pipeline()->mutable_describe();
  describe.set_orientation(v1::ORIENTATION_INTENSITY_CENTROID);
  describe.set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_256);
  open.mutable_pipeline()->mutable_select()->set_border_px(22);
  open.set_track(true);
  open.set_match_previous(true);
  grpc::ClientContext context;
  const auto stream = Open(context, open);
  constexpr int kFrames = 6;
  for (int i = 0; i < kFrames; ++i) ASSERT_TRUE(Send(*stream, MakeFrame(320, 240, 1)));
  uint64_t matched = 0;
  for (int i = 0; i < kFrames; ++i) {
    v1::StreamFramesResponse result;
    ASSERT_TRUE(stream->Read(&result));
    const v1::FrameTimings& timings = result.result().timings();
    EXPECT_EQ(SumOfParts(timings), timings.total_ns());
    EXPECT_EQ(timings.track_ns() > 0, i > 0);
    EXPECT_EQ(result.result().matches_size() > 0, i > 0);
    matched += timings.track_ns() + timings.match_ns();
  }
  EXPECT_GT(matched, 0u);
  stream->WritesDone();
  v1::StreamFramesResponse end;
  EXPECT_FALSE(stream->Read(&end));
  EXPECT_TRUE(stream->Finish().ok());

  double stages = 0;
  for (const absl::string_view phase : kFramePhaseNames) {
    for (const char* device : {"cpu", "host"}) {
      stages += std::max(
          0.0, Metric(absl::StrCat("orbserve_stage_duration_seconds_sum{stage=\"", phase,
                                   "\",backend=\"", device, "\",device=\"", device, "\"}")));
    }
  }
  const double frames = Metric("orbserve_frame_duration_seconds_sum{method=\"Extract\"}") +
                        Metric("orbserve_frame_duration_seconds_sum{method=\"StreamFrames\"}");
  EXPECT_NEAR(stages, frames, 1e-6 * frames);
}

TEST_F(MetricsPageTest, LimitsStandBesideUse) {
  server::Config config;
  config.mutable_backend()->set_threads(3);
  config.mutable_batching()->set_max_queue_frames(28);
  config.mutable_batching()->set_max_plans(5);
  config.mutable_limits()->set_max_streams(4);
  config.mutable_limits()->set_max_reference_bytes(6 << 20);
  StartTimedServer(config, WithLimits([](DerivedLimits* limits) {
                     limits->queue_bytes = 3 << 20;
                     limits->workspace_bytes = 123456789;
                     limits->message_bytes = 1 << 20;
                     limits->response_bytes = 5 << 20;
                   }));
  const std::map<std::string, double> expected = {
      {"queue_frames", 28},
      {"queue_bytes", 3 << 20},
      {"decode_busy_threads", 3 + 2},
      {"plans", 5},
      {"plan_bytes", 123456789},
      {"streams", 4},
      {"stream_response_bytes", 5 << 20},
      {"call_response_bytes", 5 << 20},
      {"reference_bytes", 6 << 20},
      {"references", 100'000},
      {"match_queue_requests", 1024},
      {"match_queue_bytes", 1 << 30},
      {"track_queue_requests", 1024},
      {"track_queue_bytes", 1 << 30},
  };
  for (const auto& [name, limit] : expected) {
    EXPECT_EQ(Metric("orbserve_" + name), 0) << name;  // nothing has happened
    EXPECT_EQ(Metric("orbserve_limit_" + name), limit) << name;
  }
  EXPECT_EQ(Metric("orbserve_limit_client_queue_frames"), 7);
  EXPECT_EQ(Metric("orbserve_limit_message_bytes"), 1 << 20);
  EXPECT_NEAR(Metric("orbserve_limit_processors"), std::min(3.0, FindProcessorLimit()), 1e-6);
  EXPECT_EQ(Metric("orbserve_decode_waiting_tasks"), 0);
}

TEST_F(MetricsPageTest, TheUpkeepIsAPartOfTheTimeOfTheProcess) {
  EXPECT_TRUE(Eventually([this] { return Metric("orbserve_upkeep_cpu_seconds_total") > 0; }));
  const double upkeep_s = Metric("orbserve_upkeep_cpu_seconds_total");
  EXPECT_LT(upkeep_s, Metric("process_cpu_seconds_total"));
}

TEST_F(MetricsPageTest, ThePlanCacheShowsItsWork) {
  server::Config config;
  config.mutable_batching()->set_max_plans(1);
  StartTimedServer(config);
  ASSERT_TRUE(ExtractOne(320, 240).ok());
  ASSERT_TRUE(ExtractOne(320, 240).ok());
  EXPECT_EQ(Metric("orbserve_plans"), 1);
  EXPECT_EQ(Metric("orbserve_plan_hits_total"), 1);
  EXPECT_EQ(Metric("orbserve_plan_misses_total"), 1);
  EXPECT_EQ(Metric("orbserve_plan_evictions_total"), 0);
  EXPECT_GT(Metric("orbserve_plan_bytes"), 0);
  ASSERT_TRUE(ExtractOne(640, 480).ok());
  EXPECT_EQ(Metric("orbserve_plans"), 1);
  EXPECT_EQ(Metric("orbserve_plan_misses_total"), 2);
  EXPECT_EQ(Metric("orbserve_plan_evictions_total"), 1);
}

TEST_F(MetricsPageTest, MemoryIsShownByKindAndDevice) {
  EXPECT_EQ(Memory("arenas", "cpu"), 1234);  // as the backend says
  EXPECT_EQ(Memory("pinned", "host"), 0);
  EXPECT_EQ(Memory("references", "host"), 0);
  EXPECT_EQ(Memory("queue", "host"), 0);
  EXPECT_EQ(Memory("responses", "host"), 0);
  EXPECT_EQ(Memory("tracks", "host"), 0);
  ASSERT_TRUE(PutImage("one").ok());
  ASSERT_TRUE(PutImage("two").ok());
  EXPECT_EQ(Metric("orbserve_references"), 2);
  EXPECT_GT(Metric("orbserve_reference_bytes"), 0);
  EXPECT_EQ(Memory("references", "host"), Metric("orbserve_reference_bytes"));
}

TEST_F(MetricsPageTest, FramesThatWaitAreOnThePage) {
  server::Config config;
  config.mutable_batching()->set_max_queue_delay_us(1'000'000);
  StartTimedServer(config);
  grpc::ClientContext context;
  const auto stream = Open(context);
  const v1::Frame frame = MakeFrame(320, 240, 1);
  ASSERT_TRUE(Send(*stream, frame));
  // One frame waits a second for a fuller batch.
  ASSERT_TRUE(Eventually([this] { return Metric("orbserve_queue_frames") == 1; }));
  EXPECT_GE(Metric("orbserve_queue_bytes"), 320 * 240);
  EXPECT_GE(Memory("queue", "host"), 320 * 240);
  EXPECT_GT(Memory("responses", "host"), 0);
  v1::StreamFramesResponse result;
  ASSERT_TRUE(stream->Read(&result));
  EXPECT_EQ(Metric("orbserve_queue_frames"), 0);
  EXPECT_EQ(Memory("queue", "host"), 0);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(MetricsPageTest, EveryFamilyIsExplainedInTheDocumentation) {
  const auto docs = ReadTextFile(ORBSERVE_METRICS_DOCUMENTATION);
  ASSERT_TRUE(docs.ok()) << docs.status();
  int families = 0;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(server_->RenderMetrics(), '\n'))) {
    if (!absl::StartsWith(line, "# TYPE orbserve_")) continue;
    const std::string name = std::vector<std::string>(absl::StrSplit(line, ' '))[2];
    ++families;
    if (absl::StrContains(*docs, absl::StrCat("`", name, "`"))) continue;
    // Gauges of use share a row with their limits, without their prefixes.
    absl::string_view shared = name;
    absl::ConsumePrefix(&shared, "orbserve_");
    absl::ConsumePrefix(&shared, "limit_");
    EXPECT_TRUE(absl::StrContains(*docs, absl::StrCat("| `", shared, "` |"))) << name;
  }
  EXPECT_GE(families, 40);
}

TEST_F(MetricsPageTest, NoSeriesComesTwiceAndPromtoolFindsNothingToSay) {
  ASSERT_TRUE(ExtractOne(320, 240).ok());
  ASSERT_TRUE(MatchTwoImages().ok());
  ASSERT_TRUE(PutImage("place").ok());
  const std::string page = server_->RenderMetrics();
  std::map<std::string, int> seen;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(page, '\n'))) {
    if (absl::StartsWith(line, "# TYPE ") || !absl::StartsWith(line, "#")) {
      ++seen[line.substr(0, line.rfind(' '))];
    }
  }
  seen.erase("");
  for (const auto& [series, times] : seen) EXPECT_EQ(times, 1) << series;
  const std::optional<std::string> said = WhatPromtoolSays(page);
  if (!said.has_value()) {
    GTEST_SKIP()
        << "promtool is not installed (Debian package prometheus): the page is NOT checked";
  }
  EXPECT_EQ(*said, "");
}

}  // namespace
}  // namespace orbserve
