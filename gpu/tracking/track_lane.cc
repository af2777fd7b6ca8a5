// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/tracking/track_lane.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "features/track_job.h"
#include "gpu/device_request.h"
#include "gpu/memory/input_pool.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

// The tracks of a frame take some fifty microseconds, and a thread that sleeps wakes up late. Where
// many come together, a processor is worth more to the server.
constexpr std::chrono::microseconds kSpin{200};
constexpr size_t kMaxSpinRuns = 2;
constexpr size_t kPatchBytes = size_t{8} << 20;
constexpr size_t kMaxPatchValues = kPatchBytes / sizeof(int16_t);
static_assert(kMaxPatchValues >=
              algo::TrackPatchValues(algo::kMaxTrackLevels, algo::kFineTrackPatchPx));

// Jobs come first, then points.
constexpr size_t PointsOffset(size_t jobs) {
  return RoundUp(jobs * sizeof(TrackJobParams), alignof(std::max_align_t));
}
constexpr size_t kUpBytes =
    PointsOffset(TrackLane::kMaxJobs) + TrackLane::kMaxPoints * sizeof(TrackPointParams);
constexpr size_t kRecordsOffset = RoundUp(kUpBytes, sizeof(TrackRecord));

const GpuFrameState* AsOwn(const std::shared_ptr<const FrameState>& state) {
  return dynamic_cast<const GpuFrameState*>(state.get());
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrackLane>> TrackLane::Create(const LaneContext& context) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context.device));
  std::unique_ptr<TrackLane> lane(new TrackLane(context));
  ORBSERVE_ASSIGN_OR_RETURN(lane->stream_, Stream::Create());
  ORBSERVE_ASSIGN_OR_RETURN(lane->begin_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->end_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->memory_,
                            PinnedBuffer::Create(kRecordsOffset + kMaxPoints * sizeof(TrackRecord),
                                                 context.pinned_budget));
  lane->records_ = reinterpret_cast<TrackRecord*>(lane->memory_.data() + kRecordsOffset);
  ORBSERVE_ASSIGN_OR_RETURN(lane->device_,
                            DeviceBuffer::Create(context.device, kUpBytes, context.arena_budget));
  return lane;
}

bool TrackLane::IsReady(const TrackJob& job) const {
  const auto is_there = [&](const std::shared_ptr<const FrameState>& state) {
    const GpuFrameState* const own = AsOwn(state);
    return own != nullptr && own->OnDevice(context_.device_index, StatePart::kPyramid) != nullptr;
  };
  return job.options.track_template == TrackTemplate::kPrevious && is_there(job.from) &&
         is_there(job.to);
}

absl::Status TrackLane::Begin(TrackWork* work) {
  const TrackJob& job = *work->job;
  if (IsCancelled(job.cancelled)) {
    return MakeError(ErrorReason::kCancelled, "cancelled before its points were followed");
  }
  ORBSERVE_RETURN_IF_ERROR(CheckTrackJob(job));
  const GpuFrameState* const to = AsOwn(job.to);
  if (to == nullptr || AsOwn(job.from) == nullptr) {
    return MakeError(ErrorReason::kInternal, "tracks without two states of this backend");
  }
  const size_t count = job.points->count();
  TrackedPoints& tracked = *work->tracked;
  ResizeColumns(count, &tracked);
  if (job.options.track_template == TrackTemplate::kFirst && count > 0) {
    work->row_values = PatchRowValuesOf(job);
    const auto fresh =
        std::count(job.points->patch_row.begin(), job.points->patch_row.end(), int32_t{-1});
    tracked.patches.resize(static_cast<size_t>(fresh) * work->row_values);
    if (patches_.size_bytes() == 0) {
      ORBSERVE_ASSIGN_OR_RETURN(patches_,
                                PinnedBuffer::Create(kPatchBytes, context_.pinned_budget));
    }
  }
  if (count == 0) return absl::OkStatus();
  work->pyramid = to->pyramid();
  work->parameters = algo::TrackParameters::Of(job.options, work->pyramid.levels);
  ORBSERVE_ASSIGN_OR_RETURN(work->from, OnDevice(*job.from));
  ORBSERVE_ASSIGN_OR_RETURN(work->to, OnDevice(*job.to));
  return absl::OkStatus();
}

