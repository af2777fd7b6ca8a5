// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The slow path of a lane: frames that need more than the room that they were given. Steps whose
// lists overflowed run again with longer ones, for one frame at a time, and its records are fetched
// in several rounds. It may allocate and waits for the device.

#include <algorithm>
#include <cstring>
#include <optional>

#include "features/errors.h"
#include "gpu/lane.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {

absl::Status Lane::WaitForStream() {
  ORBSERVE_RETURN_IF_ERROR(end_.Record(stream_.get()));
  return end_.Wait(std::chrono::steady_clock::now() + deadline_, std::chrono::microseconds(100));
}

bool Lane::NeedsSlowPath(const FrameBatch& batch, size_t job_index) const {
  const FrameWork& work = batch.works[job_index];
  const FrameReport& report = sides_[batch.side].reports()[work.place];
  const int wanted = work.given.empty()
                         ? std::min(report.total, batch.plan->spec().pipeline.select.capacity)
                         : static_cast<int>(work.given.size());
  return report.unranked != 0 || wanted > report.written;
}

absl::Status Lane::FinishLarge(FrameBatch* batch, size_t job_index) {
  const TraceRange trace("slow path");
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context_.device));
  const FrameWork& work = batch->works[job_index];
  const GpuPlan& plan = *batch->plan;
  const CompiledPipeline& pipeline = plan.pipeline();
  FrameParams params = sides_[batch->side].params()[work.place];
  const FrameReport& report = *params.report;  // written again by every round
  Features& features = work.result->features;
  const auto descriptor_bytes = static_cast<size_t>(pipeline.descriptor_bytes);
  const int capacity = pipeline.spec.pipeline.select.capacity;
  const bool given = !work.given.empty();

  StepContext context =
      plan.ContextFor(batch->kind, context_.device_index, context_.tables, arena_.data());
  context.kind.few_keys = false;  // the last step writes the records of every round
  context.frames.first = work.place;
  context.frames.count = 1;
  LargeFrame frame;
  frame.stream = stream_.get();
  frame.report = report;
  frame.params = &params;
  frame.uploaded = const_cast<FrameParams*>(context.frames.params) + work.place;
  frame.scratch = &scratch_;
  const bool unranked = report.unranked != 0;
  params.state_capacity = 0;  // a match that needs the state's copy will make it
  if (unranked) {
    for (const StepList::PlacedStep& placed : plan.steps().steps()) {
      ORBSERVE_RETURN_IF_ERROR(placed.step->FinishLarge(context, &frame));
    }
  }

  const FrameJob& job = batch->jobs[job_index];
  std::optional<LappingRows> lapping;  // from the moment on at which the answer has its size
  // Records of the fast path are taken first, where there are any.
  const auto take = [&](int first, int count) {
    if (given) {
      std::memcpy(features.descriptors.data() + static_cast<size_t>(first) * descriptor_bytes,
                  params.descriptors, static_cast<size_t>(count) * descriptor_bytes);
    } else if (lapping.has_value()) {
      CopyLappingRecords(pipeline, params.records, params.descriptors, count, &*lapping, &features);
    } else {
      CopyRecords(pipeline, params.records, params.descriptors, first, count, &features);
    }
  };
  int wanted = given ? static_cast<int>(work.given.size()) : 0;
  const auto size_answer = [&] {
    wanted = std::min(report.total, capacity);
    features.truncated = IsTruncated(pipeline, batch->jobs[job_index], report);
    features.suppression_passes = report.suppression_passes;
    features.Resize(static_cast<size_t>(wanted));
    if (MovesLapping(pipeline, job)) lapping.emplace(job.parameters, features.count());
  };
  int done = unranked ? 0 : report.written;
  bool sized = given || !unranked;
  if (!given && sized) size_answer();
  take(0, done);
  while (!sized || done < wanted) {
    if (given) {
      // A round has its own list, from its first row on.
      params.given_count = std::min(wanted - done, params.record_capacity);
      std::copy_n(work.given.begin() + done, params.given_count,
                  const_cast<GivenEntry*>(params.given));
    } else {
      params.first_record = done;
    }
    ORBSERVE_RETURN_IF_ERROR(frame.Upload());
    ORBSERVE_RETURN_IF_ERROR(plan.steps().last().Enqueue(context, stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(WaitForStream());
    if (!sized) size_answer();
    sized = true;
    const int count = std::min(report.written, wanted - done);
    if (count <= 0 && done < wanted) {
      return MakeError(ErrorReason::kInternal, "the slow path made no progress");
    }
    take(done, count);
    done += count;
  }
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
