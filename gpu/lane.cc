// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/rbrief.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

// Answers to few frames are wanted at once, and a thread that sleeps wakes up late; a single frame
// takes about a hundred microseconds. Larger batches form where many clients wait: there a
// processor is worth more to the server than a few microseconds to a batch.
constexpr std::chrono::microseconds kSpin{400};
constexpr int kMostSpinFrames = 2;

// A lane keeps this much for its next frame on the slow path.
constexpr size_t kMostKeptLargeBytes = size_t{32} << 20;

size_t Reserve(size_t bytes, size_t* end) {
  return std::exchange(*end, *end + RoundUp<size_t>(bytes, 256));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Lane>> Lane::Create(const LaneContext& context, int index,
                                                   size_t graph_index) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context.device));
  std::unique_ptr<Lane> lane(new Lane(context, index, graph_index));
  ORBSERVE_ASSIGN_OR_RETURN(lane->stream_, Stream::Create());
  ORBSERVE_ASSIGN_OR_RETURN(lane->side_stream_, Stream::Create());
  ORBSERVE_ASSIGN_OR_RETURN(lane->forked_, Event::Create(Event::Timing::kOff));
  ORBSERVE_ASSIGN_OR_RETURN(lane->cleared_, Event::Create(Event::Timing::kOff));
  ORBSERVE_ASSIGN_OR_RETURN(lane->joined_, Event::Create(Event::Timing::kOff));
  ORBSERVE_ASSIGN_OR_RETURN(lane->begin_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->uploaded_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->end_, Event::Create(Event::Timing::kOn));
  for (Side& side : lane->sides_) ORBSERVE_RETURN_IF_ERROR(lane->MakeSide(&side));
  return lane;
}

absl::Status Lane::MakeSide(Side* side) {
  const auto frames = static_cast<size_t>(FramesOfClass(ClassOfFrames(context_.max_batch_frames)));
  const size_t rows = frames * kNormalRecords;
  size_t end = 0;
  const size_t params = Reserve(frames * sizeof(FrameParams), &end);
  const size_t reports = Reserve(frames * sizeof(FrameReport), &end);
  const size_t records = Reserve(rows * sizeof(FeatureRecord), &end);
  const size_t descriptors = Reserve(rows * algo::kRBriefBytes, &end);
  const size_t given = Reserve(rows * sizeof(GivenEntry), &end);
  ORBSERVE_ASSIGN_OR_RETURN(side->memory, PinnedBuffer::Create(end, nullptr));
  uint8_t* const base = side->memory.data();
  side->params = reinterpret_cast<FrameParams*>(base + params);
  side->reports = reinterpret_cast<FrameReport*>(base + reports);
  side->records = reinterpret_cast<FeatureRecord*>(base + records);
  side->descriptors = base + descriptors;
  side->given = reinterpret_cast<GivenEntry*>(base + given);
  return absl::OkStatus();
}

absl::Status Lane::EnsureArena(size_t bytes) {
  if (arena_.size_bytes() >= bytes) return absl::OkStatus();
  ++arena_generation_;  // nothing runs in this lane, so the old one can go first
  ORBSERVE_RETURN_IF_ERROR(Enlarge(&arena_, ArenaBytes(bytes, context_.arena_bytes)));
  // Kernels read padding, whose values never count; once defined, checkers have nothing to say.
  return StatusFromCuda(cudaMemsetAsync(arena_.data(), 0, arena_.size_bytes(), stream_.get()),
                        "cudaMemsetAsync");
}

absl::Status Lane::Enlarge(DeviceBuffer* buffer, size_t bytes) {
  const auto enlarge = [&]() -> absl::Status {
    if (buffer->size_bytes() > 0) return buffer->Enlarge(bytes);
    ORBSERVE_ASSIGN_OR_RETURN(*buffer,
                              DeviceBuffer::Create(context_.device, bytes, context_.budget));
    return absl::OkStatus();
  };
  absl::Status status = enlarge();
  if (ReasonOf(status) != ErrorReason::kOutOfMemory) return status;
  context_.state_buffers->FreeIdle();
  return enlarge();
}