absl::Status TrackLane::BeginTime() {
  if (time_begun_) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
  time_begun_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const DeviceBuffer>> TrackLane::OnDevice(const FrameState& state) {
  const auto& own = dynamic_cast<const GpuFrameState&>(state);
  if (auto there = own.OnDevice(context_.device_index, StatePart::kPyramid)) return there;
  for (const Made& made : made_) {
    if (made.state == &own) return made.buffer;
  }
  ORBSERVE_RETURN_IF_ERROR(own.input()->EnsurePixels());
  const TrackPyramid pyramid = own.pyramid();
  const std::shared_ptr<DeviceBuffer> buffer = context_.state_buffers->Lease(pyramid.bytes());
  if (buffer == nullptr) {
    return MakeError(ErrorReason::kOutOfMemory,
                     absl::StrCat("no memory of the device for a pyramid of ", pyramid.bytes(),
                                  " bytes; of its limit, ", context_.budget->limit_bytes(),
                                  " bytes, ", context_.budget->used_bytes(), " are used"));
  }
  made_.push_back({&own, buffer});
  if (const absl::Status made = MakePyramid(*own.input(), pyramid, buffer->data()); !made.ok()) {
    // The buffer stays until the device was waited for, as a part may be on its way.
    made_.back().state = nullptr;
    return made;
  }
  return std::shared_ptr<const DeviceBuffer>(buffer);
}

absl::Status TrackLane::MakePyramid(const InputSlot& input, const TrackPyramid& pyramid,
                                    uint8_t* memory) {
  ORBSERVE_RETURN_IF_ERROR(BeginTime());
  const TrackPyramidLevel& level = pyramid.level[0];
  // Whole words, as kernels read them; slots of any backend have room for them.
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpy2DAsync(
      memory + level.offset, static_cast<size_t>(level.pitch_bytes), input.image.data,
      static_cast<size_t>(input.image.pitch_bytes),
      static_cast<size_t>(RoundUp(level.width_px, static_cast<int32_t>(sizeof(uint32_t)))),
      static_cast<size_t>(level.height_px), cudaMemcpyHostToDevice, stream_.get()));
  TrackPyramidParams params = {};
  params.pyramid = pyramid;
  params.alone = memory;
  return LaunchTrackPyramid(params, stream_.get());
}

void TrackLane::ChooseRuns(std::vector<TrackWork>* works) {
  runs_.clear();
  points_ = 0;
  size_t values = 0;
  for (TrackWork& work : *works) {
    if (work.done()) continue;
    if (work.placed > 0 && IsCancelled(work.job->cancelled)) {
      work.status = MakeError(ErrorReason::kCancelled, "cancelled while its points were followed");
      continue;
    }
    size_t count = std::min(work.job->points->count() - work.placed, kMaxPoints - points_);
    if (work.row_values > 0) {
      count = std::min(count, (kMaxPatchValues - values) / work.row_values);
    }
    if (count == 0 || runs_.size() == kMaxJobs) continue;
    runs_.push_back({&work, work.placed, count, points_, values});
    work.placed += count;
    points_ += count;
    values += count * work.row_values;
  }
}

void TrackLane::FillRun(const Run& run, int job, TrackPointParams* points) {
  const TrackWork& work = *run.work;
  const TrackPoints& from = *work.job->points;
  auto* row = reinterpret_cast<int16_t*>(patches_.data()) + run.values;
  for (size_t i = run.first; i < run.first + run.count; ++i) {
    TrackPointParams point = {algo::TrackStartOf(from, i), job, nullptr, nullptr};
    if (work.row_values > 0) {
      if (from.patch_row[i] >= 0) {
        std::memcpy(row,
                    from.patches.data() + static_cast<size_t>(from.patch_row[i]) * work.row_values,
                    work.row_values * sizeof(int16_t));
        point.given = row;
      } else {
        point.answered = row;
      }
      row += work.row_values;
    }
    *points++ = point;
  }
}

absl::Status TrackLane::LaunchRuns() {
  const size_t points_offset = PointsOffset(runs_.size());
  auto* const jobs = reinterpret_cast<TrackJobParams*>(memory_.data());
  auto* const points = reinterpret_cast<TrackPointParams*>(memory_.data() + points_offset);
  for (size_t i = 0; i < runs_.size(); ++i) {
    const TrackWork& work = *runs_[i].work;
    jobs[i] = TrackJobParams::Of(work.parameters, work.pyramid, work.from->data(), work.to->data());
    FillRun(runs_[i], static_cast<int>(i), points + runs_[i].place);
  }
  ORBSERVE_RETURN_IF_ERROR(BeginTime());
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(device_.data(), memory_.data(),
                                                points_offset + points_ * sizeof(TrackPointParams),
                                                cudaMemcpyHostToDevice, stream_.get()));
  TrackParams params = {};
  params.jobs = reinterpret_cast<const TrackJobParams*>(device_.data());
  params.points = reinterpret_cast<const TrackPointParams*>(device_.data() + points_offset);
  params.records = records_;
  params.count = static_cast<int32_t>(points_);
  return LaunchTrack(params, stream_.get());
}

