// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "decode/jpeg_ways.h"
#include "features/errors.h"
#include "gpu/frame/frame_room.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/guarded.h"
#include "gpu/runtime/trace.h"
#include "gpu/steps/select/key_survivors.h"

namespace orbserve::gpu {
namespace {

// Answers to few frames are wanted at once, and a thread that sleeps wakes up late; a single frame
// takes about a hundred microseconds. Larger batches form where many clients wait: there a
// processor is worth more to the server than a few microseconds to a batch.
constexpr std::chrono::microseconds kSpin{400};
constexpr int kMaxSpinFrames = 2;

// Rows of records and descriptors that a side has from the start, for each frame of the largest
// batch: the default number of features and some ties.
constexpr int kFirstRows = 640;
constexpr int kFirstDescriptorBytes = 32;

// A large batch may wait behind a busy device's other work. A device that hangs is found out by its
// other lanes, or because nothing is answered.
constexpr int kLargeDeadlines = 6;

// Piece of a large image that goes up at a time: a third of a millisecond at 12 GB/s.
constexpr size_t kCopyBytes = size_t{4} << 20;

}  // namespace

Lane::Lane(const LaneContext& context, int index, bool for_large)
    : context_(context),
      index_(index),
      for_large_(for_large),
      deadline_(context.deadline * (for_large ? kLargeDeadlines : 1)),
      graphs_(context.graph_meter),
      batches_until_timed_(context.stage_sampling),
      scratch_(context.device, context.arena_budget,
               [pool = context.state_buffers] { pool->FreeIdle(); }),
      jpeg_room_(context.device, context.arena_budget, context.overlaps_kernels) {}

absl::StatusOr<std::unique_ptr<Lane>> Lane::Create(const LaneContext& context, int index,
                                                   bool for_large) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context.device));
  std::unique_ptr<Lane> lane(new Lane(context, index, for_large));
  const Stream::Priority priority = for_large ? Stream::Priority::kLow : Stream::Priority::kHigh;
  ORBSERVE_ASSIGN_OR_RETURN(lane->stream_, Stream::Create(priority));
  ORBSERVE_ASSIGN_OR_RETURN(lane->side_stream_, Stream::Create(priority));
  for (Event& event : lane->copied_) {
    ORBSERVE_ASSIGN_OR_RETURN(event, Event::Create(Event::Timing::kOff));
  }
  for (Event& event : lane->order_) {
    ORBSERVE_ASSIGN_OR_RETURN(event, Event::Create(Event::Timing::kOff));
  }
  for (Event& event : lane->stage_end_) {
    ORBSERVE_ASSIGN_OR_RETURN(event, Event::Create(Event::Timing::kOn));
  }
  ORBSERVE_ASSIGN_OR_RETURN(lane->begin_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->uploaded_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->decoded_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->end_, Event::Create(Event::Timing::kOn));
  const int frames = FramesOfClass(ClassOfFrames(context.max_batch_frames));
  const size_t row_bytes =
      static_cast<size_t>(frames) *
      PinnedSide::RowBytes(kFirstRows, sizeof(FeatureRecord), kFirstDescriptorBytes, false);
  for (PinnedSide& side : lane->sides_) {
    ORBSERVE_RETURN_IF_ERROR(side.Create(frames, row_bytes, context.pinned_budget));
  }
  return lane;
}

absl::Status Lane::EnsureArena(size_t bytes) {
  if (arena_.size_bytes() >= bytes) return absl::OkStatus();
  // Nothing runs in this lane, so the old arena can go first.
  graphs_.Clear();
  const auto enlarge = [&]() -> absl::Status {
    const size_t wanted = ArenaBytes(bytes, context_.arena_bytes);
    if (arena_.size_bytes() > 0) return arena_.Enlarge(wanted);
    ORBSERVE_ASSIGN_OR_RETURN(arena_,
                              DeviceBuffer::Create(context_.device, wanted, context_.arena_budget));
    return absl::OkStatus();
  };
  absl::Status status = enlarge();
  if (ReasonOf(status) == ErrorReason::kOutOfMemory) {
    context_.state_buffers->FreeIdle();
    status = enlarge();
  }
  if (arena_.size_bytes() > 0) {
    // Kernels load padding bytes but never use them. Zeroing them keeps compute-sanitizer's
    // initcheck quiet.
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaMemsetAsync(arena_.data(), 0, arena_.size_bytes(), stream_.get()));
  }
  return status;
}

