// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/timings.h"

#include <algorithm>
#include <string>

#include "features/pipeline/stage.h"

namespace orbserve {
namespace {

void AddStage(StageSet stages, int64_t duration_ns, bool sampled, v1::FrameTimings* proto) {
  v1::StageTime& stage = *proto->add_stages();
  stage.set_stage(stages.Name());
  stage.set_duration_ns(static_cast<uint64_t>(duration_ns));
  stage.set_sampled(sampled);
}

// Adds `time` to the entry of its stage, which is appended if there is none.
void AddToStage(const v1::StageTime& time, v1::FrameTimings* proto) {
  for (v1::StageTime& stage : *proto->mutable_stages()) {
    if (stage.stage() != time.stage()) continue;
    stage.set_duration_ns(stage.duration_ns() + time.duration_ns());
    stage.set_sampled(stage.sampled() || time.sampled());
    return;
  }
  *proto->add_stages() = time;
}

}  // namespace

void TimingsToProto(const FrameOutcome& outcome, SteadyTime begin, v1::FrameTimings* proto) {
  const BatchTimings& batch = outcome.cost.timings;
  proto->set_queue_ns(static_cast<uint64_t>(outcome.queued.count()));
  proto->set_decode_ns(static_cast<uint64_t>(outcome.decode_time.count()));
  proto->set_upload_ns(static_cast<uint64_t>(batch.upload_ns));
  proto->set_compute_ns(static_cast<uint64_t>(batch.compute_ns));
  proto->set_download_ns(static_cast<uint64_t>(batch.download_ns));
  const StageTimes& stages = outcome.stages;
  for (const StageTime& stage : stages.entries()) {
    AddStage(stage.stages, stage.duration_ns, stages.sampled, proto);
  }
  proto->set_total_ns(static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count()));
}

void AddMatchTime(std::chrono::nanoseconds time, v1::FrameTimings* proto) {
  if (time.count() <= 0) return;
  proto->set_match_ns(static_cast<uint64_t>(time.count()));
  AddStage(Stage::kMatch, time.count(), /*sampled=*/false, proto);
}

void AddTrackTime(std::chrono::nanoseconds time, v1::FrameTimings* proto) {
  if (time.count() <= 0) return;
  proto->set_track_ns(static_cast<uint64_t>(time.count()));
  AddStage(Stage::kTrack, time.count(), /*sampled=*/false, proto);
}

v1::FrameTimings SumOfTimings(const v1::FrameTimings& a, const v1::FrameTimings& b) {
  v1::FrameTimings sum;
  sum.set_queue_ns(std::max(a.queue_ns(), b.queue_ns()));
  sum.set_decode_ns(a.decode_ns() + b.decode_ns());
  sum.set_upload_ns(a.upload_ns() + b.upload_ns());
  sum.set_compute_ns(a.compute_ns() + b.compute_ns());
  sum.set_download_ns(a.download_ns() + b.download_ns());
  if (!a.stages().empty() && !b.stages().empty()) {
    *sum.mutable_stages() = a.stages();
    for (const v1::StageTime& stage : b.stages()) AddToStage(stage, &sum);
  }
  return sum;
}

void ExecutionToProto(const FrameOutcome& outcome, v1::Execution* proto) {
  if (outcome.batch_frames == 0) return;  // it never ran
  proto->set_batch_size(static_cast<uint32_t>(outcome.batch_frames));
  const BatchCost& cost = outcome.cost;
  proto->set_backend(cost.backend.data(), cost.backend.size());
  proto->set_device(cost.device.data(), cost.device.size());
  proto->set_lane(static_cast<uint32_t>(cost.lane));
  if (outcome.energy_joules.has_value()) {
    proto->set_energy_joules(*outcome.energy_joules);
  }
}

}  // namespace orbserve