absl::StatusOr<const Graph*> Lane::GraphFor(GpuPlan* plan, const GraphKind& kind) {
  ORBSERVE_RETURN_IF_ERROR(EnsureArena(plan->Layout(kind).total));
  GpuPlan::LaneGraphs& made = plan->graphs(graph_index_);
  if (made.arena_generation != arena_generation_) {
    for (Graph& graph : made.graphs) graph = Graph();
    made.arena_generation = arena_generation_;
  }
  Graph& graph = made.graphs[kind.index()];
  if (graph.empty()) {
    ORBSERVE_ASSIGN_OR_RETURN(
        graph, Graph::Capture(stream_.get(), [&](cudaStream_t stream) {
          return plan->Enqueue(
              kind, context_.device_index, context_.tables, arena_.data(),
              {stream, side_stream_.get(), forked_.get(), cleared_.get(), joined_.get()});
        }));
  }
  return &graph;
}

absl::Status Lane::Prepare(GpuPlan* plan) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context_.device));
  const int largest = ClassOfFrames(plan->max_batch_frames());
  ORBSERVE_RETURN_IF_ERROR(EnsureArena(plan->Layout({largest, /*masks=*/true}).total));
  for (int c = 0; c <= largest; ++c) ORBSERVE_RETURN_IF_ERROR(GraphFor(plan, {c}).status());
  return absl::OkStatus();
}

void Lane::Launch(FrameBatch* batch) {
  const TraceRange trace("launch batch");
  batch->answer.cost.backend = kBackendName;
  batch->answer.cost.device = context_.device_name;
  batch->answer.cost.lane = index_;
  batch->answer.cost.busy_begin = std::chrono::steady_clock::now();
  batch->side = next_side_;
  next_side_ ^= 1;
  Side* const side = &sides_[batch->side];
  batch->status = UseDevice(context_.device);
  if (batch->status.ok()) {
    PrepareJobs(batch, side);
    batch->status = LaunchPrepared(batch, side);
  }
}

// Gives the jobs that can be computed their places on the device, without gaps.
void Lane::PrepareJobs(FrameBatch* batch, Side* side) {
  batch->works.resize(batch->jobs.size());
  batch->answer.frames.resize(batch->jobs.size());
  bool masks = false;
  bool given = false;
  int place = 0;
  for (size_t i = 0; i < batch->jobs.size(); ++i) {
    const FrameJob& job = batch->jobs[i];
    FrameWork& work = batch->works[i];
    work.result = context_.results->Lease([] { return std::make_unique<FrameResult>(); });
    FrameParams* const params = &side->params[place];
    batch->answer.frames[i].status = PrepareFrame(*batch->plan, job, &work, params);
    if (!batch->answer.frames[i].status.ok()) continue;
    const bool describes = params->mode == FrameMode::kDescribeGiven;
    // Without a descriptor to make, given keypoints are their own answer.
    if (describes && (batch->plan->descriptor_bytes() == 0 || work.given.empty())) continue;

    const size_t rows = static_cast<size_t>(place) * kNormalRecords;
    params->records = side->records + rows;
    params->descriptors = side->descriptors + rows * algo::kRBriefBytes;
    params->report = &side->reports[place];
    params->record_capacity =
        std::min(kNormalRecords, batch->plan->spec().pipeline.select.capacity);
    if (describes) {
      given = true;
      params->given = side->given + rows;
      params->given_count =
          static_cast<int32_t>(std::min<size_t>(work.given.size(), kNormalRecords));
      std::memcpy(side->given + rows, work.given.data(),
                  static_cast<size_t>(params->given_count) * sizeof(GivenEntry));
    } else if (!job.input->mask.empty()) {
      masks = true;
    }
    if (job.keep_state && batch->plan->descriptor_bytes() > 0) {
      work.state_descriptors =
          context_.state_buffers->Lease(size_t{kNormalRecords} * algo::kRBriefBytes);
      if (work.state_descriptors != nullptr) {
        params->state_descriptors = work.state_descriptors->data();
      }
    }
    work.place = place++;
  }
  batch->frames_on_device = place;
  batch->kind = {ClassOfFrames(std::max(place, 1)), masks, given};
  for (; place < FramesOfClass(batch->kind.batch_class); ++place) {
    side->params[place] = {};
    side->params[place].mode = FrameMode::kIdle;
  }
}