BranchStreams Lane::Branches() const {
  BranchStreams branches;
  branches.main = stream_.get();
  branches.side = side_stream_.get();
  for (int i = 0; i < kMaxBranchEvents; ++i) branches.order[i] = order_[i].get();
  for (int i = 0; i < StageTimes::kMaxEntries; ++i) branches.stage_end[i] = stage_end_[i].get();
  return branches;
}

absl::StatusOr<const Graph*> Lane::GraphFor(const std::shared_ptr<GpuPlan>& plan,
                                            const GraphKind& kind) {
  return graphs_.Get(plan, kind, [&] {
    return Graph::Capture(stream_.get(), [&](cudaStream_t) {
      return plan->steps().Enqueue(
          plan->ContextFor(kind, context_.device_index, context_.tables, arena_.data()),
          Branches());
    });
  });
}

absl::Status Lane::Prepare(const std::shared_ptr<GpuPlan>& plan) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context_.device));
  graphs_.DropExpired();
  const int largest = ClassOfFrames(plan->max_batch_frames());
  ORBSERVE_RETURN_IF_ERROR(EnsureArena(
      plan->ArenaBytesWanting({largest, /*masks=*/true}, FrameParameters{}.max_features)));
  GraphKind usual;
  usual.few_keys =
      ChoosesFewKeys(plan->pipeline(), FirstKeys(plan->pipeline().CutsFor(FrameParameters{})));
  usual.pyramids = plan->spec().track_levels > 0;
  for (usual.batch_class = 0; usual.batch_class <= largest; ++usual.batch_class) {
    ORBSERVE_RETURN_IF_ERROR(GraphFor(plan, usual).status());
  }
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
  PinnedSide* const side = &sides_[batch->side];
  batch->status = UseDevice(context_.device);
  if (batch->status.ok()) {
    batch->status = Guarded([&] {
      PrepareJobs(batch, side);
      return LaunchPrepared(batch, side);
    });
  }
}

// Gives the jobs that can be computed their places on the device, without gaps.
void Lane::PrepareJobs(FrameBatch* batch, PinnedSide* side) {
  const CompiledPipeline& pipeline = batch->plan->pipeline();
  batch->kind.few_keys = ChoosesFewKeys(pipeline, 0);
  int place = 0;
  for (size_t i = 0; i < batch->jobs.size(); ++i) {
    const FrameJob& job = batch->jobs[i];
    FrameWork& work = batch->works[i];
    work.result = context_.results->Lease([] { return std::make_unique<FrameResult>(); });
    FrameParams* const params = &side->params()[place];
    batch->answer.frames[i].status = PrepareFrame(pipeline, job, &work, params);
    if (!batch->answer.frames[i].status.ok()) continue;
    const bool describes = params->mode == FrameMode::kDescribeGiven;
    // Without a descriptor to make, given keypoints are their own answer.
    if (describes && (pipeline.descriptor_bytes == 0 || work.given.empty())) continue;

    batch->kind.given = batch->kind.given || describes;
    batch->kind.low_threshold =
        batch->kind.low_threshold || (!describes && params->strong_threshold_grey > 0);
    batch->kind.few_keys =
        batch->kind.few_keys && (describes || ChoosesFewKeys(pipeline, params->first_keys));
    batch->kind.masks = batch->kind.masks || (!describes && !job.input->mask.empty());
    // A state whose rows move gets its descriptors from the answer.
    if (job.keep_state != KeepState::kNone && pipeline.descriptor_bytes > 0 &&
        !MovesLapping(pipeline, job)) {
      const auto descriptor_bytes = static_cast<size_t>(pipeline.descriptor_bytes);
      work.state_descriptors = context_.state_buffers->Lease(
          static_cast<size_t>(work.room.state_rows) * descriptor_bytes);
      if (work.state_descriptors != nullptr) {
        params->state_descriptors = work.state_descriptors->data();
        params->state_capacity =
            static_cast<int32_t>(work.state_descriptors->size_bytes() / descriptor_bytes);
      }
    }
    if (job.keep_state == KeepState::kPyramid) {
      // Without memory for it the pyramid is made when it is first needed.
      work.state_pyramid = context_.state_buffers->Lease(batch->plan->track_pyramid().bytes());
      if (work.state_pyramid != nullptr) params->state_pyramid = work.state_pyramid->data();
      batch->kind.pyramids = batch->kind.pyramids || work.state_pyramid != nullptr;
    }
    const auto* const pinned = dynamic_cast<const PinnedSlot*>(job.input.get());
    if (pinned != nullptr) work.file = pinned->file();
    work.place = place++;
  }
  batch->frames_on_device = place;
  batch->kind.batch_class = ClassOfFrames(std::max(place, 1));
  for (; place < batch->kind.frames(); ++place) {
    side->params()[place] = {};
    side->params()[place].mode = FrameMode::kIdle;
  }
}

