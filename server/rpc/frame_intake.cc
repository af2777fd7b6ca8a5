// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/frame_intake.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "features/errors.h"
#include "features/this_thread.h"
#include "features/tracking/winners.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/conversion/frame.h"

namespace orbserve {
namespace {

// Largest raw image that the calling thread converts: a millisecond at 1 GB/s.
constexpr int64_t kInlineBytes = int64_t{1} << 20;

bool IsQuick(const EncodedImage& image) {
  return image.format != PixelFormat::kJpeg && image.size_bytes() <= kInlineBytes;
}

}  // namespace

// A frame on its way. The batcher's callback owns it: when the frame is answered early (deadline,
// cancellation), the task and the client's message are freed at once, and queued work for it finds
// an expired weak pointer.
struct FrameIntake::Task {
  FrameSource source;
  Batcher::Ticket ticket = 0;
  FrameParameters parameters;
  std::shared_ptr<const GivenKeypoints> given_keypoints;
  EncodedImage image;
  std::string pixels;  // copy made by KeepPixels()
  ImageHeader header;
  double decode_work = 0.0;  // when it goes to the worker pool
  std::shared_ptr<FeaturePlan> plan;
  std::shared_ptr<TaskMemory> memory;  // of a frame that goes to the worker pool
  int64_t kept_bytes = 0;              // of `memory`, once the frame is decoded
  std::atomic<int64_t> decode_ns{0};