absl::Status Lane::LaunchPrepared(FrameBatch* batch, Side* side) {
  if (batch->frames_on_device == 0) return absl::OkStatus();
  ORBSERVE_ASSIGN_OR_RETURN(const Graph* graph, GraphFor(batch->plan.get(), batch->kind));
  ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
  ORBSERVE_RETURN_IF_ERROR(CopyInputs(*batch, side));
  ORBSERVE_RETURN_IF_ERROR(uploaded_.Record(stream_.get()));
  ORBSERVE_RETURN_IF_ERROR(graph->Launch(stream_.get()));
  return end_.Record(stream_.get());
}

// Neighbouring slots go up in one copy. Fills in where the images come to lie.
absl::Status Lane::CopyInputs(const FrameBatch& batch, Side* side) {
  const ArenaLayout layout = batch.plan->Layout(batch.kind);
  const SlotLayout& slot = batch.plan->slot();
  uint8_t* const input = arena_.data() + layout.input;
  const uint8_t* run = nullptr;  // host memory of the copy being gathered
  size_t run_bytes = 0;
  size_t run_begin = 0;
  size_t end = 0;
  const auto flush = [&]() -> absl::Status {
    if (run_bytes == 0) return absl::OkStatus();
    const cudaError_t result =
        cudaMemcpyAsync(input + run_begin, run, run_bytes, cudaMemcpyHostToDevice, stream_.get());
    run_bytes = 0;
    return StatusFromCuda(result, "cudaMemcpyAsync");
  };
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    if (batch.works[i].place < 0) continue;
    const InputSlot& in = *batch.jobs[i].input;
    FrameParams& params = side->params[batch.works[i].place];
    const bool masked = params.mode == FrameMode::kDetect && !in.mask.empty();
    params.image_offset = static_cast<int64_t>(end) + kImagePaddingBytes;
    if (masked) params.mask_offset = params.image_offset + static_cast<int64_t>(slot.image_bytes);
    const size_t bytes = masked ? 2 * slot.image_bytes : slot.image_bytes;
    const auto* const pinned = dynamic_cast<const PinnedSlot*>(&in);
    if (pinned != nullptr) {
      if (run_bytes == 0 || run + run_bytes != pinned->memory) {
        ORBSERVE_RETURN_IF_ERROR(flush());
        run = pinned->memory;
        run_begin = end;
      }
      run_bytes += bytes;
    } else {
      // Another backend's slot: pageable memory, rows as they are.
      ORBSERVE_RETURN_IF_ERROR(flush());
      const auto copy = [&](const ImageView& image, int64_t offset) {
        return StatusFromCuda(
            cudaMemcpy2DAsync(
                input + offset, static_cast<size_t>(slot.pitch_bytes), image.data,
                static_cast<size_t>(image.pitch_bytes), static_cast<size_t>(image.width_px),
                static_cast<size_t>(image.height_px), cudaMemcpyHostToDevice, stream_.get()),
            "cudaMemcpy2DAsync");
      };
      ORBSERVE_RETURN_IF_ERROR(copy(in.image, params.image_offset));
      if (masked) ORBSERVE_RETURN_IF_ERROR(copy(in.mask, params.mask_offset));
    }
    end += bytes;
  }
  ORBSERVE_RETURN_IF_ERROR(flush());
  // Last, as the offsets are known only now.
  return StatusFromCuda(cudaMemcpyAsync(arena_.data() + layout.params, side->params,
                                        static_cast<size_t>(FramesOfClass(batch.kind.batch_class)) *
                                            sizeof(FrameParams),
                                        cudaMemcpyHostToDevice, stream_.get()),
                        "cudaMemcpyAsync");
}

