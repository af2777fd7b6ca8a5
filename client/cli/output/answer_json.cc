// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/answer_json.h"

#include "orbserve/client.h"

namespace orbserve::cli {
namespace {

double Milliseconds(uint64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

void AddError(const absl::Status& status, JsonWriter* json) {
  const v1::Status wire = client::WireStatusOf(status);
  json->Key("error").BeginObject();
  json->Key("code").String(absl::StatusCodeToString(status.code()));
  json->Key("reason").String(wire.reason());
  json->Key("message").String(wire.message()).EndObject();
}

void AddImageSize(const v1::FeatureSet& features, JsonWriter* json) {
  json->Key("image_size").BeginArray();
  json->UInt(features.image_width_px()).UInt(features.image_height_px()).EndArray();
}

void AddPasses(const v1::FeatureSet& features, JsonWriter* json) {
  if (!features.has_suppression_passes()) return;
  json->Key("suppression_passes").UInt(features.suppression_passes());
}

void AddPoints(const char* key, const google::protobuf::RepeatedField<uint32_t>& index,
               const v1::FeatureSet& features, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const uint32_t row : index) {
    json->BeginArray();
    if (row < static_cast<uint32_t>(features.x_size())) {
      json->Float(features.x(static_cast<int>(row))).Float(features.y(static_cast<int>(row)));
    }
    json->EndArray();
  }
  json->EndArray();
}

void AddNumbers(const char* key, const google::protobuf::RepeatedField<uint32_t>& numbers,
                JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const uint32_t number : numbers) json->UInt(number);
  json->EndArray();
}

void AddExecution(const v1::FrameTimings& timings, const v1::Execution& execution,
                  JsonWriter* json) {
  json->Key("timings_ms").BeginObject();
  json->Key("admit").Double(Milliseconds(timings.admit_ns()));
  json->Key("decode_queue").Double(Milliseconds(timings.decode_queue_ns()));
  json->Key("decode").Double(Milliseconds(timings.decode_ns()));
  json->Key("queue").Double(Milliseconds(timings.queue_ns()));
  json->Key("upload").Double(Milliseconds(timings.upload_ns()));
  json->Key("compute").Double(Milliseconds(timings.compute_ns()));
  json->Key("download").Double(Milliseconds(timings.download_ns()));
  json->Key("track_queue").Double(Milliseconds(timings.track_queue_ns()));
  json->Key("track").Double(Milliseconds(timings.track_ns()));
  json->Key("match_queue").Double(Milliseconds(timings.match_queue_ns()));
  json->Key("match").Double(Milliseconds(timings.match_ns()));
  json->Key("send").Double(Milliseconds(timings.send_ns()));
  json->Key("total").Double(Milliseconds(timings.total_ns()));
  json->Key("stages").BeginArray();
  for (const v1::StageTime& stage : timings.stages()) {
    json->BeginObject().Key("stage").String(stage.stage());
    json->Key("duration").Double(Milliseconds(stage.duration_ns()));
    json->Key("sampled").Bool(stage.sampled()).EndObject();
  }
  json->EndArray().EndObject();
  json->Key("batch_size").UInt(execution.batch_size());
  json->Key("backend").String(execution.backend());
  json->Key("device").String(execution.device());
  if (execution.has_energy_joules()) json->Key("energy_joules").Double(execution.energy_joules());
}

}  // namespace orbserve::cli
