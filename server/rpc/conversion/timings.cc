// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/conversion/timings.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
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

void TimingsToProto(const FrameOutcome& outcome, v1::FrameTimings* proto) {
  FrameTimes times = outcome.times;
  times.Enter(FramePhase::kSend, std::chrono::steady_clock::now());
  const auto spent = [&times](FramePhase phase) {
    return static_cast<uint64_t>(times.spent(phase).count());
  };
  proto->set_admit_ns(spent(FramePhase::kAdmit));
  proto->set_decode_queue_ns(spent(FramePhase::kDecodeQueue));
  proto->set_decode_ns(spent(FramePhase::kDecode));
  proto->set_queue_ns(spent(FramePhase::kQueue));
  proto->set_upload_ns(spent(FramePhase::kUpload));
  proto->set_compute_ns(spent(FramePhase::kCompute));
  proto->set_download_ns(spent(FramePhase::kDownload));
  proto->set_track_queue_ns(spent(FramePhase::kTrackQueue));
  proto->set_track_ns(spent(FramePhase::kTrack));
  proto->set_send_ns(spent(FramePhase::kEncode) + spent(FramePhase::kSend));
  proto->set_total_ns(static_cast<uint64_t>(times.total().count()));
  const StageTimes& stages = outcome.stages;
  for (const StageTime& stage : stages.entries()) {
    AddStage(stage.stages, stage.duration_ns, stages.sampled, proto);
  }
  AddMatchTime(times.spent(FramePhase::kMatchQueue), times.spent(FramePhase::kMatch), proto);
  const int64_t track_ns = times.spent(FramePhase::kTrack).count();
  if (track_ns > 0) AddStage(Stage::kTrack, track_ns, /*sampled=*/false, proto);
}

void AddMatchTime(std::chrono::nanoseconds queued, std::chrono::nanoseconds time,
                  v1::FrameTimings* proto) {
  if (time.count() <= 0) return;
  proto->set_match_queue_ns(static_cast<uint64_t>(queued.count()));
  proto->set_match_ns(static_cast<uint64_t>(time.count()));
  AddStage(Stage::kMatch, time.count(), /*sampled=*/false, proto);
}

void SetTotalTime(std::chrono::nanoseconds total, v1::FrameTimings* proto) {
  const auto total_ns = static_cast<uint64_t>(total.count());
  const uint64_t parts_ns = proto->admit_ns() + proto->decode_queue_ns() + proto->decode_ns() +
                            proto->queue_ns() + proto->upload_ns() + proto->compute_ns() +
                            proto->download_ns() + proto->match_queue_ns() + proto->match_ns();
  proto->set_total_ns(total_ns);
  proto->set_send_ns(total_ns - std::min(total_ns, parts_ns));
}

v1::FrameTimings SumOfTimings(const v1::FrameTimings& a, const v1::FrameTimings& b) {
  v1::FrameTimings sum;
  sum.set_admit_ns(std::max(a.admit_ns(), b.admit_ns()));
  sum.set_decode_queue_ns(std::max(a.decode_queue_ns(), b.decode_queue_ns()));
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