absl::Status Lane::MakeRoom(FrameBatch* batch, PinnedSide* side) {
  GpuPlan& plan = *batch->plan;
  const int descriptor_bytes = plan.pipeline().descriptor_bytes;
  size_t row_bytes = 0;
  size_t list_bytes = 0;
  for (const FrameWork& work : batch->works) {
    if (work.place < 0) continue;
    row_bytes += PinnedSide::RowBytes(work.room.rows, RecordBytes(plan.pipeline()),
                                      descriptor_bytes, !work.given.empty());
    list_bytes += work.room.list_bytes();
  }
  ORBSERVE_RETURN_IF_ERROR(side->BeginBatch(row_bytes));
  const absl::Status status = EnsureArena(plan.ArenaBytesFor(batch->kind, list_bytes));
  if (ReasonOf(status) != ErrorReason::kOutOfMemory) return status;
  // Others hold the memory for lists: the slow path has its own.
  for (FrameWork& work : batch->works) work.room.DropLists();
  return EnsureArena(plan.ArenaBytesFor(batch->kind, 0));
}

absl::Status Lane::MakeJpegRoom(FrameBatch* batch) {
  files_.clear();
  for (const FrameWork& work : batch->works) {
    if (work.place >= 0 && work.file != nullptr) files_.push_back({work.file});
  }
  absl::Status status = jpeg_room_.Prepare(files_, stream_.get());
  if (ReasonOf(status) == ErrorReason::kOutOfMemory) {
    context_.state_buffers->FreeIdle();
    status = jpeg_room_.Prepare(files_, stream_.get());
  }
  if (ReasonOf(status) != ErrorReason::kOutOfMemory) return status;
  files_.clear();
  for (FrameWork& work : batch->works) work.undecided = work.file != nullptr;
  return absl::OkStatus();
}

void Lane::PlaceFrames(FrameBatch* batch, PinnedSide* side) {
  const GpuPlan& plan = *batch->plan;
  const int descriptor_bytes = plan.pipeline().descriptor_bytes;
  uint8_t* lists = arena_.data() + plan.ListsOffset(batch->kind);
  for (FrameWork& work : batch->works) {
    if (work.place < 0) continue;
    FrameParams& params = side->params()[work.place];
    const FrameRoom& room = work.room;
    params.survivors = reinterpret_cast<uint64_t*>(lists);
    params.ranked = params.survivors + room.survivor_entries;
    params.spare = params.ranked + room.ranked_entries;
    lists += room.list_bytes();
    std::copy(room.survivors.begin(), room.survivors.end(), params.survivor_room);
    std::copy(room.ranked.begin(), room.ranked.end(), params.ranked_room);
    params.record_capacity = room.rows;
    GivenEntry* const given = side->PlaceRows(work.place, room.rows, RecordBytes(plan.pipeline()),
                                              descriptor_bytes, !work.given.empty());
    if (given != nullptr) {
      params.given_count =
          std::min(static_cast<int32_t>(work.given.size()), params.record_capacity);
      std::copy_n(work.given.begin(), params.given_count, given);
    }
  }
}