  // Copies borrowed pixels, before Begin() returns and they become invalid.
  void KeepPixels() {
    if (image.pieces.empty()) return;
    pixels.reserve(static_cast<size_t>(image.size_bytes()));
    for (const BytePiece piece : image.pieces) {
      pixels.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    image.pieces = {};
    image.bytes = {reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()};
  }
};

FrameIntake::FrameIntake(FeatureBackend* backend, Batcher* batcher, PlanCache* plans,
                         Executor* executor, Metrics* metrics, ClientActivity* clients,
                         const ImageLimits& limits)
    : backend_(backend),
      batcher_(batcher),
      plans_(plans),
      executor_(executor),
      metrics_(metrics),
      clients_(clients),
      limits_(limits) {}

FrameIntake::Admitted FrameIntake::Admit(FrameSource source, ExtractDone done) {
  auto task = std::make_shared<Task>();
  task->source = std::move(source);
  FrameAdmission admission;
  admission.client = task->source.client;
  admission.deadline = task->source.deadline;
  const v1::Frame& frame = *task->source.frame;
  size_t pieces_bytes = 0;
  for (const BytePiece piece : task->source.pixels) pieces_bytes += piece.size();
  admission.message_bytes = static_cast<int64_t>(
      std::max(frame.ByteSizeLong() + pieces_bytes, task->source.message_bytes));
  admission.done = [this, task, done = std::move(done)](FrameOutcome outcome) mutable {
    clients_->FrameComputed(task->source.client, outcome);
    std::move(done)({std::move(outcome), std::chrono::nanoseconds(task->decode_ns.load())});
  };
  Admitted admitted;
  const auto ticket = batcher_->Admit(std::move(admission));
  if (!ticket.ok()) return admitted;
  task->ticket = *ticket;
  admitted.ticket_ = *ticket;
  admitted.task_ = task;
  if (!task->source.refusal.ok()) batcher_->Fail(*ticket, task->source.refusal);
  return admitted;
}

template <typename Work>
void FrameIntake::Guard(const std::shared_ptr<Task>& task, const Work& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    batcher_->Fail(task->ticket, OutOfMemoryStatus());
  }
}

void FrameIntake::Begin(const Admitted& frame) {
  if (const auto task = frame.task_.lock()) Guard(task, [&] { Prepare(task); });
}

Batcher::Ticket FrameIntake::Submit(FrameSource source, ExtractDone done) {
  const Admitted admitted = Admit(std::move(source), std::move(done));
  Begin(admitted);
  return admitted.ticket();
}

absl::Status FrameIntake::Check(Task& task, PlanSpec& spec) {
  const v1::Frame& frame = *task.source.frame;
  const ResolvedPipeline& pipeline = *task.source.pipeline;
  ORBSERVE_ASSIGN_OR_RETURN(task.parameters,
                            FrameParametersFromProto(frame.parameters(), pipeline));
  // Checked even where nothing is matched, so that a client's mistake does not go unnoticed.
  ORBSERVE_RETURN_IF_ERROR(FrameMatchFromProto(frame.parameters(), pipeline.match).status());
  if (frame.has_keypoints()) {
    ORBSERVE_ASSIGN_OR_RETURN(task.given_keypoints,
                              GivenKeypointsFromProto(frame.keypoints(), pipeline.options));
  }
  ORBSERVE_ASSIGN_OR_RETURN(task.image, ImageFromProto(frame, task.source.pixels));
  ORBSERVE_ASSIGN_OR_RETURN(task.header, ReadImageHeader(task.image, limits_));
  if (frame.has_mask()) {
    ORBSERVE_RETURN_IF_ERROR(CheckMask(frame.mask(), task.header.width_px, task.header.height_px));
  }
  spec = {task.header.width_px, task.header.height_px, pipeline.options};
  if (task.source.keep_state == KeepState::kPyramid) {
    spec.track_levels = task.source.track_levels;
    spec.pipeline = PipelineOfWinners(pipeline.options);
    task.parameters.max_features = WinnersToAskFor(pipeline.options, spec.width_px, spec.height_px,
                                                   task.parameters.max_features);
  }
  return absl::OkStatus();
}

void FrameIntake::Prepare(const std::shared_ptr<Task>& task) {
  PlanSpec spec;
  const absl::Status status = Check(*task, spec);
  if (!status.ok()) {
    batcher_->Fail(task->ticket, status);
    return;
  }
  if (IsQuick(task->image)) {
    task->plan = plans_->Find(spec);
    if (task->plan != nullptr) {
      Decode(task);
      return;
    }
  }
  task->KeepPixels();
  plans_->Get(spec, task->source.client,
              [this, weak = std::weak_ptr<Task>(task)](PlanCache::PlanOr plan) {
                if (const auto alive = weak.lock()) {
                  Guard(alive, [&] { OnPlan(alive, std::move(plan)); });
                }
              });
}

void FrameIntake::OnPlan(const std::shared_ptr<Task>& task, PlanCache::PlanOr plan) {
  if (!plan.ok()) {
    batcher_->Fail(task->ticket, plan.status());
    return;
  }
  task->plan = *std::move(plan);
  if (IsQuick(task->image)) {
    Decode(task);
    return;
  }
  task->decode_work = DecodeWork(task->header, task->image.size_bytes());
  const double expected_ns = DecodeRateOf(task->header).Expect(task->decode_work);
  // A JPEG may be a thousand times smaller than its pixels. It waits as it came until there is room
  // for them, for what the decoder takes, and for the memory in which the backend will compute
  // them.
  const int64_t planes = task->source.frame->has_mask() ? 2 : 1;
  task->kept_bytes = planes * task->header.width_px * task->header.height_px +
                     static_cast<int64_t>(task->plan->frame_bytes());
  task->memory = std::make_shared<TaskMemory>(task->kept_bytes + task->header.decoder_bytes);
  const TaskNeeds needs{.time = std::chrono::nanoseconds(std::llround(expected_ns)),
                        .memory = task->memory};
  executor_->Run(task->source.client, needs, [this, weak = std::weak_ptr<Task>(task)] {
    if (const auto alive = weak.lock()) Guard(alive, [&] { Decode(alive); });
  });
}

absl::Status FrameIntake::FillSlot(Task& task, FrameJob& job) {
  const v1::Frame& frame = *task.source.frame;
  ORBSERVE_ASSIGN_OR_RETURN(
      job.input,
      backend_->LeaseInput(task.header.width_px, task.header.height_px, frame.has_mask()));
  ORBSERVE_RETURN_IF_ERROR(DecodeToGrey(task.image, task.header, limits_, job.input->image));
  if (frame.has_mask()) CopyMask(frame.mask(), job.input->mask);
  if (task.source.picture != nullptr) DrawFrame(job.input->image, task.source.picture.get());
  return absl::OkStatus();
}

void FrameIntake::Decode(const std::shared_ptr<Task>& task) {
  FrameJob job;
  job.parameters = task->parameters;
  job.given_keypoints = task->given_keypoints;
  job.keep_state = task->source.keep_state;
  const auto begin = std::chrono::steady_clock::now();
  // Asking for the thread's time is a call of the system: not for frames that are decoded at once.
  const bool is_rated = task->decode_work > 0.0;
  const auto begin_of_thread = is_rated ? TimeOfThisThread() : std::chrono::nanoseconds(0);
  absl::Status status = FillSlot(*task, job);
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
  if (is_rated && status.ok()) {
    const std::chrono::nanoseconds of_thread = TimeOfThisThread() - begin_of_thread;
    DecodeRateOf(task->header).Note(task->decode_work, static_cast<double>(of_thread.count()));
  }
  task->decode_ns = time.count();
  if (task->header.decoder_bytes > 0) task->memory->ShrinkTo(task->kept_bytes);
  metrics_->ObservePhase(FramePhase::kDecode, std::chrono::duration<double>(time).count());
  // The pixels are in their slot or unusable, and nothing else reads the client's message.
  task->image = {};
  std::string().swap(task->pixels);
  task->source.frame.reset();
  if (!status.ok()) {
    batcher_->Fail(task->ticket, std::move(status));
    return;
  }
  batcher_->Ready(task->ticket, std::move(task->plan), std::move(job), std::move(task->memory));
}

}  // namespace orbserve