void TrackLane::LaunchRound(std::vector<TrackWork>* works) {
  absl::Status status = Guarded([&] {
    ChooseRuns(works);
    return runs_.empty() ? absl::OkStatus() : LaunchRuns();
  });
  // Also after a launch that was refused: what went before it uses the buffers.
  if (time_begun_) {
    const absl::Status recorded = end_.Record(stream_.get());
    if (status.ok()) status = recorded;
  }
  if (status.ok()) return;
  runs_.clear();
  for (TrackWork& work : *works) {
    if (work.status.ok()) work.status = status;
  }
}

void TrackLane::Launch(std::vector<TrackWork>* works) {
  const TraceRange trace("launch tracks");
  made_.clear();
  time_begun_ = false;
  const absl::Status status = UseDevice(context_.device);
  for (TrackWork& work : *works) {
    work.status = status.ok() ? Guarded([&] { return Begin(&work); }) : status;
  }
  LaunchRound(works);
}

absl::Status TrackLane::Wait() {
  const TraceRange trace("wait for tracks");
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context_.device));
  return end_.Wait(std::chrono::steady_clock::now() + context_.deadline,
                   runs_.size() <= kMaxSpinRuns ? kSpin : kSpin.zero());
}

void TrackLane::TakeRun(const Run& run) const {
  TrackWork& work = *run.work;
  TrackedPoints& to = *work.tracked;
  const auto* row = reinterpret_cast<const int16_t*>(patches_.data()) + run.values;
  for (size_t k = 0; k < run.count; ++k) {
    const TrackRecord& record = records_[run.place + k];
    const size_t i = run.first + k;
    to.status[i] = static_cast<TrackStatus>(record.status);
    to.x[i] = record.x;
    to.y[i] = record.y;
    to.gain[i] = record.gain;
    to.offset[i] = record.offset;
    to.residual[i] = record.residual;
    if (work.row_values == 0) continue;
    if (work.job->points->patch_row[i] < 0) {
      std::memcpy(to.patches.data() + work.next_row++ * work.row_values, row,
                  work.row_values * sizeof(int16_t));
    }
    row += work.row_values;
  }
}

void TrackLane::Finish(std::vector<TrackWork>* works,
                       absl::FunctionRef<absl::Status()> before_round,
                       absl::FunctionRef<void(TrackWork&)> answered) {
  const auto fail = [&](const absl::Status& status) {
    for (TrackWork& work : *works) {
      if (work.status.ok()) work.status = status;
    }
  };
  while (time_begun_) {
    if (const absl::Status waited = Wait(); !waited.ok()) {
      // Also jobs that are done: nothing says how far the device came.
      fail(waited);
      break;
    }
    for (Made& made : made_) {
      if (made.state == nullptr) continue;
      made.state->SetOnDevice(context_.device_index, std::move(made.buffer), StatePart::kPyramid);
    }
    made_.clear();
    const auto elapsed = end_.ElapsedSince(begin_);
    for (const Run& run : runs_) {
      if (elapsed.ok()) {
        run.work->compute_ns +=
            static_cast<int64_t>(static_cast<double>(*elapsed) * static_cast<double>(run.count) /
                                 static_cast<double>(points_));
      }
      TakeRun(run);
    }
    runs_.clear();
    if (std::all_of(works->begin(), works->end(),
                    [](const TrackWork& work) { return work.done(); })) {
      break;
    }
    if (const absl::Status status = before_round(); !status.ok()) {
      for (TrackWork& work : *works) {
        if (!work.done()) work.status = status;
      }
      break;
    }
    time_begun_ = false;
    LaunchRound(works);
  }
  time_begun_ = false;
  runs_.clear();
  made_.clear();
  for (TrackWork& work : *works) {
    work.from.reset();
    work.to.reset();
    if (!work.status.ok()) *work.tracked = {};
    answered(work);
  }
}

}  // namespace orbserve::gpu