absl::Status Lane::LaunchPrepared(FrameBatch* batch, PinnedSide* side) {
  if (batch->frames_on_device == 0) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(MakeRoom(batch, side));
  ORBSERVE_RETURN_IF_ERROR(MakeJpegRoom(batch));
  if (context_.stage_sampling > 0 && --batches_until_timed_ == 0) {
    batches_until_timed_ = context_.stage_sampling;
    batch->kind.timed = true;
  }
  ORBSERVE_ASSIGN_OR_RETURN(const Graph* graph, GraphFor(batch->plan, batch->kind));
  ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
  ORBSERVE_RETURN_IF_ERROR(batch->plan->reads_in_place() ? LocateImages(batch, side)
                                                         : CopyImages(*batch, side));
  // Files are decoded before the graph: the sizes of these launches follow from the files. The
  // parameters are copied in the other stream meanwhile.
  const bool decodes = !files_.empty();
  const cudaStream_t parameters_stream = decodes ? side_stream_.get() : stream_.get();
  if (decodes) {
    ORBSERVE_RETURN_IF_ERROR(uploaded_.Record(stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(jpeg_room_.Launch(stream_.get()));
    if (batch->kind.timed) ORBSERVE_RETURN_IF_ERROR(decoded_.Record(stream_.get()));
    // A new arena is cleared before `begin_`.
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaStreamWaitEvent(parameters_stream, begin_.get(), /*flags=*/0));
  }
  PlaceFrames(batch, side);  // while the images are on their way
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(arena_.data() + batch->plan->ParamsOffset(batch->kind), side->params(),
                      static_cast<size_t>(batch->kind.frames()) * sizeof(FrameParams),
                      cudaMemcpyHostToDevice, parameters_stream));
  if (decodes) {
    ORBSERVE_RETURN_IF_ERROR(copied_[1].Record(parameters_stream));
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaStreamWaitEvent(stream_.get(), copied_[1].get(), /*flags=*/0));
  } else {
    ORBSERVE_RETURN_IF_ERROR(uploaded_.Record(stream_.get()));
  }
  ORBSERVE_RETURN_IF_ERROR(graph->Launch(stream_.get()));
  return end_.Record(stream_.get());
}

// A copy engine works through one stream as long as that has copies that may begin, and knows no
// priorities. Large images go up in pieces that alternate between the lane's two streams: each
// piece waits for the one before it in the other stream, and meanwhile the engine turns to the
// copies of other lanes.
absl::Status Lane::CopyUp(uint8_t* to, const uint8_t* from, size_t bytes) {
  const cudaStream_t streams[2] = {stream_.get(), side_stream_.get()};
  const auto copy = [](uint8_t* there, const uint8_t* here, size_t count, cudaStream_t stream) {
    return StatusFromCuda(cudaMemcpyAsync(there, here, count, cudaMemcpyHostToDevice, stream),
                          "cudaMemcpyAsync");
  };
  if (!for_large_ || bytes <= kCopyBytes) return copy(to, from, bytes, stream_.get());
  int stream = 0;
  for (size_t begin = 0; begin < bytes; begin += kCopyBytes) {
    const size_t count = std::min(kCopyBytes, bytes - begin);
    ORBSERVE_RETURN_IF_ERROR(copy(to + begin, from + begin, count, streams[stream]));
    const bool is_last = begin + count == bytes;
    if (is_last && stream == 0) break;
    // The next piece, or what follows the copy, waits in the other stream.
    ORBSERVE_RETURN_IF_ERROR(copied_[stream].Record(streams[stream]));
    const int other = 1 - stream;
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaStreamWaitEvent(streams[other], copied_[stream].get(), /*flags=*/0));
    stream = other;
  }
  return absl::OkStatus();
}

