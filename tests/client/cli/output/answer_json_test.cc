// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/answer_json.h"

#include "gtest/gtest.h"

namespace orbserve::cli {
namespace {

std::string Json(const v1::FrameTimings& timings, const v1::Execution& execution) {
  JsonWriter json;
  json.BeginObject();
  AddExecution(timings, execution, &json);
  json.EndObject();
  return json.text();
}

TEST(AddExecutionTest, ListsTheStagesInTheOrderOfTheAnswer) {
  v1::FrameTimings timings;
  timings.set_compute_ns(2'500'000);
  timings.set_total_ns(4'000'000);
  v1::StageTime* stage = timings.add_stages();
  stage->set_stage("detect+suppress");
  stage->set_duration_ns(1'250'000);
  stage->set_sampled(true);
  stage = timings.add_stages();
  stage->set_stage("describe");
  stage->set_duration_ns(750'000);
  v1::Execution execution;
  execution.set_batch_size(3);
  execution.set_backend("cuda");
  execution.set_device("cuda:0");
  EXPECT_EQ(Json(timings, execution),
            R"({"timings_ms":{"admit":0,"decode_queue":0,"decode":0,"queue":0,"upload":0,)"
            R"("compute":2.5,"download":0,"track_queue":0,"track":0,"match_queue":0,"match":0,)"
            R"("send":0,"total":4,"stages":[)"
            R"({"stage":"detect+suppress","duration":1.25,"sampled":true},)"
            R"({"stage":"describe","duration":0.75,"sampled":false}]},)"
            R"("batch_size":3,"backend":"cuda","device":"cuda:0"})");
}

TEST(AddExecutionTest, StagesAreAnEmptyListIfNoneWasTimed) {
  v1::Execution execution;
  execution.set_energy_joules(0.5);
  EXPECT_EQ(Json(v1::FrameTimings(), execution),
            R"({"timings_ms":{"admit":0,"decode_queue":0,"decode":0,"queue":0,"upload":0,)"
            R"("compute":0,"download":0,"track_queue":0,"track":0,"match_queue":0,"match":0,)"
            R"("send":0,"total":0,"stages":[]},)"
            R"("batch_size":0,"backend":"","device":"","energy_joules":0.5})");
}

}  // namespace
}  // namespace orbserve::cli