void Lane::Wait(FrameBatch* batch, bool alone) {
  if (batch->status.ok() && batch->frames_on_device > 0) {
    const TraceRange trace("wait for batch");
    BatchCost& cost = batch->answer.cost;
    // Where others wait too, the processor that spinning takes is missing for their frames.
    const auto spin = alone && batch->frames_on_device <= kMostSpinFrames ? kSpin : kSpin.zero();
    batch->status = UseDevice(context_.device);
    if (batch->status.ok()) {
      batch->status = end_.Wait(cost.busy_begin + context_.deadline, spin);
    }
    if (batch->status.ok()) {
      const auto upload = uploaded_.ElapsedSince(begin_);
      const auto compute = end_.ElapsedSince(uploaded_);
      if (upload.ok()) cost.timings.upload_ns = *upload;
      if (compute.ok()) cost.timings.compute_ns = *compute;
      // Results are written to the host by the last kernel: part of `compute`.
    }
  }
  // The slow path needs the lane's arena, which the next batch will overwrite.
  if (batch->status.ok()) {
    for (size_t i = 0; i < batch->jobs.size(); ++i) {
      const FrameWork& work = batch->works[i];
      if (work.place < 0) continue;
      const FrameReport& report = sides_[batch->side].reports[work.place];
      const size_t given = work.given.size();
      const int wanted = given > 0
                             ? static_cast<int>(given)
                             : std::min(report.total, batch->plan->spec().pipeline.select.capacity);
      if (report.unranked != 0 || wanted > report.written) {
        const auto begin = std::chrono::steady_clock::now();
        batch->answer.frames[i].status = FinishLarge(batch, i);
        batch->works[i].place = -1;
        batch->answer.cost.timings.compute_ns +=
            std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
        const absl::Status& slow = batch->answer.frames[i].status;
        if (!slow.ok() && ReasonOf(slow) == ErrorReason::kDeviceLost) {
          batch->status = batch->answer.frames[i].status;
          break;
        }
      }
    }
    if (batch->status.ok() && large_.size_bytes() > kMostKeptLargeBytes) large_.Reset();
  }
  batch->answer.cost.busy_end = std::chrono::steady_clock::now();
}

void Lane::Finish(FrameBatch* batch) {
  const TraceRange trace("finish batch");
  batch->answer.frames.resize(batch->jobs.size());
  for (size_t i = 0; i < batch->jobs.size(); ++i) {
    FrameAnswer& answer = batch->answer.frames[i];
    if (!answer.status.ok()) continue;
    answer.status = batch->status.ok() ? FinishFrame(batch, i) : batch->status;
  }
}

absl::Status Lane::FinishFrame(FrameBatch* batch, size_t job_index) {
  FrameWork& work = batch->works[job_index];
  Features& features = work.result->features;
  const int capacity = batch->plan->spec().pipeline.select.capacity;
  if (work.place >= 0) {
    const Side& side = sides_[batch->side];
    const FrameReport& report = side.reports[work.place];
    const size_t rows = static_cast<size_t>(work.place) * kNormalRecords;
    const uint8_t* const descriptors = side.descriptors + rows * algo::kRBriefBytes;
    if (batch->jobs[job_index].given_keypoints == nullptr) {
      features.truncated = report.total > capacity;
      features.Resize(static_cast<size_t>(report.written));
      CopyRecords(*batch->plan, side.records + rows, descriptors, 0, report.written, &features);
    } else {
      std::memcpy(features.descriptors.data(), descriptors, features.descriptors.size());
    }
  }
  FrameAnswer& answer = batch->answer.frames[job_index];
  answer.features = std::shared_ptr<const Features>(work.result, &features);
  if (batch->jobs[job_index].keep_state) {
    auto state = std::make_shared<GpuFrameState>(answer.features, context_.device_count);
    if (work.state_descriptors != nullptr && work.place >= 0) {
      state->SetOnDevice(context_.device_index, std::move(work.state_descriptors));
    }
    answer.state = std::move(state);
  }
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