// Neighbouring slots go up in one copy.
absl::Status Lane::CopyImages(const FrameBatch& batch, PinnedSide* side) {
  const SlotLayout& slot = batch.plan->slot();
  uint8_t* const input = arena_.data() + batch.plan->InputOffset(batch.kind);
  const uint8_t* run = nullptr;  // host memory of the copy being gathered
  size_t run_bytes = 0;
  size_t run_begin = 0;
  size_t end = 0;
  auto file = files_.begin();
  const auto flush = [&]() -> absl::Status {
    if (run_bytes == 0) return absl::OkStatus();
    const size_t bytes = std::exchange(run_bytes, 0);
    return CopyUp(input + run_begin, run, bytes);
  };
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    if (batch.works[i].place < 0) continue;
    const InputSlot& in = *batch.jobs[i].input;
    FrameParams& params = side->params()[batch.works[i].place];
    const bool masked = params.mode == FrameMode::kDetect && !in.mask.empty();
    params.image_offset = static_cast<int64_t>(end) + kImagePaddingBytes;
    if (masked) params.mask_offset = params.image_offset + static_cast<int64_t>(slot.image_bytes);
    const size_t bytes = masked ? 2 * slot.image_bytes : slot.image_bytes;
    const auto* const pinned = dynamic_cast<const PinnedSlot*>(&in);
    if (batch.works[i].file != nullptr) {
      ORBSERVE_RETURN_IF_ERROR(flush());
      if (!batch.works[i].undecided) {
        file->image = input + params.image_offset;
        file->pitch_bytes = slot.pitch_bytes;
        ++file;
      }
      if (masked) {
        ORBSERVE_RETURN_IF_ERROR(CopyUp(input + end + slot.image_bytes,
                                        pinned->memory + slot.image_bytes, slot.image_bytes));
      }
    } else if (pinned != nullptr) {
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
  return files_.empty() ? absl::OkStatus() : jpeg_room_.Upload(files_, stream_.get());
}

absl::Status Lane::LocateImages(FrameBatch* batch, PinnedSide* side) {
  // Offsets from no input at all: addresses, which are the same on the device.
  const auto offset_of = [](const ImageView& image) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(image.data));
  };
  const auto copy = [](const ImageView& from, const MutableImageView& to) {
    for (int y = 0; y < from.height_px; ++y) {
      std::memcpy(to.data + static_cast<ptrdiff_t>(y) * to.pitch_bytes,
                  from.data + static_cast<ptrdiff_t>(y) * from.pitch_bytes,
                  static_cast<size_t>(from.width_px));
    }
  };
  for (size_t i = 0; i < batch->jobs.size(); ++i) {
    FrameWork& work = batch->works[i];
    if (work.place < 0) continue;
    FrameParams& params = side->params()[work.place];
    const std::shared_ptr<InputSlot>& input = batch->jobs[i].input;
    const bool masked = params.mode == FrameMode::kDetect && !input->mask.empty();
    const InputSlot* slot = input.get();
    if (dynamic_cast<const PinnedSlot*>(slot) == nullptr) {
      // Another backend's slot: the device cannot read it.
      ORBSERVE_ASSIGN_OR_RETURN(
          work.pinned_copy,
          context_.inputs->Lease(input->image.width_px, input->image.height_px, masked));
      copy(input->image, work.pinned_copy->image);
      if (masked) copy(input->mask, work.pinned_copy->mask);
      slot = work.pinned_copy.get();
    }
    params.image_offset = offset_of(slot->image);
    if (masked) params.mask_offset = offset_of(slot->mask);
  }
  return absl::OkStatus();
}

void Lane::Wait(FrameBatch* batch, bool alone) {
  if (batch->status.ok() && batch->frames_on_device > 0) {
    const TraceRange trace("wait for batch");
    BatchCost& cost = batch->answer.cost;
    // If other lanes wait too, spinning takes the processor that their frames need.
    const auto spin = alone && batch->frames_on_device <= kMaxSpinFrames ? kSpin : kSpin.zero();
    batch->status = UseDevice(context_.device);
    if (batch->status.ok()) {
      batch->status = end_.Wait(cost.busy_begin + deadline_, spin);
    }
    if (batch->status.ok()) {
      const auto upload = uploaded_.ElapsedSince(begin_);
      const auto compute = end_.ElapsedSince(uploaded_);
      if (upload.ok()) cost.timings.upload_ns = *upload;
      if (compute.ok()) cost.timings.compute_ns = *compute;
      // Results are written to the host by the last kernel: part of `compute`.
    }
  }
  if (batch->status.ok()) {
    for (FrameWork& work : batch->works) {
      if (work.file == nullptr || work.place < 0) continue;
      work.undecided = work.undecided || work.file->undecided != 0;
      if (!work.undecided) CountJpegWay(JpegWay::kDevice);
    }
  }
  if (batch->status.ok() && batch->kind.timed) {
    const StageTimes times = TimesOf(*batch);
    for (size_t i = 0; i < batch->jobs.size(); ++i) {
      if (batch->works[i].place >= 0) batch->answer.frames[i].stages = times;
    }
  }
  // The slow path needs the lane's arena, which the next batch will overwrite.
  if (batch->status.ok()) {
    for (size_t i = 0; i < batch->jobs.size(); ++i) {
      if (batch->works[i].place < 0 || batch->works[i].undecided) continue;
      if (!NeedsSlowPath(*batch, i)) continue;
      const auto begin = std::chrono::steady_clock::now();
      FrameAnswer& answer = batch->answer.frames[i];
      answer.status = Guarded([&] { return FinishLarge(batch, i); });
      answer.stages = {};  // the slow path does not tell its stages apart
      batch->works[i].place = -1;
      batch->answer.cost.timings.compute_ns +=
          std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
      if (ReasonOf(answer.status) == ErrorReason::kDeviceLost) {
        batch->status = answer.status;
        break;
      }
      scratch_.Recycle();
    }
  }
  batch->answer.cost.busy_end = std::chrono::steady_clock::now();
}

// The first stage begins when the input has arrived, the last one ends with the batch: together
// they are the compute time.
StageTimes Lane::TimesOf(const FrameBatch& batch) const {
  StageTimes times;
  times.sampled = context_.stage_sampling > 1;
  const std::vector<StageSet>& stages = batch.plan->steps().timed_stages();
  const Event* begin = &uploaded_;
  if (!files_.empty()) {
    const auto decoding = decoded_.ElapsedSince(uploaded_);
    if (!decoding.ok()) return {};
    times.Add(Stage::kDecode, *decoding);
    begin = &decoded_;
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    const Event* const end = i + 1 < stages.size() ? &stage_end_[i] : &end_;
    const auto elapsed = end->ElapsedSince(*begin);
    if (!elapsed.ok()) return {};
    times.Add(stages[i], *elapsed);
    begin = end;
  }
  return times;
}

void Lane::Finish(FrameBatch* batch) {
  const TraceRange trace("finish batch");
  for (size_t i = 0; i < batch->jobs.size(); ++i) {
    FrameAnswer& answer = batch->answer.frames[i];
    if (!answer.status.ok() || batch->works[i].undecided) continue;
    answer.status =
        batch->status.ok() ? Guarded([&] { return FinishFrame(batch, i); }) : batch->status;
  }
}

absl::Status Lane::FinishFrame(FrameBatch* batch, size_t job_index) {
  FrameWork& work = batch->works[job_index];
  Features& features = work.result->features;
  const CompiledPipeline& pipeline = batch->plan->pipeline();
  bool state_is_complete = false;
  if (work.place >= 0) {
    const FrameParams& params = sides_[batch->side].params()[work.place];
    const FrameReport& report = *params.report;
    state_is_complete = report.written <= params.state_capacity;
    if (batch->jobs[job_index].given_keypoints == nullptr) {
      features.truncated = IsTruncated(pipeline, batch->jobs[job_index], report);
      features.suppression_passes = report.suppression_passes;
      features.Resize(static_cast<size_t>(report.written));
      if (MovesLapping(pipeline, batch->jobs[job_index])) {
        LappingRows rows(batch->jobs[job_index].parameters, features.count());
        CopyLappingRecords(pipeline, params.records, params.descriptors, report.written, &rows,
                           &features);
      } else {
        CopyRecords(pipeline, params.records, params.descriptors, 0, report.written, &features);
      }
    } else {
      std::memcpy(features.descriptors.data(), params.descriptors, features.descriptors.size());
    }
  }
  FrameAnswer& answer = batch->answer.frames[job_index];
  answer.features = std::shared_ptr<const Features>(work.result, &features);
  const FrameJob& job = batch->jobs[job_index];
  if (job.keep_state != KeepState::kNone) {
    std::shared_ptr<GpuFrameState> state;
    if (job.keep_state == KeepState::kPyramid) {
      state = std::make_shared<GpuFrameState>(answer.features, context_.device_count, job.input,
                                              batch->plan->track_pyramid().levels);
    } else {
      state = std::make_shared<GpuFrameState>(answer.features, context_.device_count);
    }
    if (work.state_pyramid != nullptr) {
      state->SetOnDevice(context_.device_index, std::move(work.state_pyramid), StatePart::kPyramid);
    }
    // Else the descriptors go up when a match first needs them.
    if (work.state_descriptors != nullptr && state_is_complete) {
      state->SetOnDevice(context_.device_index, std::move(work.state_descriptors));
    }
    answer.state = std::move(state);
  }
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
